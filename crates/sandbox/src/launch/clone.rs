//! `clone` for [`spawn`](super::spawn): a child that shares the caller's memory, while the calling thread
//! sleeps until the child has called exec or exited.
//!
//! A child can be created in a version 2 cgroup (`CLONE_INTO_CGROUP`). Moving it there later costs
//! milliseconds on an idle machine: the kernel waits until no processor can be in the middle of a fork. The C
//! library has no function for that, so the system call is made here.

use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

/// Enough for the few calls of the child.
const STACK_BYTES: usize = 64 * 1024;

/// Shared memory, the caller sleeps, and a pidfd of the child.
const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;

/// The child's function. It must not return.
pub(super) type Entry = extern "C" fn(*mut c_void) -> c_int;

/// Starts a child in the caller's cgroup; returns its pidfd.
///
/// # Safety
/// `entry` must not do anything to memory that other threads of the caller could notice: no lock, no
/// allocation, no panic. It must end by exec or `_exit`.
pub(super) unsafe fn clone(entry: Entry, argument: *mut c_void) -> Result<OwnedFd, Errno> {
    let mut stack = Stack::new();
    let mut pidfd: c_int = -1;
    let blocked = BlockedSignals::all();
    // SAFETY: the stack is aligned, large enough and used only by the child; with CLONE_VFORK it and
    // `argument` outlive the child's use of them, since this call returns only after exec or exit. The rest
    // is the caller's promise.
    let pid =
        unsafe { libc::clone(entry, stack.top().cast(), FLAGS | libc::SIGCHLD, argument, &raw mut pidfd) };
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    drop(blocked);
    if pid < 0 {
        return Err(errno);
    }
    // SAFETY: the kernel has just stored a new descriptor there, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// The same for a child that is created in the version 2 cgroup with this folder. An error means that there
/// is no child: old kernels, container filters and architectures other than x86-64 do not support it.
///
/// # Safety
/// As for [`clone`].
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn clone_into(
    cgroup: BorrowedFd<'_>,
    entry: Entry,
    argument: *mut c_void,
) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsRawFd;

    /// Wider than the type in the C library's header.
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

    let mut stack = Stack::new();
    let mut pidfd: c_int = -1;
    // SAFETY: only numbers, for which 0 means that nothing is requested.
    let mut wanted: libc::clone_args = unsafe { std::mem::zeroed() };
    wanted.flags = u64::from(FLAGS.cast_unsigned()) | CLONE_INTO_CGROUP;
    wanted.pidfd = (&raw mut pidfd).expose_provenance() as u64;
    wanted.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    wanted.stack = stack.bottom().expose_provenance() as u64;
    wanted.stack_size = STACK_BYTES as u64;
    wanted.cgroup = u64::from(cgroup.as_raw_fd().cast_unsigned());
    let blocked = BlockedSignals::all();
    let result: i64;
    // SAFETY: from here this is one call that returns once, in the caller. The child has 0 in `rax` and its
    // own stack, aligned for a call; it calls `entry`, which never returns. The system call changes only
    // `rax`, `rcx` and `r11`. Stack, `wanted` and `argument` outlive the child's use of them, as in `clone`.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp", // the outermost frame
            "mov rdi, r8",
            "call r9",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 => result,
            in("rdi") &raw const wanted,
            in("rsi") size_of::<libc::clone_args>(),
            in("r8") argument,
            in("r9") entry,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    drop(blocked);
    if result < 0 {
        return Err(Errno::from_raw_os_error(c_int::try_from(-result).unwrap_or(libc::EIO)));
    }
    // SAFETY: as in `clone`.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// Not implemented on this architecture.
///
/// # Safety
/// None required: it starts nothing.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn clone_into(_: BorrowedFd<'_>, _: Entry, _: *mut c_void) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// The child's stack.
struct Stack(Vec<u128>);

impl Stack {
    fn new() -> Self {
        Self(vec![0; STACK_BYTES / size_of::<u128>()])
    }

    fn bottom(&mut self) -> *mut u128 {
        self.0.as_mut_ptr()
    }

    fn top(&mut self) -> *mut u128 {
        self.0.as_mut_ptr_range().end
    }
}

/// Blocks signals in this thread while a child shares its memory: the worker's handlers must not run there.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    fn all() -> Self {
        // SAFETY: both sets are valid for the calls, which initialise them.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set was filled by the call that blocked.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::os::fd::AsFd;

    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;
    use crate::cgroup::{CgroupRoot, Discovered};

    /// What the child observes, in memory that it shares with the test.
    struct Seen([u8; 8192]);

    /// Only system calls, as required of the child.
    extern "C" fn look(seen: *mut c_void) -> c_int {
        // SAFETY: the test passes a `Seen` that outlives the child; the rest are the child's own descriptors.
        unsafe {
            let seen = &mut *seen.cast::<Seen>();
            let file = libc::open(c"/proc/self/cgroup".as_ptr(), libc::O_RDONLY);
            let read = libc::read(file, seen.0.as_mut_ptr().cast(), seen.0.len());
            libc::_exit(if read > 0 { 7 } else { 1 })
        }
    }

    #[test]
    fn a_child_is_born_in_a_cgroup_of_version_2_or_not_at_all() {
        let Discovered::Ready(root) = CgroupRoot::discover() else {
            panic!("this host gives no cgroups");
        };
        let root = root.below(&format!("headwater-test-birth-{}", std::process::id())).unwrap();
        let cgroup = root.create_session("ses_birth").unwrap();
        let folder =
            cgroup.join_fds().unwrap().clone_into.expect("a cgroup file system of version 2 is mounted");
        let mut seen = Seen([0; 8192]);
        // SAFETY: `look` writes to `seen` only, and ends by `_exit`.
        let child = unsafe { clone_into(folder.as_fd(), look, (&raw mut seen).cast()) }.unwrap();
        let status = waitid(WaitId::PidFd(child.as_fd()), WaitIdOptions::EXITED).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(7));
        let text = String::from_utf8_lossy(&seen.0).into_owned();
        let line = text.lines().find(|line| line.starts_with("0::")).unwrap();
        assert!(line.contains("/ses_birth"), "{text}");

        cgroup.remove().unwrap();
        // SAFETY: as above.
        let refused = unsafe { clone_into(folder.as_fd(), look, (&raw mut seen).cast()) };
        assert!(refused.is_err(), "a cgroup that is gone");
    }
}
