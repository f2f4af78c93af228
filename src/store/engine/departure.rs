//! The point where a vault's history leaves its archive.

/// The reason why a vault's history has left its archive. The data file records it until an operator begins a
/// new timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// The archive has other batches of this timeline: an old copy of the data directory was put
    /// back, or a copy of it has archived.
    Forked,
    /// Another vault has ended this timeline: a promoted standby, or a copy with a new timeline.
    Superseded,
}

impl Departure {
    /// A constant for manifests and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forked => "forked",
            Self::Superseded => "superseded",
        }
    }

    /// The number in the data file; 0 stands for no departure.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Forked => 1,
            Self::Superseded => 2,
        }
    }

    pub(super) const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Forked),
            2 => Some(Self::Superseded),
            _ => None,
        }
    }
}
