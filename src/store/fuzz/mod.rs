//! The fuzz targets of the store: everything that it reads from files. A disk is no trust boundary of
//! a vault that runs, but a backup, an archive or a log may come from anywhere.

mod backups;
mod log;
mod records;

pub(crate) use backups::{archive, backup};
pub(crate) use log::{cvc_keys, frames};
pub(crate) use records::{keys, records};

/// A key that signs what a target has put together.
fn master() -> Option<crate::crypto::MasterKey> {
    let text = crate::secret::Secret::new(b"5a".repeat(32));
    crate::crypto::MasterKey::parse(&text).ok()
}

/// Takes a part off the front of the input: its length, then as many bytes as there are of it.
fn part<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&[high, low], rest) = data.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
    let (part, rest) = rest.split_at_checked(length)?;
    *data = rest;
    Some(part)
}
