//! The secret of a token or an API key from which the key of its parts in remembered answers is
//! derived. It is kept in the record of the token or API key and nowhere else: when the record is
//! deleted, these parts can no longer be opened.

use std::fmt;

use crate::secret::Secret;

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

    /// For the next version of the same record, and for the answer that shows it.
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

impl fmt::Debug for AnswerSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerSeed(..)")
    }
}
