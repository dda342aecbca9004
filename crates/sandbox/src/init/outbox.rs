//! The link to the worker: what is still to be said, and saying it without ever waiting.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use headwater_protocol::{ExecutionId, SessionId};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::clock::NANOS_PER_MS;
use super::executions::{Executions, ExitReport};
use crate::link::{self, LinkError};
use crate::wire::{FromInit, VERSION};

/// When the kernel lacks something that readiness does not tell of, try again after this, ...
const FIRST_RETRY_DELAY_NS: u64 = 50 * NANOS_PER_MS;
/// ... each time after twice as long, up to this.
const MAX_RETRY_DELAY_NS: u64 = 1600 * NANOS_PER_MS;

/// Something to say. What comes from an execution is looked up when it is said, with its descriptors.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// As it is.
    Message(FromInit),
    /// The program runs.
    Started(ExecutionId),
    /// Its exit.
    Exited(ExecutionId),
    /// All about it, for a worker that comes back.
    Adopt(ExecutionId),
    /// The socket that programs find the worker at.
    Listening(OwnedFd),
}

/// A worker that is connected.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) fd: OwnedFd,
    /// Whether it has said who it is; before that it is told nothing.
    pub(super) established: bool,
    /// Nobody listens any more, but what was said before may still be heard.
    gone: bool,
    outbox: VecDeque<Outgoing>,
    retry_at: Option<u64>,
    /// How long the next retry waits.
    retry_after: u64,
    /// What the loop waits for: messages, as it is when the link is new.
    waiting: EventFlags,
}

impl Link {
    pub(super) fn new(fd: OwnedFd, established: bool) -> Self {
        Self {
            fd,
            established,
            gone: false,
            outbox: VecDeque::new(),
            retry_at: None,
            retry_after: FIRST_RETRY_DELAY_NS,
            waiting: EventFlags::IN,
        }
    }

    /// Puts something at the end of what is to be said.
    pub(super) fn queue(&mut self, message: Outgoing) {
        if self.established && !self.gone {
            self.outbox.push_back(message);
        }
    }

    /// Begins anew with a worker that has come back: everything is told again.
    pub(super) fn hello(&mut self, session: SessionId, executions: &mut Executions) {
        self.established = true;
        self.outbox.clear();
        let count = u32::try_from(executions.iter().count()).unwrap_or(u32::MAX);
        self.queue(Outgoing::Message(FromInit::Hello { version: VERSION, session, executions: count }));
        for held in executions.iter_mut() {
            if held.exit_report == ExitReport::Sent {
                held.exit_report = ExitReport::Pending;
            }
            self.outbox.push_back(Outgoing::Adopt(held.id));
        }
    }

    /// Whether something waits to be said. While it does, nothing is read: the worker must listen first.
    pub(super) fn is_full(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// What the loop should wait for on this link, if that has changed.
    pub(super) fn waits_for(&mut self) -> Option<EventFlags> {
        let flags = match (self.is_full(), self.retry_at) {
            (false, _) => EventFlags::IN,
            (true, None) => EventFlags::OUT,
            (true, Some(_)) => EventFlags::empty(),
        };
        (std::mem::replace(&mut self.waiting, flags) != flags).then_some(flags)
    }

    /// When to try again without being told to.
    pub(super) fn retry_at(&self) -> Option<u64> {
        self.retry_at
    }

    /// Says as much as there is room for. False: the link is of no use any more.
    pub(super) fn flush(&mut self, executions: &mut Executions, now: u64) -> bool {
        if self.retry_at.is_some_and(|at| now < at) {
            return true;
        }
        self.retry_at = None;
        while let Some(message) = self.outbox.front() {
            match send(&self.fd, message, executions) {
                Err(LinkError::WouldBlock) => return true,
                Err(LinkError::Io(
                    Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::TOOMANYREFS,
                )) => {
                    self.retry_at = Some(now.saturating_add(self.retry_after));
                    self.retry_after = (2 * self.retry_after).min(MAX_RETRY_DELAY_NS);
                    return true;
                }
                Err(LinkError::Closed) => {
                    self.gone = true;
                    self.outbox.clear();
                    return true;
                }
                Err(LinkError::Io(_)) => return false,
                Ok(()) | Err(_) => {} // said, or it can never be said
            }
            self.retry_after = FIRST_RETRY_DELAY_NS;
            self.outbox.pop_front();
        }
        true
    }
}

fn send(fd: &OwnedFd, message: &Outgoing, executions: &mut Executions) -> Result<(), LinkError> {
    let fd = fd.as_fd();
    match message {
        Outgoing::Message(message) => link::send(fd, message, &[]),
        Outgoing::Listening(outlet) => link::send(fd, &FromInit::Listening, &[outlet.as_fd()]),
        Outgoing::Started(id) => {
            let Some(held) = executions.get(*id) else {
                return Ok(());
            };
            let (fds, lent) = held.ends.lend();
            let (pid, started_at_us) = (held.pid, held.started_at_us);
            link::send(fd, &FromInit::Started { execution: held.id, pid, started_at_us, fds }, &lent)
        }
        Outgoing::Exited(id) => {
            let Some(held) = executions.get_mut(*id).filter(|held| held.exit_report == ExitReport::Pending)
            else {
                return Ok(());
            };
            let Some(exit) = held.exit else { return Ok(()) };
            link::send(fd, &FromInit::Exited { execution: held.id, exit }, &[])?;
            held.exit_report = ExitReport::Sent;
            Ok(())
        }
        Outgoing::Adopt(id) => {
            let Some(held) = executions.get_mut(*id) else {
                return Ok(());
            };
            let exit = held.exit.filter(|_| held.exit_report != ExitReport::Logged);
            let (fds, lent) = held.ends.lend();
            let message = FromInit::Adopt {
                execution: held.id,
                pid: held.pid,
                started_at_us: held.started_at_us,
                fds,
                exit,
                note: held.note.clone(),
            };
            link::send(fd, &message, &lent)?;
            if exit.is_some() {
                held.exit_report = ExitReport::Sent;
            }
            Ok(())
        }
    }
}
