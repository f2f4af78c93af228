//! The seed of a token or an API key. The key that seals its parts of remembered answers is derived
//! from the seed. Only the record of the token or API key holds it: after the record is deleted,
//! these parts cannot be opened.

use crate::secret::Secret;

#[derive(Debug)]
pub struct AnswerSeed(Secret<[u8; Self::BYTES]>);

impl AnswerSeed {
    pub const BYTES: usize = 16;

    /// `bytes` are random.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(Secret::new(bytes))
    }

    pub const fn expose(&self) -> &[u8; Self::BYTES] {
        self.0.expose()
    }

    /// A copy for the next version of the same record, or for the answer that shows it.
    #[must_use]
    pub const fn duplicate(&self) -> Self {
        Self::new(*self.expose())
    }
}

impl PartialEq for AnswerSeed {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for AnswerSeed {}
