//! Starting a small process from a large one, without copying the worker's memory or passing on its
//! descriptors.
//!
//! The child shares the worker's memory until it executes init (the calling thread sleeps meanwhile, other
//! threads continue). So it may make system calls only: no allocation, no lock, no panic.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use rustix::fs::{Mode, OFlags};

use super::LaunchError;
use super::clone::{clone, clone_into};
use crate::cgroup::{JoinFds, SessionCgroup};

/// init's descriptors: null, null, null, the listener, the link.
const INIT_FD_COUNT: c_int = 5;

/// The steps of the child, for errors.
const STEPS: [&str; 4] = ["place descriptors", "close descriptors", "join the cgroup", "execute init"];

/// Everything the child needs, prepared before it exists.
struct Plan<'a> {
    program: &'a CStr,
    argv: [*const c_char; 3],
    envp: [*const c_char; 1],
    /// The descriptors that become 0 to 4.
    sources: [RawFd; INIT_FD_COUNT as usize],
    /// The `cgroup.procs` files that it writes to; all above init's descriptors.
    cgroups: Vec<OwnedFd>,
    /// Set by the child when it fails: index into [`STEPS`], error number.
    step: AtomicUsize,
    errno: AtomicI32,
}

/// A step of the child; an error is the kernel's number.
type Step = fn(&Plan<'_>) -> Result<(), c_int>;

/// Starts `program` as `headwater init` with an empty environment; returns its pidfd.
pub(super) fn spawn(
    program: &Path,
    listener: &OwnedFd,
    link: &OwnedFd,
    cgroup: Option<&SessionCgroup>,
) -> Result<OwnedFd, LaunchError> {
    let fail = |what, source| LaunchError::Spawn { what, source };
    let program = CString::new(program.as_os_str().as_bytes())
        .map_err(|error| fail("name the program", error.into()))?;
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| fail("open /dev/null", errno.into()))?;
    let null_fd = null.as_raw_fd();
    let mut plan = Plan {
        program: &program,
        argv: [c"headwater".as_ptr(), c"init".as_ptr(), std::ptr::null()],
        envp: [std::ptr::null()],
        sources: [null_fd, null_fd, null_fd, listener.as_raw_fd(), link.as_raw_fd()],
        cgroups: Vec::new(),
        step: AtomicUsize::new(0),
        errno: AtomicI32::new(0),
    };
    let pidfd = start(&mut plan, cgroup)?;
    match plan.errno.load(Ordering::Acquire) {
        0 => Ok(pidfd),
        errno => {
            let what = STEPS.get(plan.step.load(Ordering::Acquire)).copied().unwrap_or("start");
            super::reap(&pidfd);
            Err(fail(what, std::io::Error::from_raw_os_error(errno)))
        }
    }
}

/// Starts the child, directly in its cgroup if the kernel supports that; otherwise it joins as its first
/// step. Returns when it has executed init or failed.
fn start(plan: &mut Plan<'_>, cgroup: Option<&SessionCgroup>) -> Result<OwnedFd, LaunchError> {
    let fail = |what, source| LaunchError::Spawn { what, source };
    let unopened = |source| fail("open the cgroup", source);
    let join_fds = cgroup.map(SessionCgroup::join_fds).transpose().map_err(unopened)?;
    if let Some(JoinFds { clone_into: Some(folder), others }) = join_fds {
        plan.cgroups = duplicate_above_init_fds(others).map_err(unopened)?;
        let plan: *const Plan<'_> = plan;
        // SAFETY: `child` only reads `plan` and makes system calls, and ends by `execve` or `_exit`.
        if let Ok(pidfd) = unsafe { clone_into(folder.as_fd(), child, plan.cast_mut().cast()) } {
            return Ok(pidfd);
        }
    }
    let files = cgroup.map(SessionCgroup::procs_files).transpose().map_err(unopened)?.unwrap_or_default();
    plan.cgroups = duplicate_above_init_fds(files).map_err(unopened)?;
    let plan: *const Plan<'_> = plan;
    // SAFETY: as above.
    unsafe { clone(child, plan.cast_mut().cast()) }.map_err(|errno| fail("clone", errno.into()))
}

/// Moves descriptors above init's, so that the child keeps them while it places init's and closes the rest.
fn duplicate_above_init_fds(files: Vec<OwnedFd>) -> std::io::Result<Vec<OwnedFd>> {
    let above = |file: OwnedFd| match file.as_raw_fd() {
        low if low < INIT_FD_COUNT => rustix::io::fcntl_dupfd_cloexec(&file, INIT_FD_COUNT),
        _ => Ok(file),
    };
    let mut files: Vec<_> = files.into_iter().map(above).collect::<Result<_, _>>()?;
    files.sort_by_key(AsRawFd::as_raw_fd);
    Ok(files)
}

/// Runs in the child, on its own stack, in the worker's memory.
extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: `clone` passes the plan, which outlives the child's use of this memory.
    let plan = unsafe { &*plan.cast::<Plan<'_>>() };
    let steps: [Step; 4] = [place_fds, close_rest, join_cgroups, execute];
    for (index, step) in steps.iter().enumerate() {
        if let Err(errno) = step(plan) {
            plan.step.store(index, Ordering::Release);
            plan.errno.store(errno, Ordering::Release);
            break;
        }
    }
    // SAFETY: exits only the child, without using shared memory.
    unsafe { libc::_exit(1) }
}

fn errno_now() -> c_int {
    // SAFETY: the thread-local of the calling thread, which sleeps: no other code writes it now.
    unsafe { *libc::__errno_location() }
}

fn join_cgroups(plan: &Plan<'_>) -> Result<(), c_int> {
    for file in &plan.cgroups {
        // SAFETY: one byte of a literal is written; `0` means the writer itself.
        if unsafe { libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) } != 1 {
            return Err(errno_now());
        }
    }
    Ok(())
}

/// Moves the sources above init's descriptors first, since they may occupy each other's numbers.
fn place_fds(plan: &Plan<'_>) -> Result<(), c_int> {
    let mut high = [-1; INIT_FD_COUNT as usize];
    for (to, from) in high.iter_mut().zip(plan.sources) {
        // SAFETY: duplicates a descriptor within the child's own table.
        *to = unsafe { libc::fcntl(from, libc::F_DUPFD, INIT_FD_COUNT) };
        if *to < 0 {
            return Err(errno_now());
        }
    }
    for (place, from) in (0..INIT_FD_COUNT).zip(high) {
        // SAFETY: as above; `dup2` also clears close-on-exec.
        if unsafe { libc::dup2(from, place) } < 0 {
            return Err(errno_now());
        }
    }
    Ok(())
}

/// Closes everything except init's descriptors and the cgroup files. This comes before joining, which takes
/// milliseconds: a file that the worker has just written cannot be executed while any process, this child
/// included, has it open for writing.
fn close_rest(plan: &Plan<'_>) -> Result<(), c_int> {
    let mut first = INIT_FD_COUNT.cast_unsigned();
    for kept in &plan.cgroups {
        let kept = kept.as_raw_fd().cast_unsigned();
        close_from(first, kept.wrapping_sub(1))?;
        first = kept + 1;
    }
    close_from(first, u32::MAX)
}

fn close_from(first: u32, last: u32) -> Result<(), c_int> {
    if last < first {
        return Ok(());
    }
    // SAFETY: the descriptor table belongs to the child, which needs none of these any more.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(errno_now()),
    }
}

/// Leaves the worker's terminal and signal handling behind and becomes init.
fn execute(plan: &Plan<'_>) -> Result<(), c_int> {
    // SAFETY: system calls on the child's own session, handlers and mask, and on the plan's C strings and
    // null-terminated arrays. Handlers are not shared without CLONE_SIGHAND.
    unsafe {
        libc::setsid();
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::execve(plan.program.as_ptr(), plan.argv.as_ptr(), plan.envp.as_ptr());
    }
    Err(errno_now())
}
