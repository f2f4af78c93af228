//! Answers whose members are declared once: a row has the name of a member, its form, its value and
//! its description. The writer and the schema of the API document follow from the rows.

use crate::http::Schema;
use crate::http::wire::{Json, Object};

pub(crate) trait Answer {
    /// The values that the answer shows.
    type Of<'a>;

    fn fill(object: &mut Object, it: Self::Of<'_>);
    fn schema() -> Schema;

    fn render(it: Self::Of<'_>) -> Json {
        let mut object = Object::new();
        Self::fill(&mut object, it);
        object.close()
    }
}

/// Declares answers, a row for each member. `has` begins a member that is always there. `may_have`
/// begins one whose value is an `Option`, and `None` leaves it out. After the form, parentheses hold
/// what the form needs: the schema of a text, the list of a word, the answer of an object or of a
/// list's items. The value of a `filled` member is the function that writes the inner object.
macro_rules! answer {
    ($($(#[$doc:meta])* $vis:vis $name:ident<$life:lifetime>($it:ident: $type:ty) $(: $whole:literal)? {$(
        $need:ident $member:ident: $form:ident $(($($inner:tt)+))? $(.$bound:ident($($max:expr),*))*
            = $value:expr $(, $about:literal)?;
    )+})+) => {$(
        $(#[$doc])*
        $vis struct $name;

        impl $crate::http::wire::answer::Answer for $name {
            type Of<$life> = $type;

            fn fill(object: &mut $crate::http::wire::Object, $it: Self::Of<'_>) {
                $(answer!(@write $need $form [$($($inner)+)?] object, stringify!($member), $value);)+
            }

            fn schema() -> $crate::http::Schema {
                use $crate::http::Schema;
                Schema::object()$(.about($whole))?$(.$need(
                    stringify!($member),
                    answer!(@schema $form [$($($inner)+)?])$(.$bound($($max),*))*$(.about($about))?,
                ))+.closed()
            }
        }
    )+};

    (@write has id [] $to:ident, $name:expr, $value:expr) => { $to.display($name, $value) };
    (@write may_have id [] $to:ident, $name:expr, $value:expr) => {
        $to.optional_display($name, $value)
    };
    (@write has display [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        $to.display($name, $value)
    };
    (@write may_have display [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        $to.optional_display($name, $value)
    };
    (@write has text [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        $to.text($name, $value)
    };
    (@write may_have text [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        $to.optional_text($name, $value)
    };
    (@write $need:ident word [$($words:tt)+] $to:ident, $name:expr, $value:expr) => {
        answer!(@write $need text [] $to, $name, $value)
    };
    (@write has nullable [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        $to.nullable_text($name, $value)
    };
    // With `null` for an absent value if the flag is set.
    (@write may_have nullable [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        match $value {
            (None, false) => (),
            (text, _) => $to.nullable_text($name, text),
        }
    };
    (@write may_have value [$($schema:tt)+] $to:ident, $name:expr, $value:expr) => {
        if let Some(value) = $value {
            $to.value($name, value);
        }
    };
    (@write has time [] $to:ident, $name:expr, $value:expr) => { $to.time($name, $value) };
    (@write may_have time [] $to:ident, $name:expr, $value:expr) => {
        $to.optional_time($name, $value)
    };
    (@write has flag [] $to:ident, $name:expr, $value:expr) => { $to.flag($name, $value) };
    (@write has count [] $to:ident, $name:expr, $value:expr) => { $to.count($name, $value) };
    (@write has number [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => { $to.number($name, $value) };
    (@write may_have number [$($schema:tt)*] $to:ident, $name:expr, $value:expr) => {
        $to.optional_number($name, $value)
    };
    (@write has texts [$($item:tt)+] $to:ident, $name:expr, $value:expr) => {
        $to.texts($name, $value)
    };
    (@write may_have texts [$($item:tt)+] $to:ident, $name:expr, $value:expr) => {
        if let Some(texts) = $value {
            $to.texts($name, texts);
        }
    };
    (@write has list [$answer:ident $($reference:literal)?] $to:ident, $name:expr, $value:expr) => {
        $to.objects($name, $value, |object, item| $answer::fill(object, item))
    };
    (@write may_have list [$answer:ident] $to:ident, $name:expr, $value:expr) => {
        if let Some(items) = $value {
            $to.objects($name, items, |object, item| $answer::fill(object, item));
        }
    };
    // A list whose schema stands alone, since requests have it too.
    (@write may_have listed [$schema:expr] $to:ident, $name:expr, $value:expr) => {
        answer!(@write may_have texts [$schema] $to, $name, $value)
    };
    // Objects that are written already.
    (@write has rendered [$($schema:tt)+] $to:ident, $name:expr, $value:expr) => {
        $to.list($name, $value)
    };
    // A text that a remembered answer keeps no longer than this subject.
    (@write may_have kept [] $to:ident, $name:expr, $value:expr) => {
        if let Some((text, subject)) = $value {
            $to.keep($crate::idempotency::PartLifetime::With(subject));
            $to.text($name, text);
            $to.keep($crate::idempotency::PartLifetime::Always);
        }
    };
    (@write has object [$answer:ident] $to:ident, $name:expr, $value:expr) => {
        $to.object($name, |object| $answer::fill(object, $value))
    };
    (@write may_have object [$answer:ident] $to:ident, $name:expr, $value:expr) => {
        if let Some(value) = $value {
            $to.object($name, |object| $answer::fill(object, value));
        }
    };
    (@write has filled [$($schema:tt)+] $to:ident, $name:expr, $value:expr) => {
        $to.object($name, $value)
    };
    (@write may_have filled [$($schema:tt)+] $to:ident, $name:expr, $value:expr) => {
        if let Some(fill) = $value {
            $to.object($name, fill);
        }
    };

    (@schema id []) => { Schema::uuid() };
    (@schema text []) => { Schema::text() };
    (@schema kept []) => { Schema::text() };
    (@schema nullable []) => { Schema::text().or_null() };
    (@schema time []) => { Schema::time() };
    (@schema flag []) => { Schema::flag() };
    (@schema count []) => { Schema::integer().at_least(0) };
    (@schema number []) => { Schema::integer().at_least(0) };
    (@schema word [$($words:tt)+]) => { Schema::word($($words)+) };
    (@schema texts [$($item:tt)+]) => { Schema::list($($item)+) };
    (@schema list [$answer:ident]) => { Schema::list($answer::schema()) };
    (@schema list [$answer:ident $reference:literal]) => {
        Schema::list(Schema::reference($reference))
    };
    (@schema object [$answer:ident]) => { $answer::schema() };
    (@schema $form:ident [$($schema:tt)+]) => { $($schema)+ };
}
pub(crate) use answer;
