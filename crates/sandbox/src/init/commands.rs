//! Handling the worker's messages.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use headwater_protocol::ExecutionId;
use rustix::io::Errno;

use super::event_loop::Init;
use super::executions::{ExitReport, HeldExecution};
use super::outbox::Outgoing;
use super::stdio::WorkerEnds;
use super::{clock, outlet, port_socket, proc_stat, process_tree, signals};
use crate::link::{self, LinkError, Received};
use crate::wire::{Cause, FromInit, Start, Target, ToInit};

/// Messages handled in one turn of the loop, so that a busy worker does not delay deadlines.
const MAX_MESSAGES_PER_TURN: usize = 64;

impl Init {
    /// Handles the worker's messages until none is left. Reads nothing while messages to the worker are
    /// queued.
    pub(super) fn receive(&mut self) -> ControlFlow<()> {
        self.flush();
        for _ in 0..MAX_MESSAGES_PER_TURN {
            let Some(link) = &self.link else { break };
            if link.is_full() {
                break;
            }
            match link::recv::<ToInit>(link.fd.as_fd()) {
                Ok(Received::Message(message, fds)) => self.handle(message, fds)?,
                Err(LinkError::WouldBlock) => break,
                Err(error) if error.spoils_one_message() => {}
                Ok(Received::Closed) | Err(_) => {
                    self.lose_worker();
                    break;
                }
            }
            self.flush();
        }
        ControlFlow::Continue(())
    }

    fn handle(&mut self, message: ToInit, fds: Vec<OwnedFd>) -> ControlFlow<()> {
        let established = self.link.as_ref().is_some_and(|link| link.established);
        match message {
            ToInit::Hello => self.hello(),
            _ if !established => {}
            ToInit::Start(start) => self.start(*start, fds),
            ToInit::Signal { execution, signal, target } => self.signal(execution, signal, target),
            ToInit::Stop { execution, cause, grace_ms } => {
                self.reap(); // an execution that has already exited was not stopped
                self.stop(execution, cause, Some(grace_ms));
            }
            ToInit::CloseStdin { execution } => {
                if let Some(held) = self.executions.get_mut(execution) {
                    held.ends.close_stdin();
                }
            }
            ToInit::ExitLogged { execution } => self.exit_logged(execution),
            ToInit::Release { execution } => self.release(execution),
            ToInit::Processes { execution } => self.processes(execution),
            ToInit::Listen { port } => self.listen(port),
            ToInit::Socket { ipv6 } => self.queue(match port_socket::open(ipv6) {
                Ok(socket) => Outgoing::Socket { socket, ipv6 },
                Err(errno) => Outgoing::Message(FromInit::SocketFailed { ipv6, errno: errno.raw_os_error() }),
            }),
            ToInit::Setup(_) => {} // already set up
            ToInit::End => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn hello(&mut self) {
        self.found_worker();
        if let Some(link) = &mut self.link {
            link.hello(self.session, &mut self.executions);
        }
    }

    fn queue(&mut self, message: Outgoing) {
        if let Some(link) = &mut self.link {
            link.queue(message);
        }
    }

    /// Creates the socket once and keeps it: connections that wait in its backlog outlive a worker.
    fn listen(&mut self, port: u16) {
        let outlet = match self.outlet.take() {
            Some(outlet) => Ok(outlet),
            None => outlet::open(port),
        };
        let answer = outlet.and_then(|outlet| {
            let lent =
                outlet.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE));
            self.outlet = Some(outlet);
            lent
        });
        self.queue(match answer {
            Ok(lent) => Outgoing::Listening(lent),
            Err(errno) => Outgoing::Message(FromInit::ListenFailed { errno: errno.raw_os_error() }),
        });
    }

    fn start(&mut self, start: Start, fds: Vec<OwnedFd>) {
        let id = start.execution;
        if self.executions.tag(id).is_some() {
            return; // already started; an execution never runs twice
        }
        let tag = self.tags.next();
        match self.spawner.spawn(&start, tag, fds) {
            Ok(spawned) => {
                self.executions.add(HeldExecution::new(start, tag, spawned));
                self.queue(Outgoing::Started(id));
                self.flush();
            }
            Err(failure) => self.queue(Outgoing::Message(FromInit::StartFailed { execution: id, failure })),
        }
    }

    /// Stops the whole process tree. The first cause is the one reported, and only if the program is still
    /// running.
    pub(super) fn stop(&mut self, id: ExecutionId, cause: Cause, grace_ms: Option<u64>) {
        let Some(tag) = self.executions.tag(id) else {
            return;
        };
        let mut grace = grace_ms.unwrap_or(0);
        if let Some(held) = self.executions.get_mut(id) {
            grace = grace_ms.unwrap_or(held.grace_ms);
            held.deadline = None;
            if held.exit.is_none() && held.cause.is_none() {
                held.cause = Some(cause);
            }
        }
        let now = clock::now();
        self.terminations.begin(tag, grace, now);
        self.terminations.work(now);
    }

    fn signal(&self, id: ExecutionId, signal: i32, target: Target) {
        let Some(tag) = self.executions.tag(id).filter(|_| signals::is_valid(signal)) else {
            return;
        };
        let held = self.executions.get(id);
        match (target, held) {
            (Target::Tree, _) => {
                let _ = process_tree::signal(|found| found == tag, &[signal]);
            }
            (Target::Group, Some(held)) => signal_group(held, signal),
            (Target::Group, None) => {}
        }
    }

    fn exit_logged(&mut self, id: ExecutionId) {
        if let Some(held) = self.executions.get_mut(id).filter(|held| held.exit.is_some()) {
            held.exit_report = ExitReport::Logged;
            self.executions.settle(id);
        }
    }

    fn release(&mut self, id: ExecutionId) {
        if let Some(held) = self.executions.get_mut(id) {
            held.ends = WorkerEnds::None;
            self.executions.settle(id);
        }
    }

    fn processes(&mut self, id: ExecutionId) {
        let mut processes = Vec::new();
        if let Some(tag) = self.executions.tag(id) {
            let program = self.executions.get(id).filter(|held| held.exit.is_none()).map(|held| held.pid);
            let _ = process_tree::scan(
                |found| found == tag,
                |pid, _| {
                    let alive = proc_stat::read(pid).filter(|stat| !stat.is_dead());
                    processes.extend(alive.map(|stat| stat.process));
                },
            );
            processes.sort_by_key(|process| (Some(process.pid) != program, process.pid));
        }
        self.queue(Outgoing::Message(FromInit::Processes { execution: id, processes }));
    }
}

/// Signals the program's process group or, for a terminal, its foreground group.
fn signal_group(held: &HeldExecution, signal: i32) {
    let foreground = held.ends.terminal().and_then(|tty| rustix::termios::tcgetpgrp(tty).ok());
    let group = foreground.map_or(held.pid, |group| group.as_raw_nonzero().get());
    if group == held.pid && held.exit.is_none() {
        signals::send_group(group, signal); // not reaped yet, so the pid has not been reused
        return;
    }
    // The group's id may have been reused: signal only members that carry the tag.
    let _ = process_tree::scan(
        |found| found == held.tag,
        |pid, _| {
            let pid_of = rustix::process::Pid::from_raw(pid);
            let member = rustix::process::getpgid(pid_of).is_ok_and(|of| of.as_raw_nonzero().get() == group);
            if member {
                signals::send(pid, signal);
            }
        },
    );
}
