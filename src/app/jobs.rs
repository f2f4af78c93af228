//! Long-running work: backups, exports and imports. The command line polls their progress while it
//! waits, and `status` lists them.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, MutexGuard};

use crate::lock::Lock;
use crate::metrics::Progress;

/// The jobs by name.
#[derive(Debug, Default)]
pub struct Jobs(Lock<BTreeMap<String, Arc<Progress>>>);

/// A job, listed until this is dropped.
#[derive(Debug)]
pub struct Job {
    jobs: Arc<Jobs>,
    name: String,
    progress: Arc<Progress>,
}

impl Jobs {
    /// A job of the same name continues, but is no longer listed.
    pub fn begin(self: &Arc<Self>, name: String) -> Job {
        let progress = Arc::new(Progress::default());
        self.listed().insert(name.clone(), Arc::clone(&progress));
        Job { jobs: Arc::clone(self), name, progress }
    }

    /// The done part and the total.
    pub fn progress(&self, name: &str) -> Option<(u64, u64)> {
        self.listed().get(name).map(|progress| progress.read())
    }

    fn listed(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Progress>>> {
        self.0.lock()
    }
}

impl Job {
    pub const fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl Deref for Job {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let mut listed = self.jobs.listed();
        if listed.get(&self.name).is_some_and(|it| Arc::ptr_eq(it, &self.progress)) {
            listed.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_listed_until_it_ends() {
        let jobs = Arc::new(Jobs::default());
        let first = jobs.begin(String::from("backup /a"));
        first.set_total(10);
        first.add(3);
        assert_eq!(jobs.progress("backup /a"), Some((3, 10)));
        let second = jobs.begin(String::from("backup /a"));
        drop(first);
        assert_eq!(jobs.progress("backup /a"), Some((0, 0)), "the second of the name is listed");
        drop(second);
        assert_eq!(jobs.progress("backup /a"), None);
    }
}
