//! Reads the operator's BIN file at start and on SIGHUP.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::bounds::{BIN_FILE_BYTES_MAX, BIN_LINE_BYTES_MAX};
use crate::cli::support::{Exit, Failure, Result, misconfigured};
use crate::domain::card::bin_table::{BinFile, BinTable};
use crate::files::open_regular;

/// Reads line by line, because the file may be larger than the resulting table.
pub fn read(path: &Path) -> Result<BinTable> {
    let failed = |error| misconfigured("read the BIN file", path, &error);
    let file = open_regular(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() > BIN_FILE_BYTES_MAX {
        return Err(Failure::new(Exit::Config, "the BIN file is too large")
            .file(path)
            .try_this("check that bin_file names the right file"));
    }
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut table = BinFile::default();
    let mut line = String::new();
    let line_max = u64::try_from(BIN_LINE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(2);
    while !table.is_done() {
        line.clear();
        // A longer line is cut here, and `BinFile::line` refuses it by its length.
        let read = reader.by_ref().take(line_max).read_line(&mut line).map_err(failed)?;
        if read == 0 {
            break;
        }
        table.line(line.trim_end_matches(['\n', '\r']));
    }
    table.finish().map_err(|mistakes| {
        let lines =
            mistakes.iter().map(|mistake| format!("line {}: {}", mistake.line, mistake.why));
        Failure::new(Exit::Config, "the BIN file is wrong")
            .file(path)
            .why(lines.collect::<Vec<_>>().join("\n"))
            .try_this("correct these lines; strongroom check reads the file again")
    })
}
