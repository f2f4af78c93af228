//! The hidden parts of a remembered answer, sealed under a key derived from their subject's seed.

use crate::secret::{Secret, SecretBuffer};
use crate::store::record::encoding::{BadRecord, EncodeFailed};

pub(super) const LENGTH_BYTES: usize = 4;
const TEXT: u8 = 0;
const CVC: u8 = 1;

/// A part that is sealed together with its subject's other hidden parts.
#[derive(Debug)]
pub enum HiddenPart {
    /// Sealed under the key of a card verification code.
    Cvc(Vec<u8>),
    Text(Secret<Vec<u8>>),
}

/// Encodes hidden parts.
pub struct HiddenParts(SecretBuffer);

impl HiddenParts {
    pub fn with_capacity(bytes: usize) -> Self {
        Self(SecretBuffer::with_capacity(bytes))
    }

    pub fn cvc(&mut self, sealed: &[u8]) -> Result<(), EncodeFailed> {
        self.put(CVC, sealed)
    }

    pub fn text(&mut self, text: &[u8]) -> Result<(), EncodeFailed> {
        self.put(TEXT, text)
    }

    pub fn finish(self) -> Secret<Vec<u8>> {
        self.0.finish()
    }

    fn put(&mut self, kind: u8, part: &[u8]) -> Result<(), EncodeFailed> {
        self.0.extend_all([&[kind], &length_of(part)?, part]);
        Ok(())
    }
}

opaque_debug!(HiddenParts);

#[cfg(any(fuzzing, test))]
pub fn encode_hidden(parts: &[HiddenPart]) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let mut out = HiddenParts::with_capacity(0);
    for part in parts {
        match part {
            HiddenPart::Cvc(sealed) => out.cvc(sealed)?,
            HiddenPart::Text(text) => out.text(text.expose())?,
        }
    }
    Ok(out.finish())
}

/// Fails for 4 GiB and more.
pub(super) fn length_of(bytes: &[u8]) -> Result<[u8; LENGTH_BYTES], EncodeFailed> {
    u32::try_from(bytes.len()).ok().map(u32::to_be_bytes).ok_or(EncodeFailed)
}

pub fn decode_hidden(mut bytes: &[u8]) -> Result<Vec<HiddenPart>, BadRecord> {
    let mut parts = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        let (text, rest) = counted(rest)?;
        parts.push(match *kind {
            CVC => HiddenPart::Cvc(text.to_vec()),
            TEXT => HiddenPart::Text(Secret::new(text.to_vec())),
            _ => return Err(BadRecord),
        });
        bytes = rest;
    }
    Ok(parts)
}

/// Splits off length-prefixed bytes, and returns them and the rest.
pub(super) fn counted(bytes: &[u8]) -> Result<(&[u8], &[u8]), BadRecord> {
    let (length, mut rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or(BadRecord)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok().ok_or(BadRecord)?;
    let counted = take(&mut rest, length)?;
    Ok((counted, rest))
}

pub(super) fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], BadRecord> {
    let (taken, rest) = bytes.split_at_checked(length).ok_or(BadRecord)?;
    *bytes = rest;
    Ok(taken)
}
