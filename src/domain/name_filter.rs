//! The filter of lists by name: `*` matches any text. A filter without `*` matches anywhere in the
//! name. Case does not matter.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameFilter {
    /// The texts between the stars, in order.
    pieces: Vec<String>,
}

impl NameFilter {
    pub fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let text = if text.contains('*') { text } else { format!("*{text}*") };
        Self { pieces: text.split('*').map(String::from).collect() }
    }

    /// Takes time proportional to both texts: each piece is looked for after the one before it.
    pub fn fits(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let (Some((first, inner)), Some(last)) = (self.pieces.split_first(), self.pieces.last())
        else {
            return false;
        };
        let Some(rest) = name.strip_prefix(first.as_str()) else { return false };
        let inner = inner.split_last().map_or(&[][..], |(_, inner)| inner);
        let mut rest = rest;
        for piece in inner {
            let Some((_, after)) = rest.split_once(piece.as_str()) else { return false };
            rest = after;
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(filter: &str, name: &str, expected: bool) {
        assert_eq!(NameFilter::new(filter).fits(name), expected, "{filter} {name}");
    }

    #[test]
    fn stars_stand_for_any_text() {
        check("charge", "The CHARGE proxy", true);
        check("charge*", "Charge cards", true);
        check("charge*", "The charge", false);
        check("*cards", "Charge cards", true);
        check("c*e*s", "Charge cards", true);
        check("c*z*s", "Charge cards", false);
        check("*", "", true);
        check("", "anything", true);
        check("a*a", "a", false);
        check("**", "x", true);
    }

    proptest! {
        #[test]
        fn a_text_with_pieces_left_out_fits(parts in proptest::collection::vec("[ab]{0,3}", 1..5), gaps in "[ab]{0,4}") {
            prop_assert!(NameFilter::new(&parts.join("*")).fits(&parts.join(&gaps)) || parts.len() == 1);
        }
    }
}
