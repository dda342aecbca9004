//! Starting a program.
//!
//! The child shares init's memory (`CLONE_VM`), so nothing is copied, and init waits until the child has
//! called exec. It does not wait with `CLONE_VFORK`: programs of the session run as the same user, and one
//! that sends SIGSTOP to the child at that moment would block init for ever, deadlines included. The kernel
//! also clears and wakes a futex when the child leaves the shared memory. That costs the same, and the wait
//! can time out.

mod child;
mod failure;
mod plan;
mod stack;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex;

use self::child::Shared;
use self::plan::Plan;
pub(super) use self::stack::Stack;
use super::code_file::CodeFile;
use super::scratch_dir::ScratchDir;
use super::{clock, proc_stat, signals, stdio};
use crate::wire::{Start, StartFailure, StdinFrom};

/// How often init checks what delays the child.
const CHECK_INTERVAL_MS: u64 = 10;
/// How often init continues a stopped child before it gives up.
const MAX_STOPS: u32 = 20;
/// How long loading a program may take, for example from a slow disk.
const MAX_LOAD_MS: u64 = 20_000;

/// A program that runs.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) pid: i32,
    pub(super) ends: stdio::WorkerEnds,
    pub(super) code_file: Option<CodeFile>,
    pub(super) scratch: Option<ScratchDir>,
    /// Start time in monotonic nanoseconds.
    pub(super) at: u64,
    /// Start time in Unix microseconds.
    pub(super) at_us: u64,
}

/// What every start needs.
#[derive(Debug)]
pub(super) struct Spawner {
    pub(super) stack: Stack,
    /// The limit on open files for programs: init's own before it was raised.
    pub(super) files: Option<libc::rlimit64>,
    /// Descriptors above this number are reserved for messages and for reading `/proc`.
    pub(super) highest_fd: i32,
}

impl Spawner {
    /// Starts a program. On failure nothing is left behind.
    pub(super) fn spawn(&self, start: &Start, tag: u64, fds: Vec<OwnedFd>) -> Result<Spawned, StartFailure> {
        let (given, cgroups) = sort_fds(start, fds)?;
        let what = if start.tty.is_some() { "the program's terminal" } else { "the program's pipes" };
        let (inner, ends) =
            stdio::create(start, given).map_err(|errno| failure::cannot_create(what, errno))?;
        if ends.highest() > self.highest_fd {
            return Err(failure::no_descriptors());
        }
        let scratch = start.scratch.as_deref().map(ScratchDir::create).transpose();
        let scratch = scratch.map_err(|errno| failure::cannot_create("a directory in `/tmp`", errno))?;
        let code_file = start.code_file.as_ref().map(CodeFile::write).transpose();
        let code_file =
            code_file.map_err(|errno| failure::cannot_create("the file for the code in `/tmp`", errno))?;
        let mut shared = Shared::new(Plan::new(start, &inner, &cgroups, tag, self.files)?);
        let (at, at_us) = (clock::now(), clock::unix_us());
        let pid = self.clone(&mut shared)?;
        match shared.failed() {
            None => Ok(Spawned { pid, ends, code_file, scratch, at, at_us }),
            Some((stage, errno)) => {
                reap(pid);
                Err(failure::in_child(stage, errno, start, &shared.plan))
            }
        }
    }

    /// Creates the child and waits until it no longer shares this memory.
    fn clone(&self, shared: &mut Shared) -> Result<i32, StartFailure> {
        let gone = AtomicU32::new(1);
        let flags = libc::CLONE_VM | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD;
        // SAFETY: the stack is mapped, used by one child at a time and large enough; `shared` and `gone` stay
        // where they are until `wait_for` has returned, after which the child uses neither: it has left this
        // memory.
        let pid = unsafe {
            libc::clone(
                child::main,
                self.stack.top(),
                flags,
                (&raw mut *shared).cast(),
                std::ptr::null_mut::<libc::pid_t>(),
                std::ptr::null_mut::<libc::c_void>(),
                gone.as_ptr(),
            )
        };
        if pid < 0 {
            return Err(failure::cannot_create("a process", signals::last_errno()));
        }
        if wait_for(&gone, pid) {
            return Ok(pid);
        }
        reap(pid);
        Err(failure::load_timed_out())
    }
}

/// Waits until the child has left the shared memory. False: it took too long and has been killed.
fn wait_for(gone: &AtomicU32, pid: i32) -> bool {
    let (mut stopped, mut waited, mut killed) = (0, 0, false);
    let pause = clock::timespec(CHECK_INTERVAL_MS * clock::NANOS_PER_MS);
    while gone.load(Ordering::Acquire) != 0 {
        if futex::wait(gone, futex::Flags::empty(), 1, Some(&pause)) != Err(Errno::TIMEDOUT) {
            continue;
        }
        waited += CHECK_INTERVAL_MS;
        if proc_stat::read(pid).is_some_and(|stat| stat.is_stopped()) {
            stopped += 1;
            signals::send(pid, libc::SIGCONT);
        }
        if stopped > MAX_STOPS || waited > MAX_LOAD_MS {
            killed = true;
            signals::send(pid, libc::SIGKILL); // this makes it leave the memory, too
        }
    }
    !killed
}

/// Reaps a child that is ending.
fn reap(pid: i32) {
    // SAFETY: waits for a child of this process; the status pointer may be null.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// Splits the descriptors of a `Start`: the input, if it is passed as one, then the cgroups.
fn sort_fds(start: &Start, fds: Vec<OwnedFd>) -> Result<(Option<OwnedFd>, Vec<OwnedFd>), StartFailure> {
    let expected = usize::from(start.stdin == StdinFrom::Fd) + usize::from(start.cgroups);
    if fds.len() != expected {
        return Err(failure::wrong_descriptors());
    }
    let mut fds = fds.into_iter();
    let given = if start.stdin == StdinFrom::Fd { fds.next() } else { None };
    Ok((given, fds.collect()))
}
