//! The packages of programs. The start shows if the kernel can confine workers.

use crate::cli::check::findings::{Findings, SettingPath};
use crate::code::{LOCK_FILE, Packages};
use crate::config::Config;
use crate::domain::counted::counted;

/// Compares every file of the packages with its hash.
pub(super) fn check(findings: &mut Findings, config: &Config) {
    let packages = config.code.packages.as_deref().filter(|path| path.is_absolute());
    let Some(path) = packages else { return };
    let place = SettingPath { setting: "code.packages", path };
    match Packages::load(path) {
        Ok(packages) => {
            findings.ok(
                place,
                format!(
                    "as {LOCK_FILE} has their hashes: {}",
                    counted(packages.file_count(), "file", "files")
                ),
            );
        }
        Err(problem) => {
            let advice = format!("correct the files, or make {LOCK_FILE} again if you trust them");
            findings.wrong(place, problem.to_string(), &advice);
        }
    }
}
