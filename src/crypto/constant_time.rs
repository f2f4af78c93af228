//! Comparison in a time that depends only on the lengths.

/// Returns true if two tags are equal. It compares every byte, so that the duration does not reveal
/// how many bytes of a guessed tag are right.
pub fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_equal_only_if_every_byte_and_the_length_are() {
        let tag = [0x5a; 16];
        assert!(is_equal(&tag, &tag) && is_equal(&[], &[]));
        for at in 0..tag.len() {
            let mut other = tag;
            other[at] ^= 0x80;
            assert!(!is_equal(&tag, &other), "{at}");
            // Two equal differences do not cancel each other.
            other[tag.len() - 1 - at] ^= 0x80;
            assert!(!is_equal(&tag, &other), "{at} and another");
        }
        assert!(!is_equal(&tag, &tag[..15]) && !is_equal(&[], &tag));
    }
}
