//! Numbers of things, in words for people.

use std::fmt::Display;

/// The number and the noun: `1 warning`, `2 warnings`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_thing_is_named_in_the_singular() {
        for (count, text) in [(0_u64, "0 codes"), (1, "1 code"), (2, "2 codes"), (21, "21 codes")] {
            assert_eq!(counted(count, "code", "codes"), text);
        }
    }
}
