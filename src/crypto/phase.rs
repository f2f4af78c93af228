//! The phases of a rotation, from the creation of the new key to the removal of the old one.
//!
//! A request keeps the keys of the phase in which it began. A phase begins only after all requests
//! that began before the current phase have ended. Requests of at most two adjacent phases
//! therefore run at the same time, and the phases are chosen so that adjacent ones are compatible:
//!
//! | phase | sealed under | entries found under | entries written under |
//! |---|---|---|---|
//! | announced | old | old | old |
//! | both | new | old | old and new |
//! | flipped | new | new | old and new |
//! | clearing | new | new | new |
//! | settled | new | new | new |
//!
//! Nothing is sealed under the new key until every request has it. In the phase `both`, every
//! record is sealed again and gets its entries under the new key. Entries under the new key are
//! read only when they are complete. Entries under the old key are removed only when no request
//! reads or writes them.

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
    /// The code in the data file. A scope in the phase `Settled` has no row there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_the_code_and_the_name_that_it_always_had() {
        let phases = [
            (Phase::Announced, 1, "announced"),
            (Phase::Both, 2, "re-encrypting"),
            (Phase::Flipped, 3, "flipped"),
            (Phase::Clearing, 4, "clearing"),
            (Phase::Settled, 5, "settled"),
        ];
        for (phase, code, name) in phases {
            assert_eq!((phase.code(), phase.name()), (code, name));
            assert_eq!(Phase::from_code(code), Some(phase));
        }
        assert_eq!([0, 6, u8::MAX].map(Phase::from_code), [None; 3]);
    }
}
