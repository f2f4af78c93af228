//! The value of a listing entry: the expiry and the containers of its token, so that a list can
//! skip an entry without opening the record. Both are in clear elsewhere in the file too: in the
//! table of expiries and in the keys of the lists.

use crate::app::error::{Error, Fault};
use crate::domain::container::Container;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;

/// For a token that does not expire.
const NEVER: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct ListEntry<'a> {
    expires_at: u64,
    /// One path in each line; empty if the key of the entry contains the only path.
    paths: &'a str,
}

/// The value of every entry of a token. Empty for a token in one container without an expiry, the
/// usual case.
pub(in crate::app) fn of_token(token: &Token) -> Vec<u8> {
    let expiry = || token.expires_at.map_or(NEVER, micros).to_be_bytes().to_vec();
    match (token.expires_at, token.containers.len()) {
        (None, 1) => Vec::new(),
        (Some(_), 1) => expiry(),
        (_, _) => {
            let paths: Vec<&str> = token.containers.iter().map(Container::as_str).collect();
            [expiry(), paths.join("\n").into_bytes()].concat()
        }
    }
}

impl<'a> ListEntry<'a> {
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

    /// True if a list of these containers shows the token at this path. A token with several paths
    /// is shown once, at the first path that the list covers. Paths and containers are sorted.
    pub(in crate::app) fn is_shown_at(self, path: &str, reach: &[Container]) -> bool {
        self.paths.is_empty() || self.within(reach).next() == Some(path)
    }

    fn within(self, reach: &[Container]) -> impl Iterator<Item = &'a str> {
        self.paths
            .split('\n')
            .filter(move |path| reach.iter().any(|container| path.starts_with(container.as_str())))
    }
}

/// A time before 1970 counts as 1970.
fn micros(at: Timestamp) -> u64 {
    u64::try_from(at.micros()).unwrap_or(0)
}
