//! The digits of a card number that everyone may see.

/// At most eight digits, without a text on the heap: each answer with a card has two of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    bytes: [u8; Self::MAX],
    count: u8,
}

impl Digits {
    const MAX: usize = 8;

    /// `None` for longer texts.
    pub(super) fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, count: u8::try_from(text.len()).ok()? })
    }

    pub fn as_str(&self) -> &str {
        let digits = self.bytes.get(..usize::from(self.count)).unwrap_or_default();
        str::from_utf8(digits).unwrap_or_default()
    }
}
