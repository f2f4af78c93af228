//! DER as far as keys need it: elements with a tag, a length and content.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;

/// Reads elements one after the other. Everything that is not DER is `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The content of the only element, which must have this tag.
    pub(super) fn only(bytes: &'a [u8], tag: u8) -> Option<Self> {
        let mut reader = Self(bytes);
        let content = reader.element(tag)?;
        reader.0.is_empty().then_some(Self(content))
    }

    pub(super) fn tag(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The content of the next element, if it has this tag.
    pub(super) fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, content) = self.any()?;
        (found == tag).then_some(content)
    }

    pub(super) fn sequence(&mut self) -> Option<Self> {
        self.element(SEQUENCE).map(Self)
    }

    /// An integer that is not negative, without leading zeros.
    pub(super) fn number(&mut self) -> Option<&'a [u8]> {
        let content = self.element(INTEGER)?;
        if content.first().is_none_or(|byte| *byte >= 0x80) {
            return None;
        }
        Some(without_zeros(content))
    }

    /// A string of whole bytes.
    pub(super) fn bits(&mut self) -> Option<&'a [u8]> {
        match self.element(BIT_STRING)?.split_first() {
            Some((0, bytes)) => Some(bytes),
            Some(_) | None => None,
        }
    }

    pub(super) fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(*first) {
            short @ 0..0x80 => (short, rest),
            long => {
                let (bytes, rest) = rest.split_at_checked(long - 0x80)?;
                if bytes.is_empty() || bytes.len() > 4 {
                    return None;
                }
                let length = bytes.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
                (length, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }
}

pub(super) fn without_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => element.push(short),
        _ => {
            let bytes = content.len().to_be_bytes();
            let length = without_zeros(&bytes);
            // The length of a length fits into seven bits.
            element.push(0x80 | u8::try_from(length.len()).unwrap_or(0));
            element.extend(length);
        }
    }
    element.extend(content);
    element
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

pub(super) fn number(bytes: &[u8]) -> Vec<u8> {
    let bytes = without_zeros(bytes);
    let mut content = Vec::with_capacity(bytes.len() + 1);
    if bytes.first().is_none_or(|byte| *byte >= 0x80) {
        content.push(0);
    }
    content.extend(bytes);
    element(INTEGER, &content)
}

pub(super) fn bits(bytes: &[u8]) -> Vec<u8> {
    let mut content = vec![0];
    content.extend(bytes);
    element(BIT_STRING, &content)
}
