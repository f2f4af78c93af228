//! A growing buffer that leaves no copies in freed memory. To grow, it moves to a larger allocation
//! and overwrites the old one, which a `Vec` would free without overwriting.

use std::io::{self, Write};

use crate::secret::Secret;

pub struct SecretBuffer {
    bytes: Secret<Vec<u8>>,
}

impl SecretBuffer {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Secret::new(Vec::with_capacity(capacity)) }
    }

    pub const fn len(&self) -> usize {
        self.bytes.expose().len()
    }

    pub fn last(&self) -> Option<u8> {
        self.bytes.expose().last().copied()
    }

    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.reserve(1);
        self.bytes.expose_mut().push(byte);
    }

    /// Appends several pieces with one reservation for all of them. Inlined, so that pieces of
    /// known length become plain stores.
    #[inline]
    pub fn extend_all<const N: usize>(&mut self, pieces: [&[u8]; N]) {
        self.reserve(pieces.iter().map(|piece| piece.len()).fold(0, usize::saturating_add));
        for piece in pieces {
            self.bytes.expose_mut().extend_from_slice(piece);
        }
    }

    #[inline]
    pub fn extend(&mut self, more: &[u8]) {
        self.reserve(more.len());
        self.bytes.expose_mut().extend_from_slice(more);
    }

    /// Appends all of another buffer; an empty buffer takes it over without a copy.
    pub fn append(&mut self, more: Secret<Vec<u8>>) {
        if self.bytes.expose().is_empty() {
            self.bytes = more;
        } else {
            self.extend(more.expose());
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.expose()
    }

    /// Appends the JSON text of a value. Every `Value` has one, and writing into memory cannot
    /// fail.
    pub fn json(&mut self, value: &serde_json::Value) {
        serde_json::to_writer(self, value).ok();
    }

    pub fn finish(self) -> Secret<Vec<u8>> {
        self.bytes
    }

    /// The buffer as text. [`SecretBuffer::json`] and appended strings always give valid UTF-8;
    /// other bytes give an empty text.
    pub fn finish_text(mut self) -> Secret<String> {
        let text = String::from_utf8(std::mem::take(self.bytes.expose_mut()));
        Secret::new(text.unwrap_or_else(|not_text| {
            drop(Secret::new(not_text.into_bytes()));
            String::new()
        }))
    }

    #[inline]
    pub fn reserve(&mut self, more: usize) {
        let bytes = self.bytes.expose();
        if more > bytes.capacity().saturating_sub(bytes.len()) {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let bytes = self.bytes.expose();
        let needed = bytes.len().saturating_add(more);
        let capacity = needed.max(bytes.capacity().saturating_mul(2));
        let mut larger = Secret::new(Vec::with_capacity(capacity));
        larger.expose_mut().extend_from_slice(bytes);
        self.bytes = larger;
    }
}

impl Write for SecretBuffer {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.extend(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

opaque_debug!(SecretBuffer);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_there_whole_however_it_grew() {
        let mut buffer = SecretBuffer::with_capacity(0);
        let mut expected = Vec::new();
        for at in 0..1_000_u16 {
            let piece = vec![at.to_be_bytes()[1]; usize::from(at % 7)];
            buffer.extend(&piece);
            buffer.push(b',');
            expected.extend_from_slice(&piece);
            expected.push(b',');
        }
        assert_eq!(buffer.len(), expected.len());
        assert_eq!(format!("{buffer:?}"), "SecretBuffer(..)");
        assert_eq!(buffer.finish().expose(), &expected);
    }
}
