//! What the child does between clone and exec.
//!
//! The child shares init's memory until exec, and init waits. So nothing here allocates, locks or panics; the
//! only result is where it failed. What is the same for every program (umask, no core dumps, default signal
//! dispositions) init has set for itself, and the child inherits it.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use super::plan::{Limit, Plan, SHELL};
use crate::init::tag;

/// The steps of the child, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Stage {
    Cgroup = 1,
    Session,
    Terminal,
    Stdio,
    Tag,
    Limits,
    Cwd,
    Exec,
}

impl Stage {
    const ALL: [Self; 8] = [
        Self::Cgroup,
        Self::Session,
        Self::Terminal,
        Self::Stdio,
        Self::Tag,
        Self::Limits,
        Self::Cwd,
        Self::Exec,
    ];
}

/// The memory that init and its child share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Plan,
    stage: AtomicI32,
    errno: AtomicI32,
}

impl Shared {
    pub(super) fn new(plan: Plan) -> Self {
        Self { plan, stage: AtomicI32::new(0), errno: AtomicI32::new(0) }
    }

    /// Where the child failed, if it did.
    pub(super) fn failed(&self) -> Option<(Stage, i32)> {
        let stage = self.stage.load(Ordering::Acquire);
        let stage = Stage::ALL.into_iter().find(|one| *one as i32 == stage)?;
        Some((stage, self.errno.load(Ordering::Acquire)))
    }
}

/// Runs in the child: becomes the program, or stores what failed and exits.
pub(super) extern "C" fn main(shared: *mut c_void) -> c_int {
    // SAFETY: the parent passes a pointer to a `Shared`, and does not move or use it until the child has
    // called exec or exited.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    let (stage, errno) = become_program(&mut shared.plan);
    shared.errno.store(errno, Ordering::Release);
    shared.stage.store(stage as i32, Ordering::Release);
    127
}

fn become_program(plan: &mut Plan) -> (Stage, c_int) {
    for stage in Stage::ALL {
        if !step(stage, plan) {
            return (stage, errno());
        }
    }
    (Stage::Exec, errno())
}

fn step(stage: Stage, plan: &mut Plan) -> bool {
    // SAFETY: plain system calls with numbers, or with pointers into the plan, which outlives the call.
    unsafe {
        match stage {
            Stage::Cgroup => plan.cgroups.iter().all(|fd| libc::write(*fd, c"0".as_ptr().cast(), 1) == 1),
            Stage::Session => libc::setsid() >= 0,
            Stage::Terminal => !plan.is_tty || libc::ioctl(plan.stdio[1], libc::TIOCSCTTY, 0) == 0,
            // No overlap is possible: init keeps its own 0, 1 and 2 open, so every other descriptor is above
            // them.
            Stage::Stdio => {
                [0, 1, 2].iter().zip(plan.stdio).all(|(to, from)| from < 0 || libc::dup2(from, *to) >= 0)
            }
            Stage::Tag => tag::put_on_self(plan.tag, plan.cookie),
            Stage::Limits => plan.limits.iter().flatten().all(limit),
            Stage::Cwd => libc::chdir(plan.cwd.as_ptr()) == 0,
            Stage::Exec => {
                libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
                unblock_signals();
                exec(plan);
                false
            }
        }
    }
}

/// Sets one limit; a lower hard limit stays.
fn limit(limit: &Limit) -> bool {
    // SAFETY: the pointers are to limits that outlive the calls.
    unsafe {
        if libc::prlimit64(0, limit.resource, &raw const limit.value, std::ptr::null_mut()) == 0 {
            return true;
        }
        let mut now = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
        if libc::prlimit64(0, limit.resource, std::ptr::null(), &raw mut now) != 0 {
            return false;
        }
        now.rlim_cur = limit.value.rlim_cur.min(now.rlim_max);
        now.rlim_max = limit.value.rlim_max.min(now.rlim_max);
        libc::prlimit64(0, limit.resource, &raw const now, std::ptr::null_mut()) == 0
    }
}

fn unblock_signals() {
    // Dispositions are already the defaults: init has reset them for itself.
    // SAFETY: the set is plain data, filled before it is read.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Tries the candidates as execvp does. Returns only if none could be executed, with the reason in errno.
///
/// # Safety
/// The plan's pointers must be valid, and `argv` must have a free slot at the front.
unsafe fn exec(plan: &mut Plan) {
    let mut denied = false;
    let envp = plan.envp.as_ptr();
    for path in &plan.candidates {
        // SAFETY: the strings and the null-terminated arrays live in the plan.
        unsafe { libc::execve(path.as_ptr(), plan.argv.as_ptr().wrapping_add(1), envp) };
        match errno() {
            libc::ENOEXEC => {
                // SAFETY: as above.
                unsafe { exec_shell(path.as_ptr(), &mut plan.argv, envp) };
                return;
            }
            libc::EACCES => denied = true,
            libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
            _ => return,
        }
    }
    if denied {
        set_errno(libc::EACCES);
    }
}

/// Runs a script that has no `#!` line.
///
/// # Safety
/// As for [`exec`].
unsafe fn exec_shell(script: *const c_char, argv: &mut [*const c_char], envp: *const *const c_char) {
    if let [shell, name, ..] = argv {
        *shell = SHELL.as_ptr();
        *name = script;
        // SAFETY: the array is the plan's and null-terminated; its first two slots have just been set.
        unsafe { libc::execve(SHELL.as_ptr(), argv.as_ptr(), envp) };
    }
}

fn errno() -> c_int {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}
