//! The event loop: waits for the listener, the link and children, and dispatches to the other files.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use headwater_protocol::SessionId;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::executions::Executions;
use super::outbox::{Link, Outgoing};
use super::reap::{self, Waited};
use super::spawn::Spawner;
use super::tag::Tags;
use super::terminate::Terminations;
use super::{clock, process_tree, signals};
use crate::wire::Cause;

/// Tokens of the epoll descriptor.
pub(super) const LISTENER: u64 = 1;
pub(super) const LINK: u64 = 2;
pub(super) const CHILDREN: u64 = 3;

/// Children reaped in one turn: a fork bomb creates them without end.
const MAX_REAPED_PER_TURN: usize = 256;
/// Kill passes over the remaining processes when init ends without a pid namespace, which would end them all.
const MAX_KILL_PASSES: u32 = 400;

/// The state of init after setup.
#[derive(Debug)]
pub(super) struct Init {
    pub(super) session: SessionId,
    pub(super) executions: Executions,
    pub(super) terminations: Terminations,
    pub(super) tags: Tags,
    pub(super) spawner: Spawner,
    pub(super) link: Option<Link>,
    pub(super) listener: OwnedFd,
    /// The listening socket on which the worker serves this session's programs, if requested; open until the
    /// session ends.
    pub(super) outlet: Option<OwnedFd>,
    pub(super) children: OwnedFd,
    pub(super) epoll: OwnedFd,
    pub(super) orphan_timeout_ms: u64,
    /// Monotonic nanoseconds: when to give up waiting for a worker.
    pub(super) orphaned_at: Option<u64>,
    /// Whether more children may have ended than one turn reaps.
    pub(super) reap_more: bool,
}

impl Init {
    /// Runs until it is asked to end, or until no worker has reconnected in time. Ends all programs.
    pub(super) fn run(&mut self) {
        while self.turn().is_continue() {}
        self.end_programs();
    }

    fn turn(&mut self) -> ControlFlow<()> {
        let (mut listener, mut link) = (false, false);
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 4];
        let timeout = self.timeout();
        match epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()) {
            Ok(ready) => {
                for event in events.iter().take(ready) {
                    match event.data.u64() {
                        LISTENER => listener = true,
                        LINK => link = true,
                        _ => self.reap_more = true,
                    }
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => pause(), // should not happen, but must not spin
        }
        if self.reap_more {
            self.reap();
        }
        if link {
            self.receive()?;
        }
        if listener {
            self.accept()?;
        }
        self.deadlines(clock::now())?;
        self.flush();
        ControlFlow::Continue(())
    }

    /// The time until the nearest deadline.
    fn timeout(&self) -> Option<rustix::time::Timespec> {
        if self.reap_more {
            return Some(clock::timespec(0));
        }
        let programs = self.executions.iter().filter_map(|held| held.deadline).min();
        let retry = self.link.as_ref().and_then(Link::retry_at);
        let nearest =
            [programs, self.terminations.next(), self.orphaned_at, retry].into_iter().flatten().min()?;
        // epoll has a resolution of a millisecond: round up, so as not to wake early.
        let left = nearest.saturating_sub(clock::now()).saturating_add(clock::NANOS_PER_MS - 1);
        Some(clock::timespec(left.min(3600 * 1000 * clock::NANOS_PER_MS)))
    }

    /// Reaps children that have ended. The exits of programs are reported; other processes are only reaped.
    pub(super) fn reap(&mut self) {
        let mut drop = [0_u8; 128]; // one siginfo: SIGCHLD is pending at most once
        let _ = rustix::io::read(&self.children, &mut drop);
        self.reap_more = false;
        for taken in 0.. {
            match reap::wait() {
                Waited::Ended(ended) if taken < MAX_REAPED_PER_TURN => self.ended(&ended),
                Waited::Ended(ended) => {
                    self.ended(&ended);
                    self.reap_more = true;
                    break;
                }
                Waited::Nothing => break,
                Waited::Childless => {
                    // Every process of a tree descends from init: without children no tree is left.
                    self.terminations.all_gone();
                    self.executions.forget_all_past();
                    break;
                }
            }
        }
    }

    fn ended(&mut self, ended: &reap::Ended) {
        self.terminations.hurry();
        let Some(held) = self.executions.running(ended.pid) else {
            return;
        };
        held.exit = Some(ended.exit(held));
        held.deadline = None;
        (held.code_file, held.scratch) = (None, None); // removed before the exit is reported
        let (id, tag, kill_children) = (held.id, held.tag, held.kill_children);
        if let Some(link) = &mut self.link {
            link.queue(Outgoing::Exited(id));
        }
        if kill_children {
            self.terminations.begin(tag, 0, clock::now());
        }
    }

    /// Stops executions whose time has run out. Breaks the loop if no worker has reconnected in time.
    fn deadlines(&mut self, now: u64) -> ControlFlow<()> {
        if self.orphaned_at.is_some_and(|at| at <= now) {
            return ControlFlow::Break(());
        }
        let due = |executions: &Executions| {
            executions.iter().find(|held| held.deadline.is_some_and(|at| at <= now)).map(|held| held.id)
        };
        while let Some(id) = due(&self.executions) {
            self.stop(id, Cause::TimedOut, None);
        }
        self.terminations.work(now);
        ControlFlow::Continue(())
    }

    /// Sends queued messages, and updates what epoll waits for.
    pub(super) fn flush(&mut self) {
        let Some(link) = &mut self.link else { return };
        if !link.flush(&mut self.executions, clock::now()) {
            self.lose_worker();
        } else if let Some(flags) = link.waits_for() {
            let _ = epoll::modify(&self.epoll, &link.fd, EventData::new_u64(LINK), flags);
        }
    }

    /// Accepts a worker that reconnects. Messages of the previous worker are handled first.
    fn accept(&mut self) -> ControlFlow<()> {
        use rustix::net::{SocketFlags, accept_with};
        let fd = match accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(fd) => fd,
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return ControlFlow::Continue(()),
            Err(_) => {
                pause();
                return ControlFlow::Continue(());
            }
        };
        if self.link.as_ref().is_some_and(|link| link.established) {
            self.receive()?;
        }
        self.lose_worker();
        if epoll::add(&self.epoll, &fd, EventData::new_u64(LINK), EventFlags::IN).is_ok() {
            self.link = Some(Link::new(fd, false));
        }
        ControlFlow::Continue(())
    }

    /// Drops the link, and starts the orphan timeout.
    pub(super) fn lose_worker(&mut self) {
        if let Some(link) = self.link.take() {
            let _ = epoll::delete(&self.epoll, link.fd.as_fd());
        }
        if self.orphaned_at.is_none() {
            self.orphaned_at = Some(clock::after(clock::now(), self.orphan_timeout_ms));
        }
    }

    /// A worker is connected and identified: cancels the orphan timeout.
    pub(super) fn found_worker(&mut self) {
        self.orphaned_at = None;
    }

    /// Ends every program. If init is pid 1, its exit ends the rest; otherwise it kills them itself.
    fn end_programs(&self) {
        if std::process::id() == 1 {
            signals::send(-1, libc::SIGKILL);
            return;
        }
        let all = self.tags.all();
        for _ in 0..MAX_KILL_PASSES {
            if process_tree::kill(|tag| all.contains(&tag)) == Ok(true) {
                return;
            }
            while let Waited::Ended(_) = reap::wait() {}
            pause();
        }
    }
}

/// A short sleep where the alternative is to spin.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}
