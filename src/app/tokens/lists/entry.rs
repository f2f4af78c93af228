//! What stands in a listing entry: when its token expires, and which containers it is in. Both
//! stand in clear elsewhere in the file too (in what falls due and in the keys of the lists), and
//! here they let a list pass over an entry without opening the token's record.

use crate::app::error::{Error, Fault};
use crate::domain::container::Container;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;

/// A token that does not expire.
const NEVER: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct Listed<'a> {
    expires_at: u64,
    /// One in each line; empty when the entry's own key names the only one.
    paths: &'a str,
}

/// The value of an entry of one container. Most tokens are in one and do not expire: theirs is
/// empty.
pub(in crate::app) fn in_container(token: &Token) -> Vec<u8> {
    match (token.expires_at, token.containers.len()) {
        (None, 1) => Vec::new(),
        (Some(at), 1) => micros(at).to_be_bytes().to_vec(),
        (_, _) => in_all(token),
    }
}

/// The value of an entry of all containers together.
pub(in crate::app) fn in_all(token: &Token) -> Vec<u8> {
    let mut value = token.expires_at.map_or(NEVER, micros).to_be_bytes().to_vec();
    let paths: Vec<&str> = token.containers.iter().map(Container::as_str).collect();
    value.extend_from_slice(paths.join("\n").as_bytes());
    value
}

impl<'a> Listed<'a> {
    pub(in crate::app) fn decode(value: &'a [u8]) -> Result<Self, Error> {
        if value.is_empty() {
            return Ok(Self { expires_at: NEVER, paths: "" });
        }
        let decoded = value.split_first_chunk().and_then(|(at, paths)| {
            let paths = std::str::from_utf8(paths).ok()?;
            Some(Self { expires_at: u64::from_be_bytes(*at), paths })
        });
        decoded.ok_or(Error::Internal(Fault::BadRecord))
    }

    pub(in crate::app) fn is_live(self, now: Timestamp) -> bool {
        self.expires_at == NEVER || micros(now) < self.expires_at
    }

    /// Whether a list of these containers shows the token at this path: at the first of its paths
    /// that the list covers. Paths and containers are in order.
    pub(in crate::app) fn is_shown_at(self, path: &str, reach: &[Container]) -> bool {
        self.paths.is_empty() || self.within(reach).next() == Some(path)
    }

    pub(in crate::app) fn is_within(self, reach: &[Container]) -> bool {
        self.within(reach).next().is_some()
    }

    fn within(self, reach: &[Container]) -> impl Iterator<Item = &'a str> {
        self.paths
            .split('\n')
            .filter(move |path| reach.iter().any(|container| path.starts_with(container.as_str())))
    }
}

/// Times before 1970 do not occur.
fn micros(at: Timestamp) -> u64 {
    u64::try_from(at.micros()).unwrap_or(0)
}
