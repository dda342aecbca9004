//! Init: the first process of a session. It starts programs, keeps their pipes and exit statuses, and ends
//! them.
//!
//! 1. It reads `Setup` from the worker that launched it and builds the walls around itself.
//! 2. It starts programs on request, each with a tag by which its whole process tree can be found.
//! 3. It keeps its own duplicate of every pipe and terminal, and every exit status, until the worker has
//!    confirmed them. A worker that reconnects gets all of them.
//! 4. It enforces deadlines itself, with or without a worker. It ends on request, or if no worker reconnects
//!    in time.
//!
//! One thread, no async runtime, no logging. It must never die: errors are reported to the worker or ignored.

mod clock;
mod code_file;
mod commands;
mod event_loop;
mod executions;
mod outbox;
mod outlet;
mod port_socket;
mod proc_stat;
mod process_tree;
mod reap;
mod scratch_dir;
mod signals;
mod spawn;
mod startup;
mod stdio;
mod stray_processes;
mod tag;
mod terminate;

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use headwater_protocol::SandboxKind;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use self::event_loop::Init;
pub use self::stray_processes::kill_stray_processes;
use crate::link::{self, LinkError, Received};
use crate::walls;
use crate::wire::{FromInit, Setup, ToInit, WallFailure};

/// The socket on which init accepts a worker that reconnects.
pub const LISTENER_FD: RawFd = 3;
/// The connection to the worker that launched it.
pub const WORKER_FD: RawFd = 4;

/// Runs init on the descriptors [`LISTENER_FD`] and [`WORKER_FD`]. Returns the exit code: 0 when the session
/// has ended, 1 if it could not be set up (the worker has been sent the reason, if it was connected).
pub fn main() -> u8 {
    // SAFETY: the launcher passes these two descriptors, and nothing in this process has used them yet.
    let (listener, worker) = unsafe { (OwnedFd::from_raw_fd(LISTENER_FD), OwnedFd::from_raw_fd(WORKER_FD)) };
    let Some(setup) = await_setup(worker.as_fd()) else {
        return 1;
    };
    let built = match setup.sandbox {
        SandboxKind::Full => walls::enter(&setup),
        SandboxKind::None => walls::without(&setup),
    };
    let begun = built.and_then(|()| Init::new(&setup, listener, worker.as_fd()).map_err(startup_failure));
    match begun {
        Ok(mut init) => {
            init.serve(worker);
            0
        }
        Err(failure) => {
            let _ = send(worker.as_fd(), &FromInit::SetupFailed(failure));
            1
        }
    }
}

/// Waits for `Setup`, which must be the first message. `None` if the worker closes the link before that.
fn await_setup(worker: BorrowedFd<'_>) -> Option<Box<Setup>> {
    loop {
        match link::recv::<ToInit>(worker) {
            Ok(Received::Message(ToInit::Setup(setup), _)) => return Some(setup),
            Ok(Received::Message(..)) => {}
            Err(LinkError::WouldBlock) => wait_until(worker, PollFlags::IN),
            Err(error) if error.spoils_one_message() => {}
            Ok(Received::Closed) | Err(_) => return None,
        }
    }
}

/// Sends a message before the loop runs. It blocks until the socket has room: there is nothing else to do
/// yet.
fn send(worker: BorrowedFd<'_>, message: &FromInit) -> Result<(), LinkError> {
    loop {
        match link::send(worker, message, &[]) {
            Err(LinkError::WouldBlock) => wait_until(worker, PollFlags::OUT),
            other => return other,
        }
    }
}

fn wait_until(fd: BorrowedFd<'_>, ready: PollFlags) {
    let _ = rustix::event::poll(&mut [PollFd::from_borrowed_fd(fd, ready)], None);
}

fn startup_failure(errno: Errno) -> WallFailure {
    WallFailure {
        wall: "init".into(),
        message: format!("init could not start: {errno}"),
        fix: "raise the worker's limits on open files and memory".into(),
    }
}
