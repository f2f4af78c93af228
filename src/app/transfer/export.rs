//! The export of a tenant: everything that it has at one moment, in plain, sealed to the public
//! keys of the recipients before it leaves this process.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::app::access::api_keys::keys_of;
use crate::app::access::applications::open_application;
use crate::app::commit::disk::DiskFloor;
use crate::app::error::Error;
use crate::app::jobs::Job;
use crate::app::proxies;
use crate::app::tokens::rows;
use crate::app::transfer::Transfer;
use crate::app::webhooks::open_webhook;
use crate::bounds::{APPLICATIONS_MAX, EXPORT_RECIPIENTS_MAX};
use crate::crypto::{AgeRecipients, AgeWriter, InvalidRecipient, TenantKeys};
use crate::domain::application::{ApiKey, Application};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::TenantId;
use crate::domain::proxy::Proxy;
use crate::domain::tenant::Tenant;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::webhook::Webhook;
use crate::secret::Secret;
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, StorageFailure};

/// The name of a file that is being written ends with this.
const PARTIAL: &str = ".partial";

#[derive(Debug)]
pub struct ExportTarget {
    pub tenant: TenantId,
    /// A file that does not exist yet.
    pub path: PathBuf,
    /// Public keys such as `age1...`.
    pub recipients: Vec<String>,
}

/// One line of an export.
#[derive(Debug, Clone, Copy)]
pub enum ExportItem<'a> {
    Application(&'a Application, &'a [ApiKey]),
    /// The last line: a file without it is not complete.
    End(ExportSummary),
    /// The first line: the moment that the export shows.
    Header(Timestamp),
    Proxy(&'a Proxy),
    Tenant(&'a Tenant),
    /// Without its card verification code.
    Token(&'a Token),
    Webhook(&'a Webhook),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ExportSummary {
    pub applications: u64,
    pub proxies: u64,
    pub tokens: u64,
    pub webhooks: u64,
    /// Records that did not open, which the export lacks.
    pub damaged: u64,
}

#[derive(Debug)]
pub enum ExportFailure {
    Exists,
    File(io::Error),
    NoSpace,
    /// Another export writes this file, or was interrupted.
    Unfinished(PathBuf),
    Vault(Error),
}

/// The renderer of a line, without its line end.
type Render = fn(&ExportItem<'_>) -> Secret<Vec<u8>>;

impl Transfer<'_> {
    /// Writes the tenant to a new file. Everything is of one moment: changes after it are not in the
    /// file. The act is in the audit chain before the first byte is read.
    pub async fn export(
        self,
        target: &ExportTarget,
        render: Render,
    ) -> Result<ExportSummary, ExportFailure> {
        let recipients = recipients(&target.recipients)?;
        refuse_existing(&target.path)?;
        self.vault.require_space_for_audit()?;
        let found = self.vault.access().find_tenant(&self.vault.snapshot()?, target.tenant)?;
        let tenant = found.ok_or(Error::NotFound("tenant"))?;
        if let Some(allowance) = self.vault.floor.as_ref().map(DiskFloor::allowance)
            && !allowance.admits(parent(&target.path), 0)?
        {
            return Err(ExportFailure::NoSpace);
        }
        let now = self.vault.now();
        let audit = self.vault.audit();
        let entry = audit.entry(tenant.id, Actor::Operator, Act::Export, &tenant, now);
        self.vault.store.commit(entry).await.map_err(Error::from)?;
        let job = self.vault.jobs.begin(format!("export {}", target.path.display()));
        let write = || self.write(&tenant, &target.path, &recipients, render, &job);
        let written = self.vault.operator_walks.run(write).await.map_err(ExportFailure::from);
        let written = written.and_then(|written| written);
        if written.is_err() {
            // The entry before it says that the tenant was exported. The failure itself is answered
            // also if the disk takes no entry.
            let now = self.vault.now();
            let entry = audit.entry(tenant.id, Actor::Operator, Act::ExportFailed, &tenant, now);
            self.vault.store.commit(entry).await.ok();
        }
        written
    }

    fn write(
        self,
        tenant: &Tenant,
        path: &Path,
        recipients: &AgeRecipients,
        render: Render,
        job: &Job,
    ) -> Result<ExportSummary, ExportFailure> {
        let (file, partial) = Partial::create(partial(path))?;
        let snapshot = self.vault.snapshot()?;
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant.id)?;
        let out = recipients.seal(BufWriter::new(&file), self.vault.random())?;
        let now = self.vault.now();
        let summary = ExportSummary::default();
        let mut lines = Lines { snapshot, keys, out, render, summary, now };
        lines.fill(tenant, job)?;
        lines.out.finish()?.flush()?;
        file.sync_all()?;
        partial.publish(path)?;
        File::open(parent(path))?.sync_all()?;
        Ok(lines.summary)
    }
}

/// A file that is being written. It is removed unless it gets its name: the next export would take
/// it for one that is being written.
struct Partial(PathBuf);

impl Partial {
    fn create(path: PathBuf) -> Result<(File, Self), ExportFailure> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => Ok((file, Self(path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(ExportFailure::Unfinished(path))
            }
            Err(error) => Err(ExportFailure::File(error)),
        }
    }

    /// Gives the file its name, unless another file has got it meanwhile. The first name goes when
    /// this is dropped.
    fn publish(self, path: &Path) -> Result<(), ExportFailure> {
        fs::hard_link(&self.0, path).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                ExportFailure::Exists
            } else {
                ExportFailure::File(error)
            }
        })
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // It is not there if it was renamed.
        fs::remove_file(&self.0).ok();
    }
}

/// The lines of an export, and what they are made of.
struct Lines<W: Write> {
    snapshot: Snapshot,
    keys: TenantKeys,
    out: AgeWriter<W>,
    render: Render,
    summary: ExportSummary,
    now: Timestamp,
}

impl<W: Write> Lines<W> {
    fn fill(&mut self, tenant: &Tenant, job: &Job) -> Result<(), ExportFailure> {
        let lines = self;
        let id = tenant.id;
        lines.put(ExportItem::Header(lines.now))?;
        lines.put(ExportItem::Tenant(tenant))?;
        for (key, sealed) in lines.snapshot.first(&tables::applications_of(id), APPLICATIONS_MAX)? {
            let opened = open_application(&lines.keys, id, &key, &sealed).and_then(|it| {
                let keys = keys_of(&lines.snapshot, &lines.keys, &it)?;
                Ok((it, keys))
            });
            if let Some((application, keys)) = lines.unless_damaged(opened)? {
                lines.put(ExportItem::Application(&application, &keys))?;
                add(&mut lines.summary.applications);
            }
        }
        for row in lines.snapshot.range(&tables::proxies_of(id))? {
            let (key, sealed) = row?;
            let opened = proxies::open(&lines.keys, id, &key, &sealed);
            if let Some(proxy) = lines.unless_damaged(opened)? {
                lines.put(ExportItem::Proxy(&proxy))?;
                add(&mut lines.summary.proxies);
            }
        }
        for row in lines.snapshot.range(&tables::webhooks_of(id))? {
            let (key, sealed) = row?;
            let opened = open_webhook(&lines.keys, &key, &sealed);
            if let Some((webhook, _)) = lines.unless_damaged(opened)? {
                lines.put(ExportItem::Webhook(&webhook))?;
                add(&mut lines.summary.webhooks);
            }
        }
        let count = lines.snapshot.count(&tables::counts(id, CountKind::Tokens))?;
        job.set_total(u64::try_from(count).unwrap_or(0));
        for row in lines.snapshot.range(&tables::tokens_of(id))? {
            let (key, sealed) = row?;
            lines.put_token(id, &key, &sealed)?;
            job.add(1);
        }
        lines.put(ExportItem::End(lines.summary))
    }

    fn put(&mut self, item: ExportItem<'_>) -> Result<(), ExportFailure> {
        self.out.write_all((self.render)(&item).expose())?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    fn put_token(
        &mut self,
        tenant: TenantId,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<(), ExportFailure> {
        let bad = || Error::Internal(crate::app::error::Fault::BadRecord);
        let opened = tables::token_of_key(key).filter(|(owner, _)| *owner == tenant);
        let opened =
            opened.ok_or_else(bad).and_then(|(_, id)| rows::open(&self.keys, tenant, id, sealed));
        match self.unless_damaged(opened)? {
            // An expired token counts as deleted.
            Some(found) if found.token.is_live(self.now) => {
                self.put(ExportItem::Token(&found.token))?;
                add(&mut self.summary.tokens);
            }
            Some(_) | None => (),
        }
        Ok(())
    }

    /// A record that does not open is counted, so that one damaged record does not keep the tenant
    /// from moving out.
    fn unless_damaged<T>(&mut self, opened: Result<T, Error>) -> Result<Option<T>, ExportFailure> {
        match opened {
            Ok(record) => Ok(Some(record)),
            Err(Error::Internal(_)) => {
                add(&mut self.summary.damaged);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

const fn add(count: &mut u64) {
    *count = count.saturating_add(1);
}

fn recipients(texts: &[String]) -> Result<AgeRecipients, Error> {
    if texts.len() > EXPORT_RECIPIENTS_MAX {
        let message = format!("There may be at most {EXPORT_RECIPIENTS_MAX}.");
        return Err(Error::invalid("recipient", message));
    }
    AgeRecipients::parse(texts.iter().map(String::as_str)).map_err(|InvalidRecipient| {
        let message = "A recipient is the public key of an age key pair: age1 and 58 characters.";
        Error::invalid("recipient", message)
    })
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(PARTIAL);
    PathBuf::from(name)
}

fn refuse_existing(path: &Path) -> Result<(), ExportFailure> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(ExportFailure::Exists),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

impl fmt::Display for ExportFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("The file exists already, and is never overwritten."),
            Self::File(error) => write!(f, "The file cannot be written: {error}."),
            Self::NoSpace => f.write_str("The disk of the file is nearly full."),
            Self::Unfinished(path) => write!(
                f,
                "Another export writes {}, or was interrupted; delete that file in this case.",
                path.display()
            ),
            Self::Vault(_) => f.write_str("The vault refused it."),
        }
    }
}

impl From<Error> for ExportFailure {
    fn from(error: Error) -> Self {
        Self::Vault(error)
    }
}

impl From<StorageFailure> for ExportFailure {
    fn from(failure: StorageFailure) -> Self {
        Self::Vault(Error::from(failure))
    }
}

impl From<io::Error> for ExportFailure {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::TestDirectory;

    #[test]
    fn a_file_that_got_the_name_meanwhile_is_not_overwritten() {
        let directory = TestDirectory::new();
        let (path, other) = (directory.join("a"), directory.join("b"));
        let (_, first) = Partial::create(partial(&path)).unwrap();
        assert!(matches!(
            Partial::create(partial(&path)),
            Err(ExportFailure::Unfinished(it)) if it == partial(&path)
        ));
        fs::write(&path, "precious").unwrap();
        assert!(matches!(first.publish(&path), Err(ExportFailure::Exists)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert!(!partial(&path).exists(), "another export can begin");
        let (_, second) = Partial::create(partial(&other)).unwrap();
        second.publish(&other).unwrap();
        assert!(other.exists() && !partial(&other).exists());
    }
}
