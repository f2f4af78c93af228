//! The rights of a worker, given up before it knows a call.
//!
//! The engine is a C library that runs hostile programs, so a worker is treated as if its program
//! had taken it over. It then can compute, use its memory, and read and write its one socket. It
//! opens no file, has no network, starts and signals no process, and has no environment.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};
use nix::libc;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::bounds::{CODE_TIMEOUT_MAX, CODE_WORKER_ADDRESS_BYTES, CODE_WORKER_EXTRA_BYTES};

/// The kernel ends workers before the vault when memory is scarce.
const OOM_SCORE: &str = "1000";

/// Gives up the rights that neither a template nor its copies need. Returns whether the kernel has
/// Landlock. Any failure is final.
pub fn enter_template(vault: i32) -> io::Result<bool> {
    // This is for the good of others, and a system call filter around the vault may refuse it. It
    // must be done first: a process that is not dumpable, or confined by Landlock, cannot do it.
    drop(std::fs::write("/proc/self/oom_score_adj", OOM_SCORE));
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    close_others()?;
    drop_capabilities()?;
    end_with(Pid::from_raw(vault))?;
    // Before the limits of a copy: Landlock needs a second descriptor for a moment.
    Ok(deny_files())
}

/// Gives up all other rights, in a copy. Returns whether the kernel has filters of system calls: the
/// vault decides whether it uses a worker without them, or without Landlock. Any other failure is
/// final.
pub fn enter(template: Pid, memory_mib: u64, filter: Option<&BpfProgram>) -> io::Result<bool> {
    limit_resources(memory_mib)?;
    end_with(Some(template))?;
    Ok(filter.is_some_and(|filter| seccompiler::apply_filter(filter).is_ok()))
}

/// Lets the kernel end this process with its parent.
fn end_with(parent: Option<Pid>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the kernel knew that this process ends with it.
    if parent.is_some() && getppid() == parent {
        Ok(())
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Closes every descriptor but the standard input.
fn close_others() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        open.push(number.ok_or(io::ErrorKind::InvalidData)?);
    }
    for number in open.into_iter().filter(|number| *number > 0) {
        // One of them was the directory's own and is closed already.
        nix::unistd::close(number).ok();
    }
    Ok(())
}

/// A vault that root started by hand has some; the service has none.
fn drop_capabilities() -> io::Result<()> {
    let held = capabilities(None)?;
    let none = CapabilitySet::empty();
    if held.effective.is_empty() && held.permitted.is_empty() && held.inheritable.is_empty() {
        return Ok(());
    }
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, none)?)
}

fn limit_resources(memory_mib: u64) -> io::Result<()> {
    let memory = memory_mib.saturating_mul(1024 * 1024).saturating_add(CODE_WORKER_EXTRA_BYTES);
    let limits = [
        // The engine refuses sooner. This bounds what it allocates past its own count.
        (Resource::Data, memory),
        // The limit of data does not count memory that is only read; the kernel's tables for it grow.
        (Resource::As, memory.saturating_add(CODE_WORKER_ADDRESS_BYTES)),
        // The vault ends a call at its deadline. This ends one that the vault forgot.
        (Resource::Cpu, CODE_TIMEOUT_MAX.as_secs()),
        // The number of descriptors that `poll` takes, too.
        (Resource::Nofile, 1),
        (Resource::Nproc, 0),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        (Resource::Sigpending, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Every right that this kernel's Landlock knows is taken, and no rule gives any back. False if the
/// kernel has no Landlock.
fn deny_files() -> bool {
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V7))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V7)))
        .and_then(|rules| rules.scope(Scope::from_all(ABI::V7)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    restricted.is_ok_and(|status| {
        status.no_new_privs && !matches!(status.ruleset, RulesetStatus::NotEnforced)
    })
}

/// Lets only the system calls of [`allowed_calls`] pass.
pub fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<i64, Vec<SeccompRule>> =
        allowed_calls().map(|calls| calls.into_iter().collect())?;
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    // An error instead of a signal: the C library tries calls that it can do without, such as
    // reading the time zone.
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()
}

type AllowedCalls = Vec<(i64, Vec<SeccompRule>)>;

/// The system calls of a worker. Calls without rules are allowed with any arguments.
fn allowed_calls() -> Result<AllowedCalls, seccompiler::BackendError> {
    let argument = |index, operation, value| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operation, value)
    };
    let on_the_socket = || Ok(vec![SeccompRule::new(vec![argument(0, SeccompCmpOp::Eq, 0)?])?]);
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    let not_executable =
        || Ok(vec![SeccompRule::new(vec![argument(2, SeccompCmpOp::MaskedEq(executable), 0)?])?]);
    // The clocks of processes, which show what others do, are negative numbers.
    let clocks = u64::from(libc::CLOCK_TAI.unsigned_abs());
    let own_clock = || Ok(vec![SeccompRule::new(vec![argument(0, SeccompCmpOp::Le, clocks)?])?]);
    // Memory that is shared, or that grows as a stack does, is not counted by the limit of data.
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let optional = (libc::MAP_NORESERVE | libc::MAP_STACK).unsigned_abs();
    let memory = SeccompRule::new(vec![
        argument(2, SeccompCmpOp::MaskedEq(executable), 0)?,
        argument(
            3,
            SeccompCmpOp::MaskedEq(u64::from(!optional)),
            u64::from(private.unsigned_abs()),
        )?,
    ])?;
    let mut calls = vec![
        (libc::SYS_read, on_the_socket()?),
        (libc::SYS_write, on_the_socket()?),
        (libc::SYS_ppoll, Vec::new()),
        (libc::SYS_mmap, vec![memory]),
        (libc::SYS_mprotect, not_executable()?),
        (libc::SYS_munmap, Vec::new()),
        (libc::SYS_mremap, Vec::new()),
        (libc::SYS_madvise, Vec::new()),
        (libc::SYS_brk, Vec::new()),
        (libc::SYS_getrandom, Vec::new()),
        (libc::SYS_clock_gettime, own_clock()?),
        (libc::SYS_sched_yield, Vec::new()),
        (libc::SYS_restart_syscall, Vec::new()),
        (libc::SYS_rt_sigreturn, Vec::new()),
        (libc::SYS_sigaltstack, Vec::new()),
        (libc::SYS_exit, Vec::new()),
        (libc::SYS_exit_group, Vec::new()),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_poll, Vec::new()));
    calls.sort_by_key(|(number, _)| *number);
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Read each new one with an attacker's eyes: what does it reach outside of this process?
    #[test]
    fn a_worker_may_make_these_system_calls_and_no_others() {
        let names = [
            ("read of descriptor 0", libc::SYS_read, 1),
            ("write to descriptor 0", libc::SYS_write, 1),
            ("poll", libc::SYS_poll, 0),
            ("mmap of private anonymous memory that is not executable", libc::SYS_mmap, 1),
            ("mprotect without execution", libc::SYS_mprotect, 1),
            ("munmap", libc::SYS_munmap, 0),
            ("brk", libc::SYS_brk, 0),
            ("rt_sigreturn", libc::SYS_rt_sigreturn, 0),
            ("sched_yield", libc::SYS_sched_yield, 0),
            ("mremap", libc::SYS_mremap, 0),
            ("madvise", libc::SYS_madvise, 0),
            ("exit", libc::SYS_exit, 0),
            ("sigaltstack", libc::SYS_sigaltstack, 0),
            ("restart_syscall", libc::SYS_restart_syscall, 0),
            ("clock_gettime", libc::SYS_clock_gettime, 1),
            ("exit_group", libc::SYS_exit_group, 0),
            ("ppoll", libc::SYS_ppoll, 0),
            ("getrandom", libc::SYS_getrandom, 0),
        ];
        let calls = allowed_calls().unwrap();
        let found: Vec<_> = calls.iter().map(|(number, rules)| (*number, rules.len())).collect();
        let expected: Vec<_> = names.iter().map(|(_, number, rules)| (*number, *rules)).collect();
        assert_eq!(found, expected);
        assert!(filter().is_ok());
    }

    /// Runs the filter as the kernel does: on the number, the architecture and the arguments.
    fn is_allowed(filter: &BpfProgram, number: i64, arguments: [u64; 6]) -> bool {
        let arch = if cfg!(target_arch = "aarch64") { 0xc000_00b7_u32 } else { 0xc000_003e };
        let mut data = Vec::new();
        data.extend(u32::try_from(number).unwrap().to_le_bytes());
        data.extend(arch.to_le_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut next, mut held) = (0, 0_u32);
        loop {
            let it = &filter[next];
            let jump = |holds: bool| usize::from(if holds { it.jt } else { it.jf });
            next += 1;
            match it.code {
                0x20 => {
                    let place = usize::try_from(it.k).unwrap();
                    held = u32::from_le_bytes(data[place..place + 4].try_into().unwrap());
                }
                0x54 => held &= it.k,
                0x05 => next += usize::try_from(it.k).unwrap(),
                0x15 => next += jump(held == it.k),
                0x25 => next += jump(held > it.k),
                0x35 => next += jump(held >= it.k),
                0x06 => return it.k == libc::SECCOMP_RET_ALLOW,
                code => panic!("instruction {code:#x}"),
            }
        }
    }

    #[test]
    fn arguments_of_calls_are_filtered() {
        let filter = filter().unwrap();
        let memory = |protection: i32, flags: i32| {
            let (protection, flags) = (protection.unsigned_abs(), flags.unsigned_abs());
            [0, 4_096, u64::from(protection), u64::from(flags), u64::MAX, 0]
        };
        let (read_write, private) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // The kernel's form of the clock of a process.
        let clock_of = |process: u32| [u64::from(!process << 3 | 2), 0, 0, 0, 0, 0];
        for (what, number, arguments, allowed) in [
            ("read of the socket", libc::SYS_read, [0; 6], true),
            ("read of another", libc::SYS_read, [1, 0, 0, 0, 0, 0], false),
            ("private memory", libc::SYS_mmap, memory(read_write, private), true),
            (
                "memory of mimalloc",
                libc::SYS_mmap,
                memory(libc::PROT_NONE, private | libc::MAP_NORESERVE),
                true,
            ),
            ("executable memory", libc::SYS_mmap, memory(libc::PROT_EXEC, private), false),
            ("a file", libc::SYS_mmap, memory(read_write, libc::MAP_PRIVATE), false),
            (
                "shared memory",
                libc::SYS_mmap,
                memory(read_write, libc::MAP_SHARED | libc::MAP_ANONYMOUS),
                false,
            ),
            (
                "a stack that grows",
                libc::SYS_mmap,
                memory(read_write, private | libc::MAP_GROWSDOWN),
                false,
            ),
            ("large pages", libc::SYS_mmap, memory(read_write, private | libc::MAP_HUGETLB), false),
            ("the time", libc::SYS_clock_gettime, [1, 0, 0, 0, 0, 0], true),
            ("the last clock", libc::SYS_clock_gettime, [11, 0, 0, 0, 0, 0], true),
            ("the processor time of another", libc::SYS_clock_gettime, clock_of(1_000), false),
            ("execution", libc::SYS_mprotect, memory(libc::PROT_EXEC, 0), false),
            ("a copy of the process", libc::SYS_clone, [0; 6], false),
            ("a message", libc::SYS_sendmsg, [0; 6], false),
            // A worker has one thread, and this call has been a way into kernels.
            ("a futex", libc::SYS_futex, [0; 6], false),
        ] {
            assert_eq!(is_allowed(&filter, number, arguments), allowed, "{what}");
        }
    }
}
