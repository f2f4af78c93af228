//! Positions in the log.

use crate::store::engine::local::log::frame::chained;
use crate::store::engine::local::log::segment::FIRST_FRAME;

/// The place of a frame in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The sequence number of the frame at this place.
    pub sequence: u64,
    pub segment: u64,
    pub offset: u64,
    /// The digest of the history before this place.
    pub digest: [u8; 32],
}

impl Position {
    /// The place of the first frame of a segment.
    pub(in crate::store) const fn first(segment: u64, sequence: u64, digest: [u8; 32]) -> Self {
        Self { sequence, segment, offset: FIRST_FRAME, digest }
    }

    /// Moves past a frame with its padding.
    pub(in crate::store) fn pass(&mut self, frame: &[u8]) {
        let len = u64::try_from(frame.len()).unwrap_or(u64::MAX);
        self.offset = self.offset.saturating_add(len);
        self.sequence = self.sequence.saturating_add(1);
        self.digest = chained(&self.digest, frame);
    }
}
