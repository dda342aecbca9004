//! Signals in init: none interrupts it, and SIGCHLD is read from a descriptor.

use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;

/// The highest signal number of Linux.
const LAST_SIGNAL: i32 = 64;

/// Blocks every signal, resets each to its default (programs inherit that, so none starts with SIGPIPE
/// ignored), and opens a signalfd for SIGCHLD.
pub(super) fn take_over() -> Result<OwnedFd, Errno> {
    // SAFETY: sets and dispositions are plain data, filled before they are read; the pointers live through
    // the calls; no handler is installed.
    let fd = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        // By system call, because libc hides the two signals that it uses itself. They may be inherited as
        // ignored, too.
        let default = [0_u64; 4]; // the kernel's `sigaction`: handler, flags, restorer, mask
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
    // SAFETY: a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The error of the last failed libc call.
pub(super) fn last_errno() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// Sends a signal. Does nothing for an invalid signal number or a process that is gone.
pub(super) fn send(pid: i32, signal: i32) {
    // SAFETY: the call takes two numbers and touches no memory.
    unsafe { libc::kill(pid, signal) };
}

/// Sends a signal to a process group.
pub(super) fn send_group(group: i32, signal: i32) {
    // -1 would signal every process and 0 init's own group: a program's group is neither.
    if group > 1 {
        send(-group, signal);
    }
}

/// Whether this is a signal number that may be sent.
pub(super) fn is_valid(signal: i32) -> bool {
    (1..=LAST_SIGNAL).contains(&signal)
}
