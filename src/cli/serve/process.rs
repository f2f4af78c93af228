//! CPU, memory and files of this process, from `/proc/self`. A figure that cannot be read, as in a
//! container without `/proc`, has no sample.

use std::fs;
use std::time::Duration;

use crate::metrics::Page;

/// The kernel reports times in hundredths of a second on every platform that we build for.
const TICKS_PER_SECOND: u64 = 100;

/// One sample. Each figure comes from one small file, except for the open files, which are counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessUse {
    cpu: Option<Duration>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
    open_files: Option<u64>,
    open_files_max: Option<u64>,
}

/// Adds metrics under the names of the Prometheus client libraries, and status lines.
pub fn measure(page: &mut Page) {
    let used = ProcessUse::read();
    let mut family = page.family(
        "process_cpu_seconds_total",
        "Processor time of this process.",
        crate::metrics::FamilyKind::Counter,
    );
    if let Some(cpu) = used.cpu {
        family.sample(&[], cpu).status("process", "cpu_s");
    }
    page.known_gauge(
        "process_resident_memory_bytes",
        "Memory that this process occupies.",
        used.resident_bytes,
    )
    .status("process", "memory_bytes");
    page.known_gauge(
        "process_virtual_memory_bytes",
        "Address space of this process.",
        used.virtual_bytes,
    );
    page.known_gauge("process_threads", "Threads of this process.", used.threads)
        .status("process", "threads");
    page.known_gauge(
        "process_open_fds",
        "Open files and sockets of this process.",
        used.open_files,
    )
    .status("process", "open_files");
    page.known_gauge(
        "process_max_fds",
        "Files and sockets that this process may open.",
        used.open_files_max,
    )
    .status("process", "open_files_max");
}

impl ProcessUse {
    fn read() -> Self {
        let text = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).ok();
        let status = text("status").unwrap_or_default();
        let kib = |name: &str| field(&status, name).and_then(|it| it.checked_mul(1_024));
        // The directory that is being read is an open file too.
        let files = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        let files = files.and_then(|count| u64::try_from(count.saturating_sub(1)).ok());
        Self {
            cpu: text("stat").and_then(|stat| cpu(&stat)),
            resident_bytes: kib("VmRSS:"),
            virtual_bytes: kib("VmSize:"),
            threads: field(&status, "Threads:"),
            open_files: files,
            open_files_max: text("limits").and_then(|limits| open_files_max(&limits)),
        }
    }
}

/// The first number of a line of `status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The fields 14 and 15 of `stat`: ticks in this program and in the kernel. The second field is the
/// name of the program in parentheses, which may hold spaces.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    let millis = user.checked_add(system)?.checked_mul(1_000)?.div_euclid(TICKS_PER_SECOND);
    Some(Duration::from_millis(millis))
}

/// The soft limit; `None` if files are not limited.
fn open_files_max(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read_and_nonsense_gives_nothing() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 250 150 0 0 20 0 4 0 55 1 2";
        assert_eq!(cpu(stat), Some(Duration::from_secs(4)));
        let status = "Name:\tx\nVmSize:\t  2048 kB\nVmRSS:\t   1024 kB\nThreads:\t5\n";
        assert_eq!((field(status, "VmRSS:"), field(status, "Threads:")), (Some(1_024), Some(5)));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\n";
        assert_eq!(open_files_max(limits), Some(1_024));
        assert_eq!(open_files_max("Max open files  unlimited  unlimited  files"), None);
        for nonsense in ["", "7", "7 (x) S", "7 (x) S 1 2 3 4 5 6 7 8 9 10 x y", "VmRSS:", "\n)"] {
            assert_eq!(
                (cpu(nonsense), field(nonsense, "VmRSS:"), open_files_max(nonsense)),
                (None, None, None),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn this_process_uses_something_of_everything() {
        let used = ProcessUse::read();
        assert!(used.cpu.is_some(), "{used:?}");
        for figure in [
            used.resident_bytes,
            used.virtual_bytes,
            used.threads,
            used.open_files,
            used.open_files_max,
        ] {
            assert!(figure.is_some_and(|figure| figure > 0), "{used:?}");
        }
    }
}
