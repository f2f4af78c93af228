//! The binary encoding of records that every request reads or writes.
//!
//! | value | bytes |
//! |---|---|
//! | text, sealed bytes | the length (4) and the bytes |
//! | one of a list of values | its position in the list (1) |
//! | time | microseconds (8) |
//! | optional value | 0, or 1 and the value |
//! | list | the number of values (4) and the values |
//!
//! Numbers are big-endian. A record begins with its version.

use crate::domain::time::Timestamp;
use crate::secret::{Secret, SecretBuffer};
use crate::store::record::encoding::{BadRecord, EncodeFailed, VERSION, body};
use crate::store::record::hidden_parts::{LENGTH_BYTES, counted, take};

pub(super) struct Writer {
    out: SecretBuffer,
    has_failed: bool,
}

impl Writer {
    /// `bytes` is the length of the record's long parts.
    pub(super) fn with_room(bytes: usize) -> Self {
        let mut out = SecretBuffer::with_capacity(bytes.saturating_add(512));
        out.push(VERSION);
        Self { out, has_failed: false }
    }

    /// Bytes of a length that the reader knows.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend(bytes);
    }

    pub(super) fn counted(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.bytes(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.counted(text.as_bytes());
    }

    /// Fails for a value outside the list.
    pub(super) fn choice<T: PartialEq>(&mut self, values: &[T], value: &T) {
        let at = values.iter().position(|known| known == value);
        match at.and_then(|at| u8::try_from(at).ok()) {
            Some(at) => self.out.push(at),
            None => self.has_failed = true,
        }
    }

    pub(super) fn time(&mut self, time: Timestamp) {
        self.bytes(&time.micros().to_be_bytes());
    }

    pub(super) fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.out.push(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn list<T>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.length(values.len());
        for value in values {
            write(self, value);
        }
    }

    pub(super) fn finish(self) -> Result<Secret<Vec<u8>>, EncodeFailed> {
        if self.has_failed { Err(EncodeFailed) } else { Ok(self.out.finish()) }
    }

    /// Fails for a number beyond four bytes.
    pub(super) fn length(&mut self, length: usize) {
        match u32::try_from(length) {
            Ok(length) => self.bytes(&length.to_be_bytes()),
            Err(_) => self.has_failed = true,
        }
    }
}

pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(record: &'a [u8]) -> Result<Self, BadRecord> {
        body(VERSION, record).map(Self)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], BadRecord> {
        take(&mut self.0, N)?.try_into().ok().ok_or(BadRecord)
    }

    pub(super) fn counted(&mut self) -> Result<&'a [u8], BadRecord> {
        let (bytes, rest) = counted(self.0)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, BadRecord> {
        str::from_utf8(self.counted()?).ok().ok_or(BadRecord)
    }

    pub(super) fn choice<T: Copy>(&mut self, values: &[T]) -> Result<T, BadRecord> {
        let [at] = self.array()?;
        values.get(usize::from(at)).copied().ok_or(BadRecord)
    }

    pub(super) fn owned_text(&mut self) -> Result<String, BadRecord> {
        self.text().map(String::from)
    }

    pub(super) fn time(&mut self) -> Result<Timestamp, BadRecord> {
        self.array().map(i64::from_be_bytes).map(Timestamp::from_micros)
    }

    pub(super) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BadRecord>,
    ) -> Result<Option<T>, BadRecord> {
        match self.array()? {
            [0] => Ok(None),
            [1] => read(self).map(Some),
            [_] => Err(BadRecord),
        }
    }

    pub(super) fn list<T, L: FromIterator<T>>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, BadRecord>,
    ) -> Result<L, BadRecord> {
        (0..self.length()?).map(|_| read(self)).collect()
    }

    pub(super) fn length(&mut self) -> Result<usize, BadRecord> {
        let length = self.array::<LENGTH_BYTES>().map(u32::from_be_bytes)?;
        usize::try_from(length).ok().ok_or(BadRecord)
    }

    /// Fails if bytes are left.
    pub(super) fn end(self) -> Result<(), BadRecord> {
        if self.0.is_empty() { Ok(()) } else { Err(BadRecord) }
    }
}
