//! The master key that the next start would read, compared with the one that the vault has now. A
//! rotation that ended here may have left the key's source with the key before it, and nothing else
//! would show that before the start fails.
//!
//! A file is read. A credential or a command is not: systemd passes a copy from the start, and a
//! program may need a person or an HSM. Until a rotation the key of the start is the current one;
//! after it, the next key is not known here.

use std::path::Path;
use std::sync::Arc;

use crate::app::Vault;
use crate::bounds::NAMED_FILES_CHECK_EVERY;
use crate::cli::support::{left_by_rotation, read_master_key};
use crate::config::MasterKeySource;
use crate::domain::hex;
use crate::lock::Lock;
use crate::metrics::{Checks, Observe, Page, StatusValue};
use crate::server::tasks::Tasks;

pub struct NextKey {
    vault: Arc<Vault>,
    source: MasterKeySource,
    /// The ids of the keys that the source had when it was last read.
    seen: Lock<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStart {
    Current,
    Other,
    Unknown,
}

impl NextKey {
    pub fn begin(vault: &Arc<Vault>, source: MasterKeySource, tasks: &Tasks) -> Arc<Self> {
        // The vault was opened with the key of its source.
        let at_start = vault.rotation().master_check().into_iter().collect();
        let key = Arc::new(Self { vault: Arc::clone(vault), source, seen: Lock::new(at_start) });
        if matches!(key.source, MasterKeySource::File(_)) {
            tasks.spawn(watch(Arc::clone(&key)));
        }
        key
    }

    /// Reads the file of the key, and the one that an interrupted rotation has left: the start takes
    /// either.
    fn look(&self) {
        let MasterKeySource::File(path) = &self.source else { return };
        let id = |path: &Path| {
            let key = read_master_key(&MasterKeySource::File(path.to_path_buf())).ok()?;
            Some(hex::encode(key.check()))
        };
        let found = [id(path), id(&left_by_rotation(path))];
        *self.seen.lock() = found.into_iter().flatten().collect();
    }

    fn state(&self) -> NextStart {
        let Ok(current) = self.vault.rotation().master_check() else { return NextStart::Unknown };
        let has_current = || self.seen.lock().contains(&current);
        if has_current() {
            return NextStart::Current;
        }
        // The file may have been replaced since it was last read, as a rotation does.
        self.look();
        match (has_current(), &self.source) {
            (true, _) => NextStart::Current,
            (false, MasterKeySource::File(_)) if !self.seen.lock().is_empty() => NextStart::Other,
            (false, _) => NextStart::Unknown,
        }
    }

    const fn sentence(&self, state: NextStart) -> Option<&'static str> {
        match (state, &self.source) {
            (NextStart::Current, _) => None,
            (NextStart::Other, _) => Some(
                "The key file holds another master key than the vault's: the next start would fail.",
            ),
            (NextStart::Unknown, MasterKeySource::File(_)) => Some(
                "The key file cannot be read: which master key the next start reads is not known.",
            ),
            (NextStart::Unknown, MasterKeySource::Command(_) | MasterKeySource::Credential(_)) => {
                Some(
                    "The master key was replaced since the start: whether the next start gets the \
                     new one is not known here until then. CREDENTIALS_DIRECTORY=DIR strongroom \
                     check compares them.",
                )
            }
        }
    }
}

async fn watch(key: Arc<NextKey>) {
    loop {
        tokio::time::sleep(NAMED_FILES_CHECK_EVERY).await;
        let key = Arc::clone(&key);
        // A disk that hangs must not block a thread that answers requests.
        tokio::task::spawn_blocking(move || key.look()).await.ok();
    }
}

impl Observe for NextKey {
    fn measure(&self, page: &mut Page) {
        let (name, is_current) = match self.state() {
            NextStart::Current => ("the current key", Some(1_u64)),
            NextStart::Other => ("another key", Some(0)),
            NextStart::Unknown => ("not known", None),
        };
        page.line("keys", "next_start_reads", StatusValue::Name(name));
        page.known_gauge(
            "strongroom_next_start_key_current",
            "1 if the next start would read the current master key, 0 if another; absent if unknown.",
            is_current,
        );
    }

    fn check(&self, checks: &mut Checks) {
        checks.warn("next_start", self.sentence(self.state()));
    }
}
