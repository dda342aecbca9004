//! The link to the worker: a queue of messages, sent without ever blocking.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use headwater_protocol::{ExecutionId, SessionId};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::clock::NANOS_PER_MS;
use super::executions::{Executions, ExitReport};
use crate::link::{self, LinkError};
use crate::wire::{FromInit, VERSION};

/// The delay before sending is retried after a shortage of kernel resources, which epoll does not report.
const FIRST_RETRY_DELAY_NS: u64 = 50 * NANOS_PER_MS;
/// The delay doubles with each retry, up to this.
const MAX_RETRY_DELAY_NS: u64 = 1600 * NANOS_PER_MS;

/// A queued message. Data of an execution, and its descriptors, are looked up when it is sent.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message that is sent as it is.
    Message(FromInit),
    /// `Started` of this execution.
    Started(ExecutionId),
    /// `Exited` of this execution.
    Exited(ExecutionId),
    /// `Adopt` of this execution, for a worker that reconnects.
    Adopt(ExecutionId),
    /// `Listening`, with the listening socket.
    Listening(OwnedFd),
    /// `Socket`, with the socket.
    Socket {
        /// The socket, which is not connected.
        socket: OwnedFd,
        /// Whether it is for IPv6.
        ipv6: bool,
    },
}

/// The connection to a worker.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) fd: OwnedFd,
    /// Whether the worker launched this init or has sent `Hello`. Nothing is sent before that.
    pub(super) established: bool,
    /// The worker has closed its end; messages that it sent before may still be unread.
    gone: bool,
    outbox: VecDeque<Outgoing>,
    retry_at: Option<u64>,
    /// The delay before the next retry, in nanoseconds.
    retry_after: u64,
    /// What epoll waits for on this link.
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

    /// Adds a message to the end of the queue.
    pub(super) fn queue(&mut self, message: Outgoing) {
        if self.established && !self.gone {
            self.outbox.push_back(message);
        }
    }

    /// Answers the `Hello` of a worker that reconnects: queues all executions again.
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

    /// Whether messages are queued. While they are, nothing is read: the worker has to read first.
    pub(super) fn is_full(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// What epoll should wait for on this link, if that has changed.
    pub(super) fn waits_for(&mut self) -> Option<EventFlags> {
        let flags = match (self.is_full(), self.retry_at) {
            (false, _) => EventFlags::IN,
            (true, None) => EventFlags::OUT,
            (true, Some(_)) => EventFlags::empty(),
        };
        (std::mem::replace(&mut self.waiting, flags) != flags).then_some(flags)
    }

    /// When to retry sending, if that is due at a time and not when the socket is writable.
    pub(super) fn retry_at(&self) -> Option<u64> {
        self.retry_at
    }

    /// Sends as many messages as the socket takes. False if the link is broken.
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
                Ok(()) | Err(_) => {} // sent, or can never be sent
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
        Outgoing::Socket { socket, ipv6 } => {
            link::send(fd, &FromInit::Socket { ipv6: *ipv6 }, &[socket.as_fd()])
        }
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
