//! The export of a tenant: all its data at one moment, in plain, sealed to the public keys of the
//! recipients before it leaves this process.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::app::access::api_keys::keys_of;
use crate::app::commit::disk::DiskFloor;
use crate::app::error::Error;
use crate::app::jobs::Job;
use crate::app::records::{self, Record};
use crate::app::transfer::Transfer;
use crate::bounds::EXPORT_RECIPIENTS_MAX;
use crate::crypto::{AgeRecipients, AgeWriter, InvalidRecipient, TenantKeys};
use crate::domain::application::{ApiKey, Application};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::TenantId;
use crate::domain::proxy::Proxy;
use crate::domain::reactor::Reactor;
use crate::domain::tenant::Tenant;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::webhook::Webhook;
use crate::files::{Directory, Unfinished};
use crate::secret::Secret;
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, StorageFailure};

/// The suffix of a file that is being written.
const PARTIAL: &str = ".partial";

#[derive(Debug)]
pub struct ExportTarget {
    pub tenant: TenantId,
    /// Must not exist yet.
    pub path: PathBuf,
    /// Public keys such as `age1...`.
    pub recipients: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub enum ExportItem<'a> {
    Application(&'a Application, &'a [ApiKey]),
    /// The last line: a file without it is incomplete.
    End(ExportSummary),
    /// The first line, with the time of the snapshot.
    Header(Timestamp),
    Proxy(&'a Proxy),
    Reactor(&'a Reactor),
    Tenant(&'a Tenant),
    /// Without its card verification code.
    Token(&'a Token),
    Webhook(&'a Webhook),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ExportSummary {
    pub applications: u64,
    pub proxies: u64,
    pub reactors: u64,
    pub tokens: u64,
    pub webhooks: u64,
    /// Records that did not open and are missing from the export.
    pub damaged: u64,
}

#[derive(Debug)]
pub enum ExportFailure {
    Exists,
    File(io::Error),
    NoSpace,
    /// Another export writes this file, or one was interrupted.
    Unfinished(PathBuf),
    Vault(Error),
}

/// Renders a line without its line end.
type Render = fn(&ExportItem<'_>) -> Secret<Vec<u8>>;

impl Transfer<'_> {
    /// Writes one snapshot of the tenant to a new file: later changes are not in it. The act is in
    /// the audit chain before the first byte is read.
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
            // The earlier entry records an export. The failure is returned even if the disk takes
            // no entry.
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
        let (directory, name) = Directory::of(path)?;
        let new = begin(&directory, &name)?;
        let summary = {
            let snapshot = self.vault.snapshot()?;
            let keys = self.vault.keys().tenant_keys(&snapshot, tenant.id)?;
            let out = recipients.seal(BufWriter::new(new.file()?), self.vault.random())?;
            let now = self.vault.now();
            let summary = ExportSummary::default();
            let mut lines = Lines { snapshot, keys, out, render, summary, now };
            lines.fill(tenant, job)?;
            let Lines { out, summary, .. } = lines;
            out.finish()?.flush()?;
            summary
        };
        publish(new, &name)?;
        Ok(summary)
    }
}

fn begin(directory: &Directory, name: &OsStr) -> Result<Unfinished, ExportFailure> {
    let mut partial = name.to_os_string();
    partial.push(PARTIAL);
    Unfinished::create(directory, &partial).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return ExportFailure::Unfinished(directory.path().join(&partial));
        }
        ExportFailure::File(error)
    })
}

/// Fails if another file got this name meanwhile.
fn publish(new: Unfinished, name: &OsStr) -> Result<(), ExportFailure> {
    new.finish(name).map(drop).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return ExportFailure::Exists;
        }
        ExportFailure::File(error)
    })
}

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
        lines.each(|lines, application: &Application| {
            let keys = keys_of(&lines.snapshot, &lines.keys, application);
            if let Some(keys) = lines.unless_damaged(keys)? {
                lines.put(ExportItem::Application(application, &keys))?;
                add(&mut lines.summary.applications);
            }
            Ok(())
        })?;
        lines.each(|lines, proxy: &Proxy| {
            add(&mut lines.summary.proxies);
            lines.put(ExportItem::Proxy(proxy))
        })?;
        lines.each(|lines, reactor: &Reactor| {
            add(&mut lines.summary.reactors);
            lines.put(ExportItem::Reactor(reactor))
        })?;
        lines.each(|lines, webhook: &Webhook| {
            add(&mut lines.summary.webhooks);
            lines.put(ExportItem::Webhook(webhook))
        })?;
        let count = lines.snapshot.count(&tables::counts(id, CountKind::Tokens))?;
        job.set_total(u64::try_from(count).unwrap_or(0));
        lines.each(|lines, token: &Token| {
            job.add(1);
            // An expired token counts as deleted.
            if token.is_live(lines.now) {
                add(&mut lines.summary.tokens);
                lines.put(ExportItem::Token(token))?;
            }
            Ok(())
        })?;
        lines.put(ExportItem::End(lines.summary))
    }

    fn put(&mut self, item: ExportItem<'_>) -> Result<(), ExportFailure> {
        self.out.write_all((self.render)(&item).expose())?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// Visits all records of a kind that open.
    fn each<R: Record>(
        &mut self,
        put: impl Fn(&mut Self, &R) -> Result<(), ExportFailure>,
    ) -> Result<(), ExportFailure> {
        for row in records::rows_of::<R>(&self.snapshot, &self.keys)? {
            let opened = records::open::<R>(&self.keys, &row?);
            if let Some((record, _)) = self.unless_damaged(opened)? {
                put(self, &record)?;
            }
        }
        Ok(())
    }

    /// Counts a record that does not open, so that one damaged record does not prevent the export.
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

from_causes!(ExportFailure:
    Error => Self::Vault,
    StorageFailure => Self::Vault,
    io::Error => Self::File,
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::TestDirectory;

    #[test]
    fn a_file_that_got_the_name_meanwhile_is_not_overwritten() {
        let place = TestDirectory::new();
        let directory = Directory::open(place.path()).unwrap();
        let (first, other) = (OsStr::new("a"), OsStr::new("b"));
        let partial = place.join(&format!("a{PARTIAL}"));
        let new = begin(&directory, first).unwrap();
        assert!(matches!(
            begin(&directory, first),
            Err(ExportFailure::Unfinished(it)) if it == partial
        ));
        fs::write(place.join("a"), "precious").unwrap();
        assert!(matches!(publish(new, first), Err(ExportFailure::Exists)));
        assert_eq!(fs::read_to_string(place.join("a")).unwrap(), "precious");
        assert!(!partial.exists(), "another export can begin");
        publish(begin(&directory, other).unwrap(), other).unwrap();
        assert!(place.join("b").exists() && !place.join(&format!("b{PARTIAL}")).exists());
    }
}
