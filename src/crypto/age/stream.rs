//! The content of a file: chunks of 64 KiB, each sealed with ChaCha20-Poly1305 under a counter. The
//! last one is marked, so that a truncated file does not open.

use std::fmt;
use std::io::{self, Write};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;

use crate::crypto::age::{FileKey, derive, failed};
use crate::crypto::random::Random;
use crate::secret::Secret;

pub(super) const CHUNK_BYTES: usize = 65_536;

/// Seals the bytes that are written to it. Without [`AgeWriter::finish`] the output cannot be
/// opened.
pub struct AgeWriter<W: Write> {
    to: W,
    key: LessSafeKey,
    /// The content of the next chunk.
    plain: Secret<Vec<u8>>,
    chunks: u64,
}

/// The place of a chunk in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPosition {
    Inner,
    Last,
}

impl<W: Write> AgeWriter<W> {
    /// The caller has written the header to `to`.
    pub(super) fn begin(mut to: W, key: &FileKey, random: &Random) -> io::Result<Self> {
        let salt: [u8; 16] = random.bytes();
        to.write_all(&salt)?;
        let key = derive(key.expose(), &salt, b"payload").and_then(|key| sealing_key(&key));
        let key = key.map_err(failed)?;
        Ok(Self { to, key, plain: Secret::new(Vec::with_capacity(CHUNK_BYTES)), chunks: 0 })
    }

    /// Writes the last chunk, which proves that the file is complete.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_chunk(ChunkPosition::Last)?;
        Ok(self.to)
    }

    fn write_chunk(&mut self, place: ChunkPosition) -> io::Result<()> {
        let chunk = self.plain.expose_mut();
        seal(&self.key, nonce(self.chunks, place), chunk).map_err(failed)?;
        self.to.write_all(chunk)?;
        chunk.clear();
        self.chunks = self.chunks.saturating_add(1);
        Ok(())
    }
}

pub(super) fn nonce(number: u64, place: ChunkPosition) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    if let Some(digits) = nonce.get_mut(3..11) {
        digits.copy_from_slice(&number.to_be_bytes());
    }
    if let Some(mark) = nonce.last_mut() {
        *mark = u8::from(place == ChunkPosition::Last);
    }
    nonce
}

pub(super) fn sealing_key(key: &Secret<[u8; 32]>) -> Result<LessSafeKey, Unspecified> {
    UnboundKey::new(&CHACHA20_POLY1305, key.expose()).map(LessSafeKey::new)
}

/// Seals in place and adds the tag. Each key seals one text under each nonce.
#[expect(
    clippy::disallowed_methods,
    reason = "the format has numbers as nonces and no further data"
)]
pub(super) fn seal(
    key: &LessSafeKey,
    nonce: [u8; NONCE_LEN],
    text: &mut Vec<u8>,
) -> Result<(), Unspecified> {
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::empty(), text)
}

/// The text that [`seal`] sealed; `None` if it was changed.
#[expect(clippy::disallowed_methods, reason = "see `seal`")]
pub(super) fn open<'a>(
    key: &LessSafeKey,
    nonce: [u8; NONCE_LEN],
    sealed: &'a mut [u8],
) -> Option<&'a [u8]> {
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.open_in_place(nonce, Aad::empty(), sealed).ok().map(|plain| &*plain)
}

impl<W: Write> Write for AgeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk is written only when more bytes follow, since it may be the last one.
        if self.plain.expose().len() >= CHUNK_BYTES && !bytes.is_empty() {
            self.write_chunk(ChunkPosition::Inner)?;
        }
        let free = CHUNK_BYTES.saturating_sub(self.plain.expose().len());
        let taken = bytes.get(..free).unwrap_or(bytes);
        self.plain.expose_mut().extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> fmt::Debug for AgeWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgeWriter")
    }
}
