//! The rows of [`Table::Processes`].

use uuid::Uuid;

use crate::bounds::HOST_NAME_MAX;
use crate::domain::process::ProcessRole;
use crate::domain::time::Timestamp;
use crate::store::authority::Term;
use crate::store::failure::StorageFailure;
use crate::store::shared::generations::Generations;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{GENERATIONS, KeyRange, Table};

const VERSION: u8 = 1;
pub(in crate::store) const LEASE: &[u8] = b"lease";
const PROCESS: &[u8] = b"process/";
const SERVER: u8 = 0;
const COMMAND: u8 = 1;

/// A live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    pub id: Uuid,
    /// Changes with each beat.
    pub beat: u64,
    pub started_at: Timestamp,
    /// The time of the last beat, on the process's own clock.
    pub beat_at: Timestamp,
    /// The generation of keys that all work of the process has followed.
    pub keys_followed: u64,
    pub host: String,
    pub version: String,
    pub role: ProcessRole,
    /// The public key for messages to this process, sealed.
    pub code_key: Vec<u8>,
}

/// The leader's lease. It lasts as long as its holder's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub holder: Uuid,
    /// Larger than the number of every earlier lease.
    pub number: u64,
}

impl Lease {
    pub const fn term(self) -> Term {
        Term(self.number)
    }

    pub(in crate::store) fn encode(self) -> Vec<u8> {
        [self.holder.as_bytes().as_slice(), &self.number.to_be_bytes()].concat()
    }

    pub(super) fn decode(value: &[u8]) -> Result<Self, StorageFailure> {
        let decoded = value.split_first_chunk().and_then(|(holder, number)| {
            let number = u64::from_be_bytes(number.try_into().ok()?);
            Some(Self { holder: Uuid::from_bytes(*holder), number })
        });
        decoded.ok_or_else(|| StorageFailure::Damaged(String::from("the lease of the leader")))
    }
}

impl ProcessRow {
    /// All live processes. A process refuses to join if there are too many.
    pub fn all(snapshot: &Snapshot) -> Result<Vec<Self>, StorageFailure> {
        let range = KeyRange::prefix(Table::Processes, PROCESS.to_vec());
        let damaged = || StorageFailure::Damaged(String::from("the row of a process"));
        let rows = snapshot.range(&range)?;
        rows.map(|row| row.and_then(|(key, value)| Self::decode(&key, &value).ok_or_else(damaged)))
            .collect()
    }

    pub(in crate::store) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.beat.to_be_bytes());
        bytes.extend(self.started_at.micros().to_be_bytes());
        bytes.extend(self.beat_at.micros().to_be_bytes());
        bytes.extend(self.keys_followed.to_be_bytes());
        for text in [&self.host, &self.version] {
            let text = plain(text);
            bytes.push(u8::try_from(text.len()).unwrap_or(0));
            bytes.extend(text.as_bytes());
        }
        bytes.push(match self.role {
            ProcessRole::Server => SERVER,
            ProcessRole::Command => COMMAND,
        });
        bytes.push(u8::try_from(self.code_key.len()).unwrap_or(0));
        bytes.extend(&self.code_key);
        bytes
    }

    /// Bytes after the known ones belong to a newer version.
    fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let id = Uuid::from_slice(key.strip_prefix(PROCESS)?).ok()?;
        let (&VERSION, rest) = value.split_first()? else { return None };
        let (beat, rest) = rest.split_first_chunk()?;
        let (started_at, rest) = rest.split_first_chunk()?;
        let (beat_at, rest) = rest.split_first_chunk()?;
        let (keys_followed, rest) = rest.split_first_chunk()?;
        let (host, rest) = text(rest)?;
        let (version, rest) = text(rest)?;
        let (role, rest) = rest.split_first()?;
        let role = match *role {
            SERVER => ProcessRole::Server,
            COMMAND => ProcessRole::Command,
            _ => return None,
        };
        let (length, rest) = rest.split_first()?;
        let code_key = rest.get(..usize::from(*length))?.to_vec();
        Some(Self {
            id,
            beat: u64::from_be_bytes(*beat),
            started_at: Timestamp::from_micros(i64::from_be_bytes(*started_at)),
            beat_at: Timestamp::from_micros(i64::from_be_bytes(*beat_at)),
            keys_followed: u64::from_be_bytes(*keys_followed),
            host,
            version,
            role,
            code_key,
        })
    }
}

fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((plain(str::from_utf8(text).ok()?), rest))
}

/// A name of bounded length that is safe to print on a terminal.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    text.chars().take(HOST_NAME_MAX).map(shown).collect()
}

pub(in crate::store) fn place(id: Uuid) -> Vec<u8> {
    [PROCESS, id.as_bytes().as_slice()].concat()
}

/// The generations, the lease and this process's membership, in one read.
#[derive(Debug)]
pub struct Polled {
    pub generations: Generations,
    pub lease: Option<Lease>,
    pub is_member: bool,
}

impl Polled {
    pub fn read(snapshot: &Snapshot, process: Uuid) -> Result<Self, StorageFailure> {
        let own = place(process);
        let keys = [
            (Table::Processes, GENERATIONS),
            (Table::Processes, LEASE),
            (Table::Processes, own.as_slice()),
        ];
        let mut values = snapshot.values(&keys)?.into_iter();
        let mut next = || values.next().flatten();
        let (generations, lease, row) = (next(), next(), next());
        Ok(Self {
            generations: Generations::decode(generations.as_deref()),
            lease: lease.as_deref().map(Lease::decode).transpose()?,
            is_member: row.is_some(),
        })
    }
}
