//! The rows of a file, in constant memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::csv::CsvReader;
use super::shape::{ColumnTarget, Format, Shape};
use crate::bounds::IMPORT_ROW_BYTES_MAX;
use crate::cli::support::{Exit, Failure, Result, cannot, complain, path_text};
use crate::metrics::Progress;
use crate::secret::Secret;

/// A row: its JSON, or the path and the reason of a mistake.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) body: Result<Secret<String>, (String, &'static str)>,
}

pub(super) struct Source<'a> {
    shape: &'a Shape,
    rows: Rows,
    path: &'a Path,
}

type Input = BufReader<Counted<File>>;

enum Rows {
    Csv(CsvReader<Input>, Vec<ColumnTarget>),
    Lines(Input, u64),
}

struct Counted<R> {
    from: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.progress.add(read);
        Ok(read)
    }
}

/// True if the file can be read only once.
pub(super) fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| !it.is_file())
}

/// Warns if other users can read a file that holds data in plain.
pub(super) fn warn_if_readable(path: &Path) {
    let mode = std::fs::metadata(path).map(|it| it.mode() & 0o7777);
    if let Ok(mode) = mode
        && !is_stream(path)
        && mode & 0o077 != 0
    {
        complain(&format!(
            "strongroom: warning: other users can read {}: its mode is {mode:04o}. Delete it when \
             the import is complete.",
            path_text(path)
        ));
    }
}

/// The length of a file; 0 if it is not known.
pub(super) fn length(path: &Path) -> u64 {
    if is_stream(path) { 0 } else { std::fs::metadata(path).map_or(0, |it| it.len()) }
}

impl<'a> Source<'a> {
    pub(super) fn open(path: &'a Path, shape: &'a Shape, progress: &Arc<Progress>) -> Result<Self> {
        let failed = |error: io::Error| cannot("read the file", path, &error);
        let from = File::open(path).map_err(failed)?;
        let progress = Arc::clone(progress);
        let mut input = BufReader::with_capacity(128 * 1024, Counted { from, progress });
        let rows = match shape.format {
            Format::Csv => {
                let mut reader = CsvReader::new(input, shape.delimiter);
                let first = reader.next_record().map_err(failed)?;
                let Some(Ok(names)) = first.map(|it| it.fields) else {
                    let what = "the first line of the file does not name its columns";
                    return Err(Failure::new(Exit::Data, what)
                        .file(path)
                        .try_this("write the names of the columns into the first line"));
                };
                let places = shape.header(&names).map_err(|failure| failure.file(path))?;
                Rows::Csv(reader, places)
            }
            Format::Lines => {
                if input.fill_buf().map_err(failed)?.starts_with(b"\xef\xbb\xbf") {
                    input.consume(3);
                }
                Rows::Lines(input, 0)
            }
        };
        Ok(Self { shape, rows, path })
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row>> {
        let failed = |error: io::Error| cannot("read the file", self.path, &error);
        let (line, body) = match &mut self.rows {
            Rows::Csv(reader, places) => {
                let Some(record) = reader.next_record().map_err(failed)? else { return Ok(None) };
                let fields = record.fields.map_err(|why| (String::from("$"), why));
                (record.line, fields.and_then(|fields| self.shape.of_record(places, fields)))
            }
            Rows::Lines(input, lines) => {
                let Some(text) = next_line(input, lines).map_err(failed)? else { return Ok(None) };
                (*lines, text.and_then(|text| parse_line(self.shape, text.expose())))
            }
        };
        let body = body.and_then(|body| {
            let text = Secret::new(Secret::new(body).expose().to_string());
            if text.expose().len() > IMPORT_ROW_BYTES_MAX { Err(too_long()) } else { Ok(text) }
        });
        Ok(Some(Row { line, body }))
    }
}

type Line = Result<Secret<Vec<u8>>, (String, &'static str)>;

fn too_long() -> (String, &'static str) {
    (String::from("$"), "The row is too long.")
}

/// The next line that is not empty, and its number.
fn next_line(input: &mut Input, lines: &mut u64) -> io::Result<Option<Line>> {
    loop {
        let most = u64::try_from(IMPORT_ROW_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let mut line = Secret::new(Vec::new());
        let read = input.by_ref().take(most).read_until(b'\n', line.expose_mut())?;
        if read == 0 {
            return Ok(None);
        }
        *lines = lines.saturating_add(1);
        if read > IMPORT_ROW_BYTES_MAX && line.expose().last() != Some(&b'\n') {
            skip_line(input)?;
            return Ok(Some(Err(too_long())));
        }
        if !line.expose().trim_ascii().is_empty() {
            return Ok(Some(Ok(line)));
        }
    }
}

/// Skips the rest of a line, in constant memory.
fn skip_line(input: &mut Input) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (used, is_done) = match end {
            Some(at) => (at.saturating_add(1), true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if is_done {
            return Ok(());
        }
    }
}

/// Drops the parser's own message, which may quote the line.
fn parse_line(shape: &Shape, line: &[u8]) -> Result<Value, (String, &'static str)> {
    let not_json = |_| (String::from("$"), "The line is not JSON in UTF-8.");
    shape.of_line(serde_json::from_slice(line).map_err(not_json)?)
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}
