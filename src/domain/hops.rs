//! Marks on the requests of programs (`CDN-Loop`, RFC 8586). A program may call its own vault
//! through a public address; the marks say how many programs wait for the answer.
//!
//! Anybody can send marks. They can only refuse the request that has them.

use crate::domain::hex;

/// The name of the header, in lower case.
pub const HOPS: &str = "cdn-loop";

/// Others cannot guess this many hexadecimal digits, and a header of them is short.
const NAME_CHARS: usize = 20;

/// The name of one vault in its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HopName(String);

impl HopName {
    /// The hash identifies the vault.
    pub fn new(hash: &[u8; 32]) -> Self {
        Self(hex::encode(hash).chars().take(NAME_CHARS).collect())
    }

    /// The header of a request for which this number of programs of the vault wait.
    pub fn marks(&self, programs: usize) -> String {
        vec![self.0.as_str(); programs].join(", ")
    }

    /// The marks of this vault in these headers.
    pub fn count<'v>(&self, headers: impl Iterator<Item = &'v [u8]>) -> usize {
        let marks = headers.flat_map(|header| header.split(|byte| *byte == b','));
        // A mark may have parameters.
        let names = marks.filter_map(|mark| mark.split(|byte| *byte == b';').next());
        names.filter(|name| name.trim_ascii() == self.0.as_bytes()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_marks_of_this_vault_count() {
        let name = HopName::new(&[0xab; 32]);
        let own = "abababababababababab";
        for (headers, expected) in [
            (vec![], 0),
            (vec![String::new()], 0),
            (vec![name.marks(1)], 1),
            (vec![name.marks(3)], 3),
            (vec![name.marks(2), name.marks(1)], 3),
            (vec![format!("cdn.example;a=b, {own} ;v=\"1\",,{own}")], 2),
            (vec![format!("{own}x, x{own}, {own} x, cdcdcdcdcdcdcdcdcdcd")], 0),
        ] {
            let values = headers.iter().map(String::as_bytes);
            assert_eq!(name.count(values), expected, "{headers:?}");
        }
        assert_eq!(name.count([&[0xff, b','][..], own.as_bytes()].into_iter()), 1);
    }
}
