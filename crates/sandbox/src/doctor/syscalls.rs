//! System calls that Headwater needs and that old kernels or containers may lack.

use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::Check;
use super::child::in_child;
use super::facts::{Facts, Topic};
use super::refusal::{Finding, OrRefused, Refusal, last_errno, needed};

/// Tries each of the calls.
pub(super) fn check(facts: &Facts) -> Vec<Check> {
    vec![
        needed("openat2", Topic::Call, facts, in_child(openat2)),
        needed("pidfd", Topic::Call, facts, in_child(pidfd)),
        needed("close_range", Topic::Call, facts, in_child(close_range)),
    ]
}

/// Checks that a path below a folder opens and that a path out of it does not.
fn openat2() -> Finding {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder = rustix::fs::open("/proc", flags, Mode::empty()).or_refused("open /proc")?;
    let beneath = |path: &str| {
        rustix::fs::openat2(
            &folder,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
    };
    beneath("sys/kernel").or_refused("openat2")?;
    match beneath("sys/../..") {
        Err(Errno::XDEV) => Ok("paths in a workspace cannot lead out of it".to_owned()),
        other => Err(Refusal::unexpected(format_args!("openat2 lets a path leave its folder: {other:?}"))),
    }
}

/// Kills and reaps a process by its descriptor.
fn pidfd() -> Finding {
    // SAFETY: this process has one thread; the child does nothing but wait to be killed.
    let pid = match unsafe { libc::fork() } {
        -1 => return Err(last_errno()).or_refused("fork"),
        0 => loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        },
        pid => Pid::from_raw(pid).ok_or_else(|| Refusal::unexpected("fork returned no process"))?,
    };
    let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty()).and_then(|process| {
        rustix::process::pidfd_send_signal(&process, Signal::KILL)?;
        rustix::process::waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED)
    });
    if ended.is_err() {
        // It is our child and has not been reaped: its pid has not been reused.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    match ended.or_refused("end a process by its pidfd")? {
        Some(status) if status.killed() => Ok("processes are killed and reaped without races".to_owned()),
        other => Err(Refusal::unexpected(format_args!(
            "the exit of a process killed by its pidfd is reported as {other:?}"
        ))),
    }
}

/// Closes a range of descriptors and checks that they are closed.
fn close_range() -> Finding {
    let open = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).or_refused("open /")?;
    let high = rustix::io::fcntl_dupfd_cloexec(&open, 64).or_refused("duplicate a descriptor")?;
    let number = high.as_raw_fd();
    std::mem::forget(high); // close_range closes it
    let first = u32::try_from(number).unwrap_or(u32::MAX);
    // SAFETY: the only descriptor above 63 is the one above, which nothing owns any more.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } {
        0 => {}
        _ => return Err(last_errno()).or_refused("close_range"),
    }
    // SAFETY: takes numbers only.
    match unsafe { libc::fcntl(number, libc::F_GETFD) } {
        -1 => Ok("no descriptor of the worker reaches a program".to_owned()),
        _ => Err(Refusal::unexpected("a descriptor is open after close_range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_them() {
        for check in check(&Facts::of_this_host(64_000)) {
            assert!(check.ok, "{check:?}");
        }
    }
}
