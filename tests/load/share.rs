//! A part of a processor for one process, so that several processes on one machine stand for several hosts.

use crate::Outcome;
use std::fs;
use std::path::{Path, PathBuf};

const GROUPS: &str = "/sys/fs/cgroup";
/// A short period: a process that has used its part waits for the next one, also where it holds a lock of the database.
const PERIOD_US: u32 = 5_000;

/// A control group with one process. It is removed after the process has ended.
pub(crate) struct ProcessorShare {
    directory: PathBuf,
}

impl ProcessorShare {
    /// Control groups can be made by root only, and not in every container.
    pub(crate) fn is_available() -> bool {
        Self::new(std::process::id()).is_ok()
    }

    /// Limits a process to these percent of a processor.
    pub(crate) fn limit(pid: u32, percent: u32) -> Outcome<Self> {
        let share = Self::new(pid)?;
        let quota = PERIOD_US / 100 * percent;
        if is_unified() {
            share.set("cpu.max", &format!("{quota} {PERIOD_US}"))?;
        } else {
            share.set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            share.set("cpu.cfs_quota_us", &quota.to_string())?;
        }
        share.set("cgroup.procs", &pid.to_string())?;
        Ok(share)
    }

    fn new(pid: u32) -> Outcome<Self> {
        let directory = Path::new(GROUPS)
            .join(if is_unified() { "" } else { "cpu" })
            .join(format!("strongroom-load-{pid}"));
        fs::create_dir(&directory)?;
        Ok(Self { directory })
    }

    fn set(&self, file: &str, value: &str) -> Outcome<()> {
        let path = self.directory.join(file);
        fs::write(&path, value)
            .map_err(|why| format!("cannot write {}: {why}", path.display()).into())
    }
}

impl Drop for ProcessorShare {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.directory));
    }
}

/// The second version of control groups has one tree for all resources.
fn is_unified() -> bool {
    Path::new(GROUPS).join("cgroup.controllers").exists()
}
