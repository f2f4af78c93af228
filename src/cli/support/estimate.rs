//! Says how long a command will take, before it begins. The rates were measured on a virtual machine
//! of two cores that other work kept busy, with cards of three metadata entries. Another machine is
//! faster or slower, which the progress bar then shows.

use std::path::Path;

use serde_json::Value;

use crate::cli::support::{complain, read_status};
use crate::domain::duration;
use crate::domain::size;
use crate::operator::metrics_socket_path;
use crate::store::Store;

/// Work that is over sooner is not announced.
const ANNOUNCED_FROM_S: u64 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    AuditVerify,
    Backup,
    Compact,
    Restore,
    Rotation,
    Verify,
    /// Of a backup, without the key: digests and order.
    VerifyDigests,
    /// Of a backup, with the key: it is restored and verified.
    VerifyRestored,
}

/// The unit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Of the data file, or of the backup.
    Bytes,
    Entries,
    Tokens,
}

impl Work {
    const fn rate(self) -> (u64, Counted) {
        match self {
            Self::AuditVerify => (1_000_000, Counted::Entries),
            Self::Backup => (200 << 20, Counted::Bytes),
            Self::Compact | Self::Restore => (30 << 20, Counted::Bytes),
            Self::Rotation => (5_000, Counted::Tokens),
            Self::Verify => (25 << 20, Counted::Bytes),
            Self::VerifyDigests => (150 << 20, Counted::Bytes),
            Self::VerifyRestored => (8 << 20, Counted::Bytes),
        }
    }

    pub const fn seconds(self, amount: u64) -> u64 {
        amount.div_ceil(self.rate().0)
    }

    /// `None` for work that is over soon.
    fn sentence(self, amount: u64) -> Option<String> {
        let seconds = self.seconds(amount);
        if seconds < ANNOUNCED_FROM_S {
            return None;
        }
        let (rate, counted) = self.rate();
        let (amount, rate) = match counted {
            Counted::Bytes => (size::render(amount), size::render(rate)),
            Counted::Entries => (format!("{amount} entries"), rate.to_string()),
            Counted::Tokens => (format!("{amount} tokens"), rate.to_string()),
        };
        let took = duration::render_seconds(seconds);
        Some(format!("strongroom: this takes about {took}: {amount}, at {rate} a second"))
    }
}

/// On standard error. Programs, which ask for JSON, get no sentence.
pub fn announce(work: Work, amount: u64, json: bool) {
    if let Some(sentence) = work.sentence(amount).filter(|_| !json) {
        complain(&sentence);
    }
}

/// By the length of a file. A file that cannot be read is reported by the work.
pub fn announce_file(work: Work, file: &Path, json: bool) {
    if let Ok(found) = std::fs::metadata(file) {
        announce(work, found.len(), json);
    }
}

/// By the length of the data file; nothing for rows in a database.
pub fn announce_data(work: Work, directory: &Path, json: bool) {
    announce_file(work, &directory.join(Store::FILE), json);
}

/// By a number that the running server shows in its status.
pub fn announce_served(work: Work, directory: &Path, pointer: &str, json: bool) {
    let status = read_status(&metrics_socket_path(directory)).ok();
    if let Some(amount) = status.as_ref().and_then(|it| it.pointer(pointer)).and_then(Value::as_u64)
    {
        announce(work, amount, json);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_that_takes_long_is_announced_with_its_size_and_its_rate() {
        assert_eq!(Work::Backup.sentence(1 << 20), None);
        assert_eq!(Work::AuditVerify.sentence(4_000_000), None);
        let said = Work::AuditVerify.sentence(60_000_000).unwrap_or_default();
        assert_eq!(
            said,
            "strongroom: this takes about 1 min: 60000000 entries, at 1000000 a second"
        );
        let said = Work::Compact.sentence(100 << 30).unwrap_or_default();
        assert!(said.contains("56 min") && said.contains("100.0 GiB"), "{said}");
        let said = Work::Rotation.sentence(u64::MAX).unwrap_or_default();
        assert!(said.contains(" d"), "{said}");
    }
}
