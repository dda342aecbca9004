//! Signals in init: none interrupts it, SIGCHLD is read from a descriptor.

use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;

/// The kernel knows no higher one.
const LAST_SIGNAL: i32 = 64;

/// Blocks every signal, sets each to its default (programs inherit that, so that none begins with SIGPIPE ignored),
/// and opens the descriptor that tells of SIGCHLD.
pub(super) fn take_over() -> Result<OwnedFd, Errno> {
    // SAFETY: sets and dispositions are plain data, filled before they are read; the pointers live through the
    // calls; no handler is installed.
    let fd = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        // Past libc, which hides the two signals that it uses itself: they may come ignored from outside, too.
        let default = [0_u64; 4]; // the kernel's own form: handler, flags, restorer, mask
        let (unasked, mask_bytes) = (std::ptr::null_mut::<u64>(), 8_usize);
        for signal in 1..=LAST_SIGNAL {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), unasked, mask_bytes);
        }
        let mut child: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut child);
        libc::sigaddset(&raw mut child, libc::SIGCHLD);
        libc::signalfd(-1, &raw const child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if fd < 0 {
        return Err(last_errno());
    }
    // SAFETY: a descriptor that was just made and that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What the last failed call of libc said.
pub(super) fn last_errno() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// Sends a signal; a number that is no signal does nothing, and so does a process that is gone.
pub(super) fn send(pid: i32, signal: i32) {
    // SAFETY: the call takes two numbers and touches no memory.
    unsafe { libc::kill(pid, signal) };
}

/// Sends a signal to a process group.
pub(super) fn send_group(group: i32, signal: i32) {
    // -1 would be everybody and 0 init's own group: a group of a program is neither.
    if group > 1 {
        send(-group, signal);
    }
}

/// Whether this is the number of a signal that may be sent.
pub(super) fn is_valid(signal: i32) -> bool {
    (1..=LAST_SIGNAL).contains(&signal)
}
