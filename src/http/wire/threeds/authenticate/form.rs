//! The forms of the members: how each is read, and how the API document describes it.

use crate::bounds::THREEDS_TEXT_CHARS_MAX;
use crate::http::Schema;
use crate::http::wire::Fields;
use crate::http::wire::threeds::{formed, nested, text, text_up_to, word};
use crate::threeds::codes::{AuthenticationType, YesNo};
use crate::threeds::format::{currency, is_date, is_digits, is_email, is_minute, is_second};
use crate::threeds::request::{Address, PhoneNumber};

pub(super) struct Form<T> {
    pub(super) read: fn(&mut Fields<'_>, &str) -> Option<T>,
    pub(super) schema: fn() -> Schema,
}

/// An object whose members are all optional.
pub(super) trait Members {
    fn read(fields: &mut Fields<'_>) -> Self;
    fn schema() -> Schema;
}

/// Declares the members of objects as `member "name": form, "description";`. The name is that of
/// the member unless another one is given.
macro_rules! members {
    ($($object:ident {
        $($member:ident $($name:literal)?: $form:expr $(, $about:literal)?;)+
    })+) => {$(
        impl Members for $object {
            fn read(fields: &mut Fields<'_>) -> Self {
                Self { $($member: ($form.read)(fields, members!(@name $member $($name)?)),)+ }
            }

            fn schema() -> Schema {
                Schema::object()$(
                    .takes(members!(@name $member $($name)?), ($form.schema)()$(.about($about))?)
                )+
            }
        }
    )+};
    (@name $member:ident) => { stringify!($member) };
    (@name $member:ident $name:literal) => { $name };
}

/// A text in a special form, which `$form` describes for people.
macro_rules! formed {
    ($is_formed:expr, $form:literal, $schema:expr) => {
        Form { read: |fields, name| formed(fields, name, $is_formed, $form), schema: || $schema }
    };
}

macro_rules! digits {
    ($min:literal, $max:literal, $form:literal) => {
        formed!(|it| is_digits(it, $min..=$max), $form, digits($min, $max))
    };
}

/// A word of a list that stands in `threeds::codes`.
macro_rules! coded {
    ($list:ident) => {
        Form {
            read: |fields, name| {
                let words: Vec<_> = $list::ALL.iter().map(|it| it.word()).collect();
                word(fields, name, $list::from_word, &words)
            },
            schema: || Schema::word($list::ALL.iter().map(|it| it.word())),
        }
    };
}
pub(super) use coded;
pub(super) use members;

/// The most characters of authentication data that the protocol takes.
const LOGIN_CHARS_MAX: usize = 20_000;

pub(super) const TEXT: Form<String> =
    Form { read: text, schema: || Schema::text().chars(1, THREEDS_TEXT_CHARS_MAX) };
pub(super) const LOGIN_DATA: Form<String> = Form {
    read: |fields, name| text_up_to(fields, name, LOGIN_CHARS_MAX),
    schema: || Schema::text().chars(1, LOGIN_CHARS_MAX),
};
pub(super) const EMAIL: Form<String> = formed!(is_email, "an email address", (TEXT.schema)());
pub(super) const AMOUNT: Form<String> = digits!(1, 48, "1 to 48 digits without punctuation");
pub(super) const GIFT_AMOUNT: Form<String> = digits!(1, 48, "a whole number");
pub(super) const COUNT: Form<String> = digits!(1, 9, "a whole number");
pub(super) const DAYS: Form<String> = digits!(1, 4, "1 to 4 digits");
pub(super) const INSTALLMENTS: Form<String> = digits!(1, 3, "1 to 3 digits");
pub(super) const EXPONENT: Form<String> = digits!(1, 1, "one digit");
pub(super) const MERCHANT_CATEGORY: Form<String> = digits!(4, 4, "four digits");
pub(super) const COUNTRY: Form<String> = formed!(
    |it| is_digits(it, 3..=3),
    "a numeric country code of three digits",
    digits(3, 3).about("A numeric code of ISO 3166-1.")
);
/// Messages hold the numeric code, also if the caller gave the letters.
pub(super) const CURRENCY: Form<String> = Form {
    read: |fields, name| {
        let is_known = |it: &str| currency(it).is_some();
        let given = formed(fields, name, is_known, "a currency code of ISO 4217")?;
        currency(&given).map(String::from)
    },
    schema: || Schema::text().about("A code of ISO 4217, letters or digits."),
};
pub(super) const DATE: Form<String> = formed!(
    is_date,
    "a date of the form YYYYMMDD",
    Schema::text().about("YYYYMMDD.").pattern("^[0-9]{8}$")
);
/// The interface says "date string" here and no more.
pub(super) const ANY_DATE: Form<String> = formed!(
    |it| is_date(it) || it.get(..10).is_some_and(|day| is_date(&day.replace('-', ""))),
    "a date",
    Schema::text().about("A date, as YYYYMMDD or YYYY-MM-DD.")
);
pub(super) const MINUTE: Form<String> =
    formed!(is_minute, "a time of the form YYYYMMDDhhmm", digits(12, 12).about("YYYYMMDDhhmm."));
pub(super) const SECOND: Form<String> = formed!(
    is_second,
    "a time of the form YYYYMMDDhhmmss",
    digits(14, 14).about("YYYYMMDDhhmmss.")
);
pub(super) const MINUTES: Form<u64> = Form {
    read: |fields, name| fields.number(name),
    schema: || Schema::integer().about("Minutes.").at_least(0),
};
pub(super) const FLAG: Form<bool> =
    Form { read: |fields, name| fields.flag(name), schema: Schema::flag };
pub(super) const YES_OR_NO: Form<YesNo> = Form {
    read: |fields, name| fields.flag(name).map(|it| if it { YesNo::Yes } else { YesNo::No }),
    schema: Schema::flag,
};
pub(super) const TYPE: Form<AuthenticationType> = Form {
    read: |fields, name| {
        let words = AuthenticationType::ALL.map(AuthenticationType::as_str);
        word(fields, name, AuthenticationType::parse, &words)
    },
    schema: || Schema::word(AuthenticationType::ALL.map(AuthenticationType::as_str)),
};
pub(super) const PHONE: Form<PhoneNumber> =
    Form { schema: || Schema::reference("ThreedsPhone"), ..object() };
pub(super) const ADDRESS: Form<Address> =
    Form { schema: || Schema::reference("ThreedsAddress"), ..object() };

pub(super) const fn object<T: Members>() -> Form<T> {
    Form { read: |fields, name| nested(fields, name, T::read), schema: T::schema }
}

fn digits(min: usize, max: usize) -> Schema {
    Schema::text().pattern(&format!("^[0-9]{{{min},{max}}}$"))
}
