//! Starting a session: from the worker's request to an init that waits for work inside its walls.
//!
//! 1. A small process is started without copying the worker ([`spawn`]); it is in the session's cgroup from its
//!    first moment and becomes `headwater init`.
//! 2. It gets its [`Setup`], builds the walls, and forks: the child is pid 1 inside, the small process is gone.
//! 3. pid 1 says that it is ready. The kernel says who said so, which is how its pid on the host is known.
//!
//! init outlives the process that made it, and so becomes a child of the nearest subreaper: the worker, which
//! [reaps](crate::orphans) it; or, when that worker is gone, the host's first process.

mod clone;
mod spawn;

use std::io;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::cgroup::SessionCgroup;
use crate::link::{self, LinkError, Received};
use crate::wire::{FromInit, Setup, ToInit, VERSION, WallFailure};

/// How long walls may take. On an idle machine they take about a millisecond; a machine that needs seconds is
/// overloaded, and one that needs longer will not get there.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// What it takes to start a session.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The program that is init: [`own_binary`] outside of tests. It is started as `headwater init`.
    pub init_binary: PathBuf,
    /// The socket (`SOCK_SEQPACKET`, listening, bound in the session's folder) where a worker that comes back finds
    /// init. init has it as descriptor 3.
    pub listener: OwnedFd,
    /// How to build the walls.
    pub setup: Setup,
    /// Where init and all its programs are counted and limited.
    pub cgroup: Option<&'a SessionCgroup>,
}

/// A session whose init waits for work.
#[derive(Debug)]
pub struct Launched {
    /// The link to init: a connected `SOCK_SEQPACKET` socket, blocking. init has the other end as descriptor 4.
    pub link_fd: OwnedFd,
    /// init's process id on the host.
    pub pid: i32,
    /// init itself: readable when it has ended.
    pub pidfd: OwnedFd,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A wall could not be built.
    #[error(transparent)]
    Wall(#[from] WallFailure),
    /// init could not be started.
    #[error("cannot start init: {what}")]
    Spawn {
        /// What was being done.
        what: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// init ended, or was not ready in time, or spoke out of turn.
    #[error("init failed: {0}")]
    Init(String),
}

/// This very program, also after its file was replaced by an upgrade.
pub fn own_binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Starts a session and waits until it is ready. Blocks for a few milliseconds, at most ten seconds.
///
/// After a failure nothing of the session is left; a cgroup that was given is the caller's to remove.
pub fn launch(launch: Launch<'_>) -> Result<Launched, LaunchError> {
    let deadline = Instant::now() + READY_TIMEOUT;
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .map_err(|errno| spawn_error("make a socket pair", errno))?;
    rustix::net::sockopt::set_socket_passcred(&ours, true)
        .map_err(|errno| spawn_error("ask for the sender's pid", errno))?;
    let starter = spawn::spawn(&launch.init_binary, &launch.listener, &theirs, launch.cgroup)?;
    // From here on only init holds its end, so that its end is ours to see.
    drop(theirs);
    let result = set_up(&ours, launch.setup, deadline);
    if result.is_err() {
        // Should it still be there. A child that it has forked finds its link closed, and ends itself.
        let _ = rustix::process::pidfd_send_signal(&starter, Signal::KILL);
    }
    reap(&starter);
    let (pid, pidfd) = result?;
    Ok(Launched { link_fd: ours, pid, pidfd })
}

/// The process (its pid on the host, and itself) that sends the next message on a link, for a worker that comes back: waits for the message at most so
/// long and leaves it in the socket. The sender's pid must have been asked for (`SO_PASSCRED`) before it was sent.
pub fn sender(link: BorrowedFd<'_>, at_most: Duration) -> Result<(i32, OwnedFd), LaunchError> {
    wait_readable(link, Instant::now() + at_most)?;
    let sender = sender_of_next(link).map_err(|errno| LaunchError::Init(errno.to_string()))?;
    let pid = sender.ok_or_else(|| LaunchError::Init("the kernel did not say who answers".to_owned()))?;
    Ok((pid.as_raw_nonzero().get(), open_pidfd(pid, link)?))
}

/// Waits for a child that has ended or is about to. If somebody else has reaped it, so be it.
fn reap(child: &OwnedFd) {
    let wait = || rustix::process::waitid(WaitId::PidFd(child.as_fd()), WaitIdOptions::EXITED);
    let _ = rustix::io::retry_on_intr(wait);
}

fn spawn_error(what: &'static str, errno: Errno) -> LaunchError {
    LaunchError::Spawn { what, source: errno.into() }
}

/// Sends the setup and waits for the answer.
fn set_up(ours: &OwnedFd, setup: Setup, deadline: Instant) -> Result<(i32, OwnedFd), LaunchError> {
    let broken = |error: LinkError| LaunchError::Init(error.to_string());
    link::send(ours.as_fd(), &ToInit::Setup(Box::new(setup)), &[]).map_err(broken)?;
    wait_readable(ours.as_fd(), deadline)?;
    let sender = sender_of_next(ours.as_fd()).map_err(|errno| LaunchError::Init(errno.to_string()))?;
    match link::recv(ours.as_fd()).map_err(broken)? {
        Received::Message(FromInit::Ready { version: VERSION }, _) => {}
        Received::Message(FromInit::Ready { version }, _) => {
            return Err(LaunchError::Init(format!("it speaks version `{version}`, not `{VERSION}`")));
        }
        Received::Message(FromInit::SetupFailed(failure), _) => return Err(failure.into()),
        Received::Message(other, _) => return Err(LaunchError::Init(format!("it said `{other:?}` first"))),
        Received::Closed => return Err(LaunchError::Init("it ended before it was ready".to_owned())),
    }
    let pid = sender.ok_or_else(|| LaunchError::Init("the kernel did not say who is ready".to_owned()))?;
    Ok((pid.as_raw_nonzero().get(), open_pidfd(pid, ours.as_fd())?))
}

fn wait_readable(link: BorrowedFd<'_>, deadline: Instant) -> Result<(), LaunchError> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|error| LaunchError::Init(error.to_string()))?;
        match rustix::event::poll(&mut [PollFd::from_borrowed_fd(link, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            Ok(0) => return Err(LaunchError::Init(format!("it was not ready after {READY_TIMEOUT:?}"))),
            Ok(_) => return Ok(()),
            Err(errno) => return Err(LaunchError::Init(errno.to_string())),
        }
    }
}

/// Who sent the next message, which stays in the socket. From then on nobody's pid is told any more.
fn sender_of_next(link: BorrowedFd<'_>) -> Result<Option<Pid>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(link, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::PEEK)?;
    let sender = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(who) => Some(who.pid),
        _ => None,
    });
    rustix::net::sockopt::set_socket_passcred(link, false)?;
    Ok(sender)
}

/// Opens the process that is at the other end of `link`.
fn open_pidfd(pid: Pid, link: BorrowedFd<'_>) -> Result<OwnedFd, LaunchError> {
    let ended = || LaunchError::Init("it ended as soon as it was ready".to_owned());
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|_| ended())?;
    // If its end of the link is still open, it has not ended before the call above, and the pid was still its own.
    let mut poll = [PollFd::from_borrowed_fd(link, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::event::poll(&mut poll, Some(&now)) {
        Ok(0) => Ok(pidfd),
        _ => Err(ended()),
    }
}
