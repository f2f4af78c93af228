//! The kinds of damage of files, and a seeded choice of one.

use std::fmt;

use crate::store::tests::disk::{Dice, Image};

const SECTOR: usize = 512;
const PAGE: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Flip,
    Byte,
    /// A sector is zeroed.
    Zeros,
    /// Two pages are exchanged.
    Swap,
    Cut,
    /// A page has its earlier content.
    OldPage,
    /// The file has its earlier content, or is missing if it did not exist then.
    OldFile,
}

const KINDS: [Kind; 16] = [
    Kind::Flip,
    Kind::Flip,
    Kind::Flip,
    Kind::Flip,
    Kind::Flip,
    Kind::Byte,
    Kind::Byte,
    Kind::Byte,
    Kind::Zeros,
    Kind::Zeros,
    Kind::Swap,
    Kind::Swap,
    Kind::Cut,
    Kind::OldPage,
    Kind::OldPage,
    Kind::OldFile,
];

/// A sample that its seed repeats.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) seed: u64,
    pub(crate) file: String,
    pub(crate) kind: Kind,
    pub(crate) offset: usize,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, file, kind, offset } = self;
        write!(f, "seed {seed}: {file}, {kind:?} at byte {offset}")
    }
}

fn roll(dice: &mut Dice, sides: usize) -> usize {
    usize::try_from(dice.roll(u64::try_from(sides).unwrap())).unwrap()
}

/// A non-zero place, if one is found: most of a file is zeros that no reader uses.
fn used_place(dice: &mut Dice, bytes: &[u8]) -> usize {
    let mut places = (0..200).map(|_| roll(dice, bytes.len()));
    places.find(|at| bytes[*at] != 0).unwrap_or(0)
}

/// Damages an image as the seed determines. Returns `None` if nothing would change.
pub(crate) fn damage(seed: u64, image: &Image, earlier: &Image) -> Option<(Sample, Image)> {
    let mut dice = Dice(seed);
    // The data file is most of the bytes, so it gets most of the samples.
    let names: Vec<&String> = image.keys().collect();
    let data = names.iter().find(|name| name.ends_with("redb"));
    let file = match data {
        Some(data) if dice.roll(2) == 0 => (*data).clone(),
        _ => names[roll(&mut dice, names.len())].clone(),
    };
    let kind = KINDS[roll(&mut dice, KINDS.len())];
    let mut damaged = image.clone();
    let bytes = damaged.get_mut(&file).filter(|bytes| !bytes.is_empty())?;
    let offset = match dice.roll(16) {
        0 => roll(&mut dice, bytes.len()),
        _ => used_place(&mut dice, bytes),
    };
    let bit = u32::try_from(dice.roll(8)).unwrap();
    let value = u8::try_from(dice.roll(256)).unwrap();
    let other = used_place(&mut dice, bytes);
    change(bytes, kind, (offset, other), (bit, value), earlier.get(&file));
    if kind == Kind::OldFile {
        match earlier.get(&file) {
            Some(old) => drop(damaged.insert(file.clone(), old.clone())),
            None => drop(damaged.remove(&file)),
        }
    }
    (damaged != *image).then_some((Sample { seed, file, kind, offset }, damaged))
}

fn change(
    bytes: &mut Vec<u8>,
    kind: Kind,
    (offset, other): (usize, usize),
    (bit, value): (u32, u8),
    old: Option<&Vec<u8>>,
) {
    let block = |at: usize, size: usize, len: usize| {
        let start = at / size * size;
        start..(start + size).min(len)
    };
    let len = bytes.len();
    match kind {
        Kind::Flip => bytes[offset] ^= 1_u8.rotate_left(bit),
        Kind::Byte => bytes[offset] = value,
        Kind::Zeros => bytes[block(offset, SECTOR, len)].fill(0),
        Kind::Swap => {
            let (one, two) = (block(offset, PAGE, len), block(other, PAGE, len));
            if one.len() == two.len() {
                let (first, second) = (bytes[one.clone()].to_vec(), bytes[two.clone()].to_vec());
                bytes[one].copy_from_slice(&second);
                bytes[two].copy_from_slice(&first);
            }
        }
        Kind::Cut => bytes.truncate(offset),
        Kind::OldPage => {
            let page = block(offset, PAGE, len);
            if let Some(old) = old.and_then(|old| old.get(page.clone())) {
                bytes[page].copy_from_slice(old);
            }
        }
        Kind::OldFile => (),
    }
}

/// A number from the environment, which changes the length or the seed of a run.
pub(crate) fn number(name: &str, usual: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "only the length of a test depends on it")]
    let text = std::env::var(name);
    text.ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
