//! Enumerations whose values have texts and numbers. One row of a table holds all facts of a value.

/// Declares an enumeration. Each row has the value and its word, then a value for each column that
/// the head names. A column is a method; `[from_code]` behind its type adds the reverse look-up.
///
/// ```ignore
/// words! {
///     pub enum Phase: code -> u8 [from_code] {
///         Announced = "announced", 1;
///         Settled = "settled", 5;
///     }
/// }
/// ```
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident
        $(: $($(#[$doc:meta])* $column:ident -> $kind:ty $([$reverse:ident])?),+)? {
            $($(#[$of:meta])* $value:ident = $word:literal $(, $cell:expr)*;)+
        }
    ) => {
        words! {
            @columns $name ($($($(#[$doc])* $column -> $kind $([$reverse])?),+)?)
            $($value: $($cell),*;)+
        }

        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$of])* $value),+ }

        impl $name {
            #![allow(dead_code, reason = "all lists have these functions, and few need them all")]

            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|it| it.as_str() == text)
            }
        }
    };
    (@columns $name:ident () $($rows:tt)*) => {};
    (
        @columns $name:ident
        ($(#[$doc:meta])* $column:ident -> $kind:ty $([$reverse:ident])? $(, $($columns:tt)*)?)
        $($value:ident: $cell:expr $(, $cells:expr)*;)+
    ) => {
        impl $name {
            $(#[$doc])*
            pub const fn $column(self) -> $kind {
                match self { $(Self::$value => $cell),+ }
            }

            $(pub fn $reverse(wanted: $kind) -> Option<Self> {
                Self::ALL.into_iter().find(|it| it.$column() == wanted)
            })?
        }

        words! { @columns $name ($($($columns)*)?) $($value: $($cells),*;)+ }
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    words! {
        pub enum Signal: wait -> u8 [from_wait], is_stop -> bool {
            Go = "go", 0, false;
            Slow = "slow", 5, false;
            Stop = "stop", 60, true;
        }
    }

    #[test]
    fn a_row_holds_all_facts_of_a_value_and_its_word_leads_back() {
        assert_eq!(Signal::ALL.map(Signal::as_str), ["go", "slow", "stop"]);
        assert_eq!(Signal::ALL.map(Signal::is_stop), [false, false, true]);
        assert_eq!(Signal::parse("stop"), Some(Signal::Stop));
        assert_eq!(["Stop", "stop ", "", "st"].map(Signal::parse), [None; 4]);
        assert_eq!([5, 6].map(Signal::from_wait), [Some(Signal::Slow), None]);
        assert!(Signal::Go < Signal::Stop);
        assert_eq!(BTreeSet::from(Signal::ALL).len(), 3);
    }
}
