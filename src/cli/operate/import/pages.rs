//! Pages of rows, with the digests that let an interrupted import continue.

use crate::bounds::{IMPORT_PAGE_BYTES, IMPORT_PAGE_ROWS_MAX};
use crate::cli::operate::import::ImportCommand;
use crate::cli::operate::import::source::{Row, Source};
use crate::cli::support::Result;
use crate::crypto::Sha256;
use crate::domain::hex;

#[derive(Debug)]
pub(super) struct Page {
    /// The number of rows of the file before this page, and their digest.
    pub(super) first: u64,
    pub(super) before: String,
    /// The digest of all rows up to the end of this page.
    pub(super) after: String,
    pub(super) rows: Vec<Row>,
    pub(super) is_last: bool,
}

#[derive(Debug)]
pub(super) struct Pages<'a> {
    source: Source<'a>,
    count: u64,
    digest: [u8; 32],
    next: Option<Row>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(mut source: Source<'a>) -> Result<Self> {
        let next = source.next_row()?;
        Ok(Self { source, count: 0, digest: [0; 32], next })
    }

    /// The next page. If the first page has no rows, it is also the last.
    pub(super) fn next_page(&mut self) -> Result<Page> {
        let (first, before) = (self.count, hex::encode(&self.digest));
        let (mut rows, mut bytes) = (Vec::new(), 0_usize);
        while let Some(row) = self.next.take() {
            self.note(&row);
            bytes = bytes.saturating_add(row.body.as_ref().map_or(0, |body| body.expose().len()));
            rows.push(row);
            self.next = self.source.next_row()?;
            if rows.len() >= IMPORT_PAGE_ROWS_MAX || bytes >= IMPORT_PAGE_BYTES {
                break;
            }
        }
        let (after, is_last) = (hex::encode(&self.digest), self.next.is_none());
        Ok(Page { first, before, after, rows, is_last })
    }

    /// Skips rows that are done. Returns false if the file has fewer.
    pub(super) fn skip(&mut self, rows: u64) -> Result<bool> {
        while self.count < rows {
            let Some(row) = self.next.take() else { return Ok(false) };
            self.note(&row);
            self.next = self.source.next_row()?;
        }
        Ok(true)
    }

    /// Reads the file to its end. Returns the number and the digest of all its rows.
    pub(super) fn whole(mut self) -> Result<(u64, String)> {
        self.skip(u64::MAX)?;
        Ok((self.count, hex::encode(&self.digest)))
    }

    fn note(&mut self, row: &Row) {
        self.count = self.count.saturating_add(1);
        let mut digest = Sha256::new();
        digest.update(&self.digest);
        if let Ok(body) = &row.body {
            digest.update(body.expose().as_bytes());
        }
        self.digest = digest.finish();
    }
}

/// The identity of an import: a digest of its first page and of the options that shape its rows.
pub(super) fn name(command: &ImportCommand, first: &Page) -> String {
    let mut digest = Sha256::new();
    let mut put = |text: &str| {
        digest.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(text.as_bytes());
    };
    for text in [&command.tenant, &command.format, &first.after] {
        put(text);
    }
    for text in command.map.iter().chain(&command.set).chain(&command.ignore) {
        put(text);
    }
    for text in [&command.kind, &command.delimiter, &command.application] {
        put(text.as_deref().unwrap_or_default());
    }
    for flag in [command.deduplicate, command.applications, command.skip_bad.is_some()] {
        put(if flag { "yes" } else { "no" });
    }
    hex::encode(&digest.finish())
}
