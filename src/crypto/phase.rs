//! The phases of a rotation, from a new key to the end of the old one.
//!
//! Requests hold the keys of the phase that they began in. A phase begins only when nobody holds
//! keys of the phase before the last one any more, so only neighbours ever meet, and neighbours get
//! along:
//!
//! | phase | sealed under | entries found under | entries written under |
//! |---|---|---|---|
//! | announced | old | old | old |
//! | both | new | old | old and new |
//! | flipped | new | new | old and new |
//! | clearing | new | new | new |
//! | settled | new | new | new |
//!
//! Nothing is sealed under a key that somebody does not know yet. While both are written, every
//! record is sealed anew and gets its entries under the new key. They are read only when they are
//! complete, and the old ones are cleared only when nobody reads or writes them.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Announced,
    Both,
    Flipped,
    Clearing,
    /// No rotation is under way.
    Settled,
}

impl Phase {
    /// As it stands in the data file, where the last one is told by nothing being there.
    pub const fn code(self) -> u8 {
        match self {
            Self::Announced => 1,
            Self::Both => 2,
            Self::Flipped => 3,
            Self::Clearing => 4,
            Self::Settled => 5,
        }
    }

    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Announced),
            2 => Some(Self::Both),
            3 => Some(Self::Flipped),
            4 => Some(Self::Clearing),
            5 => Some(Self::Settled),
            _ => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Announced => "announced",
            Self::Both => "re-encrypting",
            Self::Flipped => "flipped",
            Self::Clearing => "clearing",
            Self::Settled => "settled",
        }
    }
}
