//! Launching a session: from the worker's request to an init that is ready inside its walls.
//!
//! 1. A small process is started without copying the worker ([`spawn`]); it is in the session's cgroup from
//!    the beginning and becomes `headwater init`.
//! 2. It receives its [`Setup`], builds the walls, and forks: the child is pid 1 inside, the small process
//!    exits.
//! 3. pid 1 reports that it is ready. The kernel attests the sender, so its pid on the host is known.
//!
//! init outlives the process that started it, and so becomes a child of the nearest subreaper: the worker,
//! which [reaps](crate::orphans) it; or, when that worker is gone, the host's first process.

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

/// How long setting up may take. On an idle machine it takes about a millisecond; a machine that needs
/// seconds is overloaded.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// The parameters of a launch.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The program that runs as init: [`own_binary`] outside of tests. It is started as `headwater init`.
    pub init_binary: PathBuf,
    /// The socket (`SOCK_SEQPACKET`, listening, bound in the session's folder) on which init accepts a worker
    /// that reconnects. init has it as descriptor 3.
    pub listener: OwnedFd,
    /// The description of the walls.
    pub setup: Setup,
    /// The cgroup of init and all its programs.
    pub cgroup: Option<&'a SessionCgroup>,
}

/// A session whose init is ready.
#[derive(Debug)]
pub struct Launched {
    /// The link to init: a connected `SOCK_SEQPACKET` socket, blocking. init has the other end as descriptor
    /// 4.
    pub link_fd: OwnedFd,
    /// init's process id on the host.
    pub pid: i32,
    /// A descriptor of init, readable when it has exited.
    pub pidfd: OwnedFd,
}

/// Why a session could not be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A wall could not be built.
    #[error(transparent)]
    Wall(#[from] WallFailure),
    /// init could not be started.
    #[error("cannot start init: {what}")]
    Spawn {
        /// The step that failed, such as `clone`.
        what: &'static str,
        /// The error that the kernel returned.
        #[source]
        source: io::Error,
    },
    /// init exited, or was not ready in time, or sent an unexpected message.
    #[error("init failed: {0}")]
    Init(String),
}

/// This program, even after its file was replaced by an upgrade.
pub fn own_binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Launches a session and waits until it is ready. Blocks for a few milliseconds, at most ten seconds.
///
/// After a failure nothing of the session is left; the caller has to remove a cgroup that it passed.
pub fn launch(launch: Launch<'_>) -> Result<Launched, LaunchError> {
    let deadline = Instant::now() + READY_TIMEOUT;
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .map_err(|errno| spawn_error("create a socket pair", errno))?;
    rustix::net::sockopt::set_socket_passcred(&ours, true)
        .map_err(|errno| spawn_error("ask for the sender's pid", errno))?;
    let starter = spawn::spawn(&launch.init_binary, &launch.listener, &theirs, launch.cgroup)?;
    // From here on only init holds its end, so we notice when it closes.
    drop(theirs);
    let result = set_up(&ours, launch.setup, deadline);
    if result.is_err() {
        // It may still be running. A child that it has forked finds its link closed, and exits.
        let _ = rustix::process::pidfd_send_signal(&starter, Signal::KILL);
    }
    reap(&starter);
    let (pid, pidfd) = result?;
    Ok(Launched { link_fd: ours, pid, pidfd })
}

/// The process (its pid on the host, and its pidfd) that sends the next message on a link, for a worker that
/// reconnects. Waits for the message, at most this long, and leaves it in the socket. `SO_PASSCRED` must have
/// been set before it was sent.
pub fn sender(link: BorrowedFd<'_>, at_most: Duration) -> Result<(i32, OwnedFd), LaunchError> {
    wait_readable(link, Instant::now() + at_most)?;
    let sender = sender_of_next(link).map_err(|errno| LaunchError::Init(errno.to_string()))?;
    let pid = sender.ok_or_else(|| LaunchError::Init("the kernel did not report the sender".to_owned()))?;
    Ok((pid.as_raw_nonzero().get(), open_pidfd(pid, link)?))
}

/// Reaps a child that has ended or is about to. Another thread may have reaped it already.
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
            return Err(LaunchError::Init(format!("it has version `{version}`, not `{VERSION}`")));
        }
        Received::Message(FromInit::SetupFailed(failure), _) => return Err(failure.into()),
        Received::Message(other, _) => {
            return Err(LaunchError::Init(format!("its first message was `{other:?}`")));
        }
        Received::Closed => return Err(LaunchError::Init("it exited before it was ready".to_owned())),
    }
    let pid = sender.ok_or_else(|| LaunchError::Init("the kernel did not report the sender".to_owned()))?;
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

/// The sender of the next message, which stays in the socket. Turns `SO_PASSCRED` off afterwards.
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

/// Opens a pidfd of the process at the other end of `link`.
fn open_pidfd(pid: Pid, link: BorrowedFd<'_>) -> Result<OwnedFd, LaunchError> {
    let ended = || LaunchError::Init("it exited as soon as it was ready".to_owned());
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|_| ended())?;
    // If its end of the link is still open, it had not exited before the call above, and the pid was its own.
    let mut poll = [PollFd::from_borrowed_fd(link, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::event::poll(&mut poll, Some(&now)) {
        Ok(0) => Ok(pidfd),
        _ => Err(ended()),
    }
}
