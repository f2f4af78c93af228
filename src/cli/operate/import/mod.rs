//! `strongroom import`: tokens from a file.
//!
//! A file is read twice: all rows are checked, then they are written, page by page. A stream is
//! read once, and each page is checked before it is written. The vault stores the progress of an
//! import.

mod bad_rows;
mod csv;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod pages;
mod shape;
mod source;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::command::{OnVault as _, command};
use crate::cli::support::{
    CommandRunner, Exit, Failure, Label, ProgressBar, Result, Unit, not_understood, say,
};
use crate::domain::counted::counted;
use crate::metrics::Progress;
use crate::operator::{Command, ImportRows};
use std::path::PathBuf;

use bad_rows::{Listing, SeenIds, mistakes};
use pages::{Page, Pages, name};
use shape::Shape;
use source::{Source, is_stream, length, warn_if_readable};

command! {
    /// Import tokens from a file, with or without a running server. All rows are checked before the
    /// first is written. The same command run again after an interruption goes on where it stopped.
    "import" ImportCommand on vault {
        /// the tenant
        tenant: String = option,
        /// csv, or jsonl: lines with bodies of POST /tokens, such as an export has
        format: String = option,
        /// put a column, or a member of a line, at a place of the token: COLUMN=PATH, such as
        /// pan=data.number; may be repeated. A column whose name is a path needs none
        map: Vec<String> = option,
        /// give every token a value: PATH=VALUE, such as containers=/pci/high/; may be repeated
        set: Vec<String> = option,
        /// the type of every token, such as card
        kind: Option<String> = option(long = "type"),
        /// leave out a column; may be repeated
        ignore: Vec<String> = option,
        /// the character between fields of a CSV file, or tab (default: a comma)
        delimiter: Option<String> = option,
        /// leave out rows whose content the tenant has already
        deduplicate: bool = switch,
        /// the application that the tokens count as created by
        application: Option<String> = option,
        /// import lines of applications too, with their rights and API keys
        applications: bool = switch,
        /// check all rows, report all bad ones, and write nothing
        dry_run: bool = switch,
        /// import the good rows, and list the bad ones in this new file
        skip_bad: Option<PathBuf> = option,
        /// import a file a second time that was imported completely
        again: bool = switch,
        /// the file, or - for standard input
        file: PathBuf = positional(arg_name = "FILE"),
    } => |it| import(&it)
}

fn import(command: &ImportCommand) -> Result<()> {
    let shape = Shape::parse(command)?;
    let runner = CommandRunner::of(command.vault()?);
    warn_if_readable(&command.file);
    let mut import = Import {
        command,
        shape: &shape,
        runner,
        name: String::new(),
        progress: Arc::default(),
        seen: SeenIds::default(),
        checked: Counts::default(),
    };
    let bar = ProgressBar::of(
        Label { work: "import", unit: Unit::Bytes },
        command.json(),
        &import.progress,
    );
    let done = import.carry_out();
    drop(bar);
    drop(import);
    report(command, &done?)
}

struct Import<'a> {
    command: &'a ImportCommand,
    shape: &'a Shape,
    runner: CommandRunner,
    name: String,
    progress: Arc<Progress>,
    seen: SeenIds,
    checked: Counts,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    rows: u64,
    created: u64,
    duplicates: u64,
    applications: u64,
    keys: u64,
    bad: u64,
    /// Rows that were imported before this run.
    before: u64,
    was_finished: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Check,
    Write,
}

impl<'a> Import<'a> {
    /// Checks all rows of a file, then writes them in a second pass. A stream cannot be read twice:
    /// each of its pages is checked and written before the next one is read.
    fn carry_out(&mut self) -> Result<Counts> {
        let (is_stream, is_dry) = (is_stream(&self.command.file), self.command.dry_run);
        let passes = if is_dry { 1 } else { 2 };
        self.progress.set_total(length(&self.command.file).saturating_mul(passes));
        let (mut pages, first, state) = self.begin()?;
        if state.was_finished && !is_dry {
            return self.require_same(pages, state);
        }
        let mut listing = self.listing(state)?;
        let mut page = self.go_on(&mut pages, first, state)?;
        let mut done = state;
        loop {
            self.check(&page, &mut listing)?;
            if is_stream {
                listing.sync()?;
            }
            if is_stream && !is_dry {
                self.refuse_bad()?;
                self.write(&page, &mut listing, &mut done)?;
                // From here on the vault counts the written tokens.
                self.checked.created = 0;
            }
            if page.is_last {
                break;
            }
            page = pages.next_page()?;
        }
        listing.sync()?;
        if is_dry {
            return Ok(self.checked);
        }
        if is_stream {
            return Ok(done);
        }
        self.refuse_bad()?;
        // The first pass is half of the work; the second one begins at the same row.
        self.progress.set_done(length(&self.command.file));
        let mut pages = self.open()?;
        let first = pages.next_page()?;
        let mut page = self.go_on(&mut pages, first, state)?;
        loop {
            self.write(&page, &mut listing, &mut done)?;
            if page.is_last {
                return Ok(done);
            }
            page = pages.next_page()?;
        }
    }

    fn refuse_bad(&self) -> Result<()> {
        let is_refused = self.checked.bad > 0 && self.command.skip_bad.is_none();
        if is_refused { Err(self.refuse()) } else { Ok(()) }
    }

    fn open(&self) -> Result<Pages<'a>> {
        Pages::new(Source::open(&self.command.file, self.shape, &self.progress)?)
    }

    /// The first page, and the progress that the vault has stored.
    fn begin(&mut self) -> Result<(Pages<'a>, Page, Counts)> {
        let mut pages = self.open()?;
        let first = pages.next_page()?;
        self.name = name(self.command, &first);
        let state = self.runner.carry_out(Command::ImportBegin {
            tenant: self.command.tenant.clone(),
            import: self.name.clone(),
            again: self.command.again && !self.command.dry_run,
        })?;
        let mut state = counts(&state)?;
        state.before = state.rows;
        // A dry run checks the whole file.
        Ok((pages, first, if self.command.dry_run { Counts::default() } else { state }))
    }

    /// Only the first rows identify an import: the file may have changed after them.
    fn require_same(&mut self, pages: Pages<'a>, state: Counts) -> Result<Counts> {
        let (rows, digest) = pages.whole()?;
        let answer = self.runner.carry_out(Command::ImportCompare {
            tenant: self.command.tenant.clone(),
            import: self.name.clone(),
            rows,
            digest,
        })?;
        if answer.get("same").and_then(Value::as_bool).ok_or_else(not_understood)? {
            return Ok(state);
        }
        let before = state.rows;
        Err(Failure::new(Exit::Data, "the file has changed since it was imported")
            .file(&self.command.file)
            .why(format!(
                "{} imported; the file has {rows}, not all of them these",
                counted(before, "row was", "rows were")
            ))
            .try_this("put the new rows into a file of their own, and import that")
            .try_this("or import all rows once more: --again")
            .line("note", "nothing was written"))
    }

    /// The page after the rows that are done.
    fn go_on(&self, pages: &mut Pages<'a>, first: Page, state: Counts) -> Result<Page> {
        if state.rows == 0 {
            return Ok(first);
        }
        // The first page is done completely or not at all, since its rows identify the import.
        if state.rows < u64::try_from(first.rows.len()).unwrap_or(u64::MAX) {
            return Err(not_understood());
        }
        if !pages.skip(state.rows)? {
            return Err(Failure::new(Exit::Data, "the file has changed since the import began")
                .file(&self.command.file)
                .why("it has fewer rows than were imported")
                .try_this("run the command with the file that the import began with"));
        }
        pages.next_page()
    }

    fn listing(&self, state: Counts) -> Result<Listing<'a>> {
        if self.command.dry_run {
            return Ok(Listing::Output { json: self.command.json() });
        }
        match &self.command.skip_bad {
            Some(path) => Listing::file(path, state.rows > 0),
            None => Ok(Listing::Few { shown: 0 }),
        }
    }

    fn check(&mut self, page: &Page, listing: &mut Listing<'_>) -> Result<()> {
        let answer = self.runner.carry_out(self.order(page, Step::Check))?;
        let mut found = mistakes(page, &answer)?;
        let bad = answer.get("bad").and_then(Value::as_array).map_or(0, Vec::len);
        let repeated = self.seen.repetitions(page);
        let checked = &mut self.checked;
        let bad = bad.saturating_add(repeated.len());
        found.extend(repeated);
        found.sort_by_key(|it| it.line);
        checked.bad = checked.bad.saturating_add(u64::try_from(bad).unwrap_or(u64::MAX));
        let rows = u64::try_from(page.rows.len()).unwrap_or(u64::MAX);
        checked.rows = checked.rows.saturating_add(rows);
        for (count, name) in [
            (&mut checked.created, "created"),
            (&mut checked.duplicates, "duplicates"),
            (&mut checked.applications, "applications"),
            (&mut checked.keys, "keys"),
        ] {
            *count = count.saturating_add(number(&answer, name)?);
        }
        listing.list(&found)
    }

    fn write(&mut self, page: &Page, listing: &mut Listing<'_>, done: &mut Counts) -> Result<()> {
        let answer = self.runner.carry_out(self.order(page, Step::Write))?;
        let state = counts(answer.get("state").ok_or_else(not_understood)?)?;
        let (applications, keys) = (number(&answer, "applications")?, number(&answer, "keys")?);
        let rows = u64::try_from(page.rows.len()).unwrap_or(u64::MAX);
        if state.rows != page.first.saturating_add(rows) {
            // The row was good when it was checked; its id has been taken since.
            listing.list(&mistakes(page, &answer)?)?;
            return Err(self.refuse());
        }
        *done = Counts {
            applications: done.applications.saturating_add(applications),
            keys: done.keys.saturating_add(keys),
            before: done.before,
            was_finished: false,
            ..state
        };
        Ok(())
    }

    fn order(&self, page: &Page, step: Step) -> Command {
        let body = |row: &source::Row| {
            row.body.as_ref().map_or_else(|_| String::new(), |body| body.expose().clone())
        };
        Command::Import(ImportRows {
            tenant: self.command.tenant.clone(),
            import: self.name.clone(),
            first: page.first,
            before: page.before.clone(),
            after: page.after.clone(),
            is_last: page.is_last,
            rows: page.rows.iter().map(body).collect(),
            check: step == Step::Check,
            ahead: self.checked.created,
            skip_bad: self.command.skip_bad.is_some(),
            applications: self.command.applications,
            application: self.command.application.clone(),
        })
    }

    fn refuse(&self) -> Failure {
        let bad = self.checked.bad;
        let failure = Failure::new(Exit::Data, "the file has bad rows").file(&self.command.file);
        let failure =
            if bad > 0 { failure.why(counted(bad, "bad row", "bad rows")) } else { failure };
        let failure = failure.try_this(
            "--dry-run lists all of them; --skip-bad FILE imports the others and lists these",
        );
        if is_stream(&self.command.file) {
            failure.line("note", "the rows before these are imported; run the same command again")
        } else {
            failure.line("note", "no row of this run was written")
        }
    }
}

fn counts(state: &Value) -> Result<Counts> {
    let is_finished = state.get("finished").and_then(Value::as_bool);
    Ok(Counts {
        rows: number(state, "rows")?,
        created: number(state, "created")?,
        duplicates: number(state, "duplicates")?,
        bad: number(state, "bad")?,
        was_finished: is_finished.ok_or_else(not_understood)?,
        ..Counts::default()
    })
}

fn number(answer: &Value, name: &str) -> Result<u64> {
    answer.get(name).and_then(Value::as_u64).ok_or_else(not_understood)
}

fn report(command: &ImportCommand, done: &Counts) -> Result<()> {
    let Counts { rows, created, duplicates, applications, keys, bad, before, was_finished } = *done;
    if command.json() {
        // A dry run has printed its bad rows before this line.
        say(&json!({
            "dry_run": command.dry_run,
            "rows": rows,
            "created": created,
            "duplicates": duplicates,
            "applications": applications,
            "keys": keys,
            "bad": bad,
            "rows_before": before,
            "finished": !command.dry_run,
        })
        .to_string());
    } else if was_finished {
        say("This file is imported already: nothing was done. --again imports it once more.");
    } else {
        let (headline, new) = if command.dry_run {
            ("All rows are checked; nothing was written.", "would create:")
        } else {
            ("The import is complete.", "created:")
        };
        say(&format!(
            "{headline}\n  rows:          {rows}\n  {new:<14} {created}\n  duplicates:    {duplicates}\n  \
             applications:  {applications}\n  keys:          {keys}\n  bad rows:      {bad}"
        ));
        if before > 0 {
            say(&format!("  went on after: {}", counted(before, "row", "rows")));
        }
    }
    if command.dry_run && bad > 0 {
        return Err(Failure::new(Exit::Data, "the file has bad rows")
            .file(&command.file)
            .try_this(
                "correct these rows; or --skip-bad FILE imports the others and lists these",
            ));
    }
    Ok(())
}
