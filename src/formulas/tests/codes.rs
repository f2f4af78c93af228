//! Currency and country codes, from the lists of the standards.

use std::sync::LazyLock;

use serde::Serialize;

/// Sorted, for the binary search.
static CURRENCIES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| listed(include_str!("currencies.txt")));
static COUNTRIES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| listed(include_str!("countries.txt")));

/// An ISO 4217 alphabetic code in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Currency(&'static str);

/// An officially assigned ISO 3166-1 alpha-2 code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Country(&'static str);

/// A code that one of the standards lists.
pub(super) trait Code: Copy + Ord {
    fn find(code: &str) -> Option<Self>;
}

impl Currency {
    pub(super) const fn as_str(&self) -> &'static str {
        self.0
    }
}

impl Country {
    pub(super) const fn as_str(&self) -> &'static str {
        self.0
    }

    /// All countries, in order.
    pub(super) fn world() -> Vec<Self> {
        COUNTRIES.iter().copied().map(Self).collect()
    }
}

impl Code for Currency {
    fn find(code: &str) -> Option<Self> {
        find(&CURRENCIES, code).map(Self)
    }
}

impl Code for Country {
    fn find(code: &str) -> Option<Self> {
        find(&COUNTRIES, code).map(Self)
    }
}

fn find(list: &[&'static str], code: &str) -> Option<&'static str> {
    let at = list.binary_search(&code).ok()?;
    list.get(at).copied()
}

/// A list without its comment lines.
fn listed(text: &'static str) -> Vec<&'static str> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_ascii_whitespace)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_list(codes: &[&str], count: usize, letters: usize) {
        assert_eq!(codes.len(), count);
        assert!(codes.is_sorted_by(|one, next| one < next));
        for code in codes {
            assert_eq!(code.len(), letters, "{code}");
            assert!(code.bytes().all(|byte| byte.is_ascii_uppercase()), "{code}");
        }
    }

    #[test]
    fn the_lists_are_whole_and_in_order() {
        check_list(&CURRENCIES, 178, 3);
        check_list(&COUNTRIES, 249, 2);
        assert_eq!(Country::world().len(), 249);
    }

    #[test]
    fn only_codes_in_use_are_found() {
        for code in ["AED", "EUR", "USD", "XCG", "ZWG"] {
            assert_eq!(Currency::find(code).unwrap().as_str(), code);
        }
        for code in ["BGN", "HRK", "ANG", "SLL", "ZWL", "usd", "US", "", "ISO"] {
            assert_eq!(Currency::find(code), None, "{code}");
        }
        for code in ["AD", "GB", "US", "ZW"] {
            assert_eq!(Country::find(code).unwrap().as_str(), code);
        }
        for code in ["UK", "EU", "XK", "us", "USA", "", "#"] {
            assert_eq!(Country::find(code), None, "{code}");
        }
    }
}
