//! `strongroom audit follow`: entries as they are written, for a program that ships logs.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde_json::Value;

use crate::bounds::{AUDIT_FOLLOW_LOOK, AUDIT_POSITION_BYTES_MAX};
use crate::cli::command::{OnVault as _, command};
use crate::cli::operate::audit::reading_of;
use crate::cli::support::{
    Exit, Failure, Result, ask_server, cannot, complain, not_understood, read_text, write_new,
};
use crate::files::Directory;
use crate::operator::Command;

command! {
    /// Print entries of the chain as they are written, one JSON object per line, until it is ended.
    /// Needs a running server, and waits for one that restarts.
    "follow" AuditFollow on vault {
        /// only entries after this position, the last one that a line of an earlier run has
        after: Option<String> = option,
        /// file in which the position is kept: the next run goes on from there
        position_file: Option<PathBuf> = option,
        /// end when all entries of now are printed
        once: bool = switch,
    } => |it| follow(&it)
}

fn follow(it: &AuditFollow) -> Result<()> {
    let directory = it.vault()?.directory().to_path_buf();
    let kept = it.position_file.as_deref();
    let mut after = match (&it.after, kept) {
        (Some(_), Some(_)) => {
            return Err(Failure::new(
                Exit::Usage,
                "--after and --position-file exclude each other",
            )
            .try_this("give one of them"));
        }
        (None, Some(path)) => read_position(path)?,
        (after, None) => after.clone(),
    };
    end_cut_line().map_err(|error| cannot("write", Path::new("standard output"), &error))?;
    let (mut reading, mut is_waiting) = (None, false);
    loop {
        let command = Command::AuditFollow { after: after.clone(), reading };
        let page = match ask_server(&directory, &command) {
            Ok(Some(page)) => page,
            Ok(None) if it.once => {
                return Err(Failure::new(Exit::Unavailable, "no server is running")
                    .file(&directory)
                    .try_this("strongroom audit export"));
            }
            Err(failure) if it.once || failure.exit != Exit::Unavailable => return Err(failure),
            Ok(None) | Err(_) => {
                if !is_waiting {
                    complain("Waiting for the server.");
                }
                is_waiting = true;
                rest();
                continue;
            }
        };
        is_waiting = false;
        reading = reading_of(&page)?;
        let items = page.get("items").and_then(Value::as_array).ok_or_else(not_understood)?;
        print(items).map_err(|error| cannot("write", Path::new("standard output"), &error))?;
        let position = page.get("position").and_then(Value::as_str).map(String::from);
        if let (Some(path), Some(position)) = (kept, &position)
            && after.as_deref() != Some(position)
        {
            let written = keep_position(path, position);
            written.map_err(|error| cannot("keep the position", path, &error))?;
        }
        after = position;
        if page.get("is_end") != Some(&Value::Bool(true)) {
            continue;
        }
        if it.once {
            return Ok(());
        }
        rest();
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing announces a new entry or a new server")]
fn rest() {
    std::thread::sleep(AUDIT_FOLLOW_LOOK);
}

/// A full disk or a loss of power may have cut the last line of an earlier run. The next entry must
/// not become a part of it.
fn end_cut_line() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let file = rustix::fs::fstat(&out)?;
    if FileType::from_raw_mode(file.st_mode) == FileType::RegularFile && file.st_size > 0 {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn print(items: &[Value]) -> io::Result<()> {
    let mut lines = String::new();
    for item in items {
        lines.push_str(&item.to_string());
        lines.push('\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(lines.as_bytes())?;
    out.flush()?;
    // Lines in a file are durable before the position behind them is.
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&out)?.st_mode);
    if kind == FileType::RegularFile && !items.is_empty() {
        rustix::fs::fdatasync(&out)?;
    }
    Ok(())
}

/// `None` if there is no file yet.
fn read_position(path: &Path) -> Result<Option<String>> {
    if !path.try_exists().map_err(|error| cannot("read the position", path, &error))? {
        return Ok(None);
    }
    let text = read_text("the position", path, AUDIT_POSITION_BYTES_MAX)?;
    Ok(Some(String::from(text.trim())))
}

/// Replaces the file in one step, so that a crash leaves the old position or the new one.
fn keep_position(path: &Path, position: &str) -> io::Result<()> {
    let (directory, name) = Directory::of(path)?;
    let mut unfinished = name.clone();
    unfinished.push(".new");
    directory.hold(&unfinished)?.map_or(Ok(()), |left| left.remove())?;
    let new = write_new(&directory, &unfinished, format!("{position}\n").as_bytes(), 0o600)?;
    match directory.hold(&name)? {
        Some(old) => new.replace(&old),
        None => new.rename(name),
    }
}
