//! The spare segment, and the creation of segments from it.

use std::io;
use std::sync::Arc;

use crate::store::engine::local::log::frame::SECTOR_BYTES;
use crate::store::engine::local::log::position::Position;
use crate::store::engine::local::log::segment::{self, FIRST_FRAME, Header, Lineage, SPARE};
use crate::store::volume::{Volume, VolumeFile};

/// The segment that takes frames.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) file: Arc<dyn VolumeFile>,
    pub(super) number: u64,
    /// The part of the file that has been written before. Overwriting it needs no metadata.
    pub(super) filled: u64,
    /// The file has no frames of an earlier use.
    pub(super) is_fresh: bool,
}

/// A segment that is no longer needed. Its file becomes the next segment.
#[derive(Debug)]
pub(in crate::store) struct Spare {
    pub(super) file: Arc<dyn VolumeFile>,
    pub(super) bytes: u64,
}

/// Finds the spare. A spare of another log is removed: its frames could have the numbers of later
/// frames.
pub(super) fn find_spare(
    volume: &dyn Volume,
    lineage: Lineage,
    sequence: u64,
) -> io::Result<Option<Spare>> {
    let Some(file) = volume.open(SPARE)? else { return Ok(None) };
    let len = file.len()?;
    let mut bytes = [0; SECTOR_BYTES];
    if len >= FIRST_FRAME {
        file.read(0, &mut bytes)?;
    }
    let is_ours = |header: Header| header.lineage == lineage && header.first_sequence <= sequence;
    if Header::decode(&bytes).is_ok_and(is_ours) {
        return Ok(Some(Spare { file: Arc::from(file), bytes: len }));
    }
    file.remove()?;
    Ok(None)
}

/// Creates a segment, from the spare if there is one. It gets its name when its header is durable,
/// so a file with a segment's name always has a header.
pub(super) fn begin_segment(
    volume: &dyn Volume,
    lineage: Lineage,
    at: Position,
    spare: Option<Spare>,
) -> io::Result<Segment> {
    let Position { sequence: first_sequence, segment: number, digest: before, .. } = at;
    let is_fresh = spare.is_none();
    let file = match spare {
        Some(spare) => spare.file,
        None => Arc::from(volume.create(SPARE)?),
    };
    let used_from = if is_fresh { 0 } else { first_frame(file.as_ref())? };
    let mut start = Header { lineage, number, first_sequence, before, used_from }.encode();
    if !is_fresh {
        // Zeros at the place of the next frame, as behind every frame.
        start.extend([0; SECTOR_BYTES]);
    }
    file.write(0, &start)?;
    file.sync()?;
    file.rename(&segment::name(number))?;
    volume.sync()?;
    let filled = file.len()?;
    Ok(Segment { file, number, filled, is_fresh })
}

fn first_frame(file: &dyn VolumeFile) -> io::Result<u64> {
    let mut bytes = [0; SECTOR_BYTES];
    file.read(0, &mut bytes)?;
    Ok(Header::decode(&bytes).map_or(1, |header| header.first_sequence))
}
