//! The loop: what init waits for, and who deals with it.

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

/// What the epoll descriptor tells of.
pub(super) const LISTENER: u64 = 1;
pub(super) const LINK: u64 = 2;
pub(super) const CHILDREN: u64 = 3;

/// Ended processes dealt with in one turn: a fork bomb makes more without end.
const MAX_REAPED_PER_TURN: usize = 256;
/// Passes over what is left when init ends itself without a pid namespace that ends it all.
const MAX_KILL_PASSES: u32 = 400;

/// Init, once the walls stand.
#[derive(Debug)]
pub(super) struct Init {
    pub(super) session: SessionId,
    pub(super) executions: Executions,
    pub(super) terminations: Terminations,
    pub(super) tags: Tags,
    pub(super) spawner: Spawner,
    pub(super) link: Option<Link>,
    pub(super) listener: OwnedFd,
    /// Where programs find what the worker offers them, if it asked for that: held for as long as the session lives.
    pub(super) outlet: Option<OwnedFd>,
    pub(super) children: OwnedFd,
    pub(super) epoll: OwnedFd,
    pub(super) orphan_timeout_ms: u64,
    /// When to give up waiting for a worker.
    pub(super) orphaned_at: Option<u64>,
    /// More may have ended than one turn takes.
    pub(super) reap_more: bool,
}

impl Init {
    /// Runs until told to end, or until no worker has come back for too long. Ends all programs.
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
            Err(_) => pause(), // cannot be, but must not spin
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

    /// Until the nearest deadline.
    fn timeout(&self) -> Option<rustix::time::Timespec> {
        if self.reap_more {
            return Some(clock::timespec(0));
        }
        let programs = self.executions.iter().filter_map(|held| held.deadline).min();
        let retry = self.link.as_ref().and_then(Link::retry_at);
        let nearest =
            [programs, self.terminations.next(), self.orphaned_at, retry].into_iter().flatten().min()?;
        // A millisecond is as fine as it gets: round up, so as not to wake before it.
        let left = nearest.saturating_sub(clock::now()).saturating_add(clock::NANOS_PER_MS - 1);
        Some(clock::timespec(left.min(3600 * 1000 * clock::NANOS_PER_MS)))
    }

    /// Takes what has ended. Programs are told of, the rest is gone with this.
    pub(super) fn reap(&mut self) {
        let mut drop = [0_u8; 128]; // one signal; SIGCHLD is pending at most once
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
                    // Every process of a tree descends from init: without children there is no tree.
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
        (held.code_file, held.scratch) = (None, None); // before the exit is told: whoever hears of it finds them gone
        let (id, tag, kill_children) = (held.id, held.tag, held.kill_children);
        if let Some(link) = &mut self.link {
            link.queue(Outgoing::Exited(id));
        }
        if kill_children {
            self.terminations.begin(tag, 0, clock::now());
        }
    }

    /// Stops what has run out of time; ends all when no worker has come back.
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

    /// Says what is to be said, and keeps the kernel informed of what to wait for.
    pub(super) fn flush(&mut self) {
        let Some(link) = &mut self.link else { return };
        if !link.flush(&mut self.executions, clock::now()) {
            self.lose_worker();
        } else if let Some(flags) = link.waits_for() {
            let _ = epoll::modify(&self.epoll, &link.fd, EventData::new_u64(LINK), flags);
        }
    }

    /// A worker that comes back. What the last one still said is heard first.
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

    /// The worker is gone: from now on the time until init gives up runs.
    pub(super) fn lose_worker(&mut self) {
        if let Some(link) = self.link.take() {
            let _ = epoll::delete(&self.epoll, link.fd.as_fd());
        }
        if self.orphaned_at.is_none() {
            self.orphaned_at = Some(clock::after(clock::now(), self.orphan_timeout_ms));
        }
    }

    /// A worker has said who it is: init is no orphan any more.
    pub(super) fn found_worker(&mut self) {
        self.orphaned_at = None;
    }

    /// Ends every program. As pid 1 the end of init ends what is left; else init sees to it.
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

/// A short rest where the alternative is to spin.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}
