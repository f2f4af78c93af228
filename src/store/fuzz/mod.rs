//! Fuzz targets of the store: everything that it reads from files. A running vault trusts its disk,
//! but a backup, an archive or a log may come from anywhere.

mod backups;
mod log;
mod records;

pub(crate) use backups::{archive, backup};
pub(crate) use log::{cvc_keys, frames};
pub(crate) use records::{keys, records};

/// Signs the inputs that a target assembles.
fn master() -> Option<crate::crypto::MasterKey> {
    let text = crate::secret::Secret::new(b"5a".repeat(32));
    crate::crypto::MasterKey::parse(&text).ok()
}

/// Takes a part off the front of the input: a length, then that number of bytes, or all that are
/// left.
fn part<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&[high, low], rest) = data.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
    let (part, rest) = rest.split_at_checked(length)?;
    *data = rest;
    Some(part)
}
