//! The import of a file, page by page. A page is one change: its tokens and applications, their
//! audit entries and the state of the import. So an interrupted import continues at the page where
//! it stopped: no row is lost, and none is there twice.
//!
//! The state names the import by a keyed digest of its first rows and its options, and holds a
//! keyed digest of all finished rows, so that a changed file is noticed.

use crate::app::audit::entry::AuditedAct;
use crate::app::blocking::run_blocking;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::transfer::Transfer;
use crate::app::transfer::applications::NewApplications;
use crate::app::transfer::rows::{BadRow, CheckedRow, NewToken, ParseRow, check_rows, in_parallel};
use crate::bounds::IMPORTS_MAX;
use crate::crypto::TenantKeys;
use crate::domain::audit::{Act, Actor};
use crate::domain::id::{ApplicationId, TenantId};
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::{ImportRecord, decode_import, encode_import};
use crate::store::tables::{self, CountKind, meta};
use crate::store::{Change, Snapshot, Table};

#[derive(Debug)]
pub struct ImportPage {
    pub tenant: TenantId,
    /// The digest of the file's first rows and of the options.
    pub import: String,
    /// The number of rows before this page, and their digest.
    pub first: u64,
    pub before: String,
    /// The digest of all rows up to the end of this page.
    pub after: String,
    pub is_last: bool,
    /// JSON, one text each.
    pub rows: Vec<Secret<String>>,
    pub mode: ImportMode,
    /// For a check: the number of tokens of earlier pages, which are not written yet.
    pub ahead: u64,
    /// Writes the good rows of a page that has bad ones.
    pub skips_bad: bool,
    /// The creator of the tokens.
    pub application: Option<ApplicationId>,
    pub parse: ParseRow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Reports the mistakes and writes nothing.
    Check,
    Write,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ImportSummary {
    pub rows: u64,
    pub created: u64,
    pub duplicates: u64,
    pub bad: u64,
    pub is_finished: bool,
}

#[derive(Debug, Default)]
pub struct PageOutcome {
    pub created: u64,
    pub duplicates: u64,
    pub applications: u64,
    /// API keys of the created applications.
    pub keys: u64,
    pub bad: Vec<BadRow>,
    /// The state after the page; unchanged if nothing was written.
    pub state: ImportSummary,
    pub is_written: bool,
}

impl Transfer<'_> {
    /// The state of a known import, or of a new one. `again` forgets a finished import, so that its
    /// file can be imported a second time.
    pub async fn begin(
        self,
        tenant: TenantId,
        import: &str,
        again: bool,
    ) -> Result<ImportSummary, Error> {
        let caller = Caller::of_operator(self.vault, tenant, None)?;
        let place = place(&caller.keys, tenant, import);
        let found = stored(&self.vault.snapshot()?, &place)?;
        let Some((state, bytes)) = found else { return Ok(ImportSummary::default()) };
        if !(again && state.is_finished) {
            return Ok(summary(&state));
        }
        let forget = Change::new()
            .expect_value(Table::Meta, place.clone(), bytes)
            .delete(Table::Meta, place);
        self.vault.store.commit(forget).await?;
        Ok(ImportSummary::default())
    }

    /// True if the import is finished and had exactly these rows.
    pub fn was_of(
        self,
        tenant: TenantId,
        import: &str,
        rows: u64,
        digest: &str,
    ) -> Result<bool, Error> {
        let caller = Caller::of_operator(self.vault, tenant, None)?;
        let place = place(&caller.keys, tenant, import);
        let state = stored(&self.vault.snapshot()?, &place)?;
        let digest = keyed(&caller.keys, digest);
        Ok(state.is_some_and(|(it, _)| it.is_finished && it.rows == rows && it.digest == digest))
    }

    /// Checks a page and writes it, unless the mode is `Check` or a row is bad without `skips_bad`.
    pub async fn import(self, page: &ImportPage) -> Result<PageOutcome, Error> {
        let caller = Caller::of_operator(self.vault, page.tenant, page.application)?;
        let place = place(&caller.keys, page.tenant, &page.import);
        let _turn = self.vault.lanes.take(&place).await?;
        if page.mode == ImportMode::Check {
            let snapshot = self.vault.snapshot()?;
            let (change, outcome) = run_blocking(|| self.decide(&snapshot, page, &caller, &place))?;
            let ahead = i64::try_from(page.ahead).unwrap_or(i64::MAX);
            let counts = tables::counts(page.tenant, CountKind::Tokens);
            caller.within_token_limit(&snapshot, change.count(counts, ahead))?;
            return Ok(outcome);
        }
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let (change, outcome) =
                    run_blocking(|| self.decide(snapshot, page, &caller, &place))?;
                let change = caller.within_token_limit(snapshot, change)?;
                Ok((change, outcome))
            })
            .await
    }

    fn decide(
        self,
        snapshot: &Snapshot,
        page: &ImportPage,
        caller: &Caller,
        place: &[u8],
    ) -> Result<(Change, PageOutcome), Error> {
        let found = stored(snapshot, place)?;
        let (before, expectation) = match found {
            Some((state, bytes)) => {
                let expected = Change::new().expect_value(Table::Meta, place.to_vec(), bytes);
                (Some(state), expected)
            }
            None => (None, Change::new().expect_absent(Table::Meta, place.to_vec())),
        };
        if page.mode == ImportMode::Write
            && let Some(done) = require_next(page, before.as_ref(), &caller.keys)?
        {
            return Ok((Change::new(), PageOutcome { state: done, ..PageOutcome::default() }));
        }
        let now = self.vault.now();
        let tokens = Tokens { vault: self.vault, caller };
        let checked = check_rows(tokens, snapshot, &page.rows, page.parse, now)?;
        let mut applications = NewApplications::new(self, caller, snapshot, now);
        let (new, mut outcome) = sort(checked, &mut applications)?;
        outcome.state = before.as_ref().map(summary).unwrap_or_default();
        if page.mode == ImportMode::Check {
            let created = i64::try_from(outcome.created).unwrap_or(i64::MAX);
            let counts = tables::counts(page.tenant, CountKind::Tokens);
            return Ok((Change::new().count(counts, created), outcome));
        }
        if !outcome.bad.is_empty() && !page.skips_bad {
            return Ok((Change::new(), outcome));
        }
        let state = next_state(page, before.as_ref(), &outcome, &caller.keys, now);
        let mut change = self
            .create_all(caller, &new)?
            .and(expectation)
            .and(applications.into_change())
            .put(Table::Meta, place.to_vec(), encode_import(&state)?)
            .and(self.audit(page, caller, &new, now));
        if before.is_none() {
            change = change.and(make_room(snapshot, page.tenant)?);
        }
        outcome.state = summary(&state);
        outcome.is_written = true;
        Ok((change, outcome))
    }

    /// Seals the tokens on several threads.
    fn create_all(self, caller: &Caller, new: &[NewToken]) -> Result<Change, Error> {
        let rows = self.vault.token_rows();
        let sealed = in_parallel(new, |it| rows.create(&it.token, &caller.keys))?;
        let mut change = Change::new();
        for (sealed, it) in sealed.into_iter().zip(new) {
            change = change.and(it.expectations.clone()).and(sealed?);
        }
        Ok(change)
    }

    /// An entry for each token, and one for the import with its first page. No webhook events: the
    /// events of a whole file would push out others.
    fn audit(self, page: &ImportPage, caller: &Caller, new: &[NewToken], at: Timestamp) -> Change {
        let imported =
            |subject| AuditedAct { at, actor: Actor::Operator, act: Act::Import, subject };
        let begun = (page.first == 0).then(|| imported((&caller.tenant).into()));
        let tokens = new.iter().map(|it| imported((&it.token).into()));
        let acts: Vec<_> = begun.into_iter().chain(tokens).collect();
        self.vault.audit().acts(page.tenant, &acts)
    }
}

/// Requires that the page follows the finished rows. Returns the state if the page is finished
/// already: its answer was lost.
fn require_next(
    page: &ImportPage,
    state: Option<&ImportRecord>,
    keys: &TenantKeys,
) -> Result<Option<ImportSummary>, Error> {
    let changed = Error::Conflict(
        "The rows that were imported before are not those of this file: it has changed since.",
    );
    let count = u64::try_from(page.rows.len()).unwrap_or(u64::MAX);
    match state {
        None if page.first == 0 => Ok(None),
        Some(state) if state.rows == page.first && state.digest == keyed(keys, &page.before) => {
            Ok(None)
        }
        Some(state)
            if state.rows == page.first.saturating_add(count)
                && state.digest == keyed(keys, &page.after) =>
        {
            Ok(Some(summary(state)))
        }
        Some(_) | None => Err(changed),
    }
}

/// The tokens to create, and the outcome without the state.
fn sort(
    checked: Vec<CheckedRow>,
    applications: &mut NewApplications<'_>,
) -> Result<(Vec<NewToken>, PageOutcome), Error> {
    let mut outcome = PageOutcome::default();
    let mut new = Vec::with_capacity(checked.len());
    for (row, checked) in checked.into_iter().enumerate() {
        match checked {
            CheckedRow::Application(application) => match applications.add(&application) {
                Ok(()) => (),
                Err(Error::Invalid(mistakes)) => outcome.bad.push(BadRow { row, mistakes }),
                Err(Error::Conflict(why)) => {
                    outcome.bad.push(BadRow { row, mistakes: Mistakes::one("$", why) });
                }
                Err(error) => return Err(error),
            },
            CheckedRow::Bad(mistakes) => outcome.bad.push(BadRow { row, mistakes }),
            CheckedRow::Duplicate => outcome.duplicates = outcome.duplicates.saturating_add(1),
            CheckedRow::New(token) => {
                outcome.created = outcome.created.saturating_add(1);
                new.push(*token);
            }
            CheckedRow::Skipped => (),
            // The client that read the file knows its mistakes.
            CheckedRow::Unreadable => outcome.bad.push(BadRow { row, mistakes: Mistakes::new() }),
        }
    }
    (outcome.applications, outcome.keys) = (applications.created, applications.keys);
    Ok((new, outcome))
}

fn next_state(
    page: &ImportPage,
    before: Option<&ImportRecord>,
    outcome: &PageOutcome,
    keys: &TenantKeys,
    now: Timestamp,
) -> ImportRecord {
    let before = before.map(summary).unwrap_or_default();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    ImportRecord {
        rows: page.first.saturating_add(number(page.rows.len())),
        created: before.created.saturating_add(outcome.created),
        duplicates: before.duplicates.saturating_add(outcome.duplicates),
        bad: before.bad.saturating_add(number(outcome.bad.len())),
        digest: keyed(keys, &page.after),
        is_finished: page.is_last,
        changed_at: now,
    }
}

/// Deletes the oldest states, to keep at most [`IMPORTS_MAX`] with the new one.
fn make_room(snapshot: &Snapshot, tenant: TenantId) -> Result<Change, Error> {
    let mut known = Vec::new();
    for (key, bytes) in snapshot.first(&meta::imports_of(tenant), usize::MAX)? {
        known.push((decode_import(&bytes)?.changed_at, key));
    }
    known.sort_unstable();
    let beyond = known.len().saturating_add(1).saturating_sub(IMPORTS_MAX);
    let oldest = known.into_iter().take(beyond);
    Ok(oldest.fold(Change::new(), |change, (_, key)| change.delete(Table::Meta, key)))
}

fn stored(snapshot: &Snapshot, place: &[u8]) -> Result<Option<(ImportRecord, Vec<u8>)>, Error> {
    let Some(bytes) = snapshot.value(Table::Meta, place)? else { return Ok(None) };
    Ok(Some((decode_import(&bytes)?, bytes)))
}

fn place(keys: &TenantKeys, tenant: TenantId, import: &str) -> Vec<u8> {
    meta::import(tenant, &keyed(keys, import))
}

/// Rows hold card numbers, which an unkeyed digest would disclose by trial. The fingerprint key is
/// never rotated.
fn keyed(keys: &TenantKeys, digest: &str) -> String {
    keys.fingerprint().fingerprint("import", digest)
}

const fn summary(state: &ImportRecord) -> ImportSummary {
    let ImportRecord { rows, created, duplicates, bad, is_finished, .. } = *state;
    ImportSummary { rows, created, duplicates, bad, is_finished }
}
