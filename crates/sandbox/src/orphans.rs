//! Reaping orphaned children.
//!
//! The inits of sessions lose their parent when the process that launched them exits. On a host they then
//! belong to its first process; in a container that may be a program that never reaps, and each session would
//! leave a zombie. So the worker becomes a subreaper and reaps them.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::process::{WaitId, WaitIdOptions};

/// The interval between two sweeps. The starter of a program reaps it at once: a zombie that is still there
/// at the second sweep is an orphan.
const REAP_INTERVAL: Duration = Duration::from_secs(5);

/// Makes this process the parent of orphans among its descendants.
pub fn adopt() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Reaps a process that has ended. One that is still running, or is not our child, is left alone.
pub fn reap(process: BorrowedFd<'_>) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let _ = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::PidFd(process), options));
}

/// Reaps orphans in a dedicated thread, for the life of this process.
pub fn keep_reaping() {
    std::thread::spawn(|| {
        let mut seen = None;
        loop {
            std::thread::sleep(REAP_INTERVAL);
            seen = sweep(seen);
        }
    });
}

/// Reaps zombies, beginning with the one that the last sweep saw; returns the first new one.
fn sweep(seen: Option<libc::pid_t>) -> Option<libc::pid_t> {
    let mut found = ended_child()?;
    if Some(found) != seen {
        return Some(found);
    }
    loop {
        wait(libc::P_PID, libc::id_t::try_from(found).ok()?, 0);
        found = ended_child()?;
        // It is new: its starter may be about to reap it.
        if Some(found) != seen {
            return Some(found);
        }
    }
}

/// A child that has ended and has not been reaped.
fn ended_child() -> Option<libc::pid_t> {
    wait(libc::P_ALL, 0, libc::WNOWAIT)
}

fn wait(which: libc::idtype_t, id: libc::id_t, flags: libc::c_int) -> Option<libc::pid_t> {
    // SAFETY: all-zero bytes are a valid `siginfo_t`.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` outlives the call, which writes to it.
    let result = unsafe { libc::waitid(which, id, &raw mut info, libc::WEXITED | libc::WNOHANG | flags) };
    if result != 0 {
        return None;
    }
    // SAFETY: the call has filled in the fields of a child's end, or left them 0.
    let pid = unsafe { info.si_pid() };
    (pid > 0).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children belong to the whole process, and so to all tests: this one must be the only one that waits
    /// for any.
    #[test]
    fn a_child_that_nobody_asked_for_is_reaped_at_the_second_look() {
        // SAFETY: the child calls nothing but `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) }
        }
        let is_zombie = || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            stat.contains(") Z ")
        };
        while !is_zombie() {
            std::thread::yield_now();
        }
        assert!(is_zombie());
        // Other tests of this process may have children that end as well.
        let mut seen = None;
        while is_zombie() {
            let found = ended_child();
            if found == Some(child) {
                seen = sweep(seen);
            }
            std::thread::yield_now();
        }
        assert_eq!(seen.filter(|pid| *pid == child), None);
    }
}
