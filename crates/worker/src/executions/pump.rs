//! Moves an execution's output from its pipes, or its terminal, to its log, and writes its end there.
//!
//! 1. Bytes go by splice from the pipe to the log's file; a terminal's go through a relay pipe that init holds too. So
//!    they are in the kernel, or in the log, and never only here.
//! 2. When init tells that the program has ended, what is in the pipes at that moment is moved, then `exited` is written.
//! 3. When no writer is left, `closed` is written, and init lets go of the pipes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use headwater_contract::Backoff;
use headwater_log::{LogError, Taken, Writer};
use headwater_protocol::Stream;
use headwater_sandbox::wire::Exit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::SpliceFlags;
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::async_fd::register;

/// At most so much in one step, so that the two streams of a program take turns. A step is a record, and a record is
/// never divided: it is what a follower that does not read holds in memory, several times over.
const STEP_BYTES: usize = 64 << 10;
/// A terminal gives at most 4 KiB a read; its buffers hold less than this.
const TERMINAL_BYTES: usize = 128 << 10;
/// How long to wait for room on a full disk before looking again.
pub(crate) const DISK_RETRY: Duration = Duration::from_millis(200);
/// The longest such wait: thousands of executions may wait for the same disk.
pub(crate) const LONGEST_DISK_RETRY: Duration = Duration::from_secs(2);
/// How long a verdict waits for room for the output before it; the rest follows when there is some.
const DISK_PATIENCE: Duration = Duration::from_secs(2);
/// A program that prints in tiny pieces gets at most so many records at once, then one for each pause.
const BURST: u32 = 512;
const PAUSE: Duration = Duration::from_millis(1);
/// Pieces of at least this size are never held back.
const LARGE: u64 = 4096;
/// While a full log makes the program wait, its pipes are looked at this often: those without a writer are emptied.
const FULL_LOOK: Duration = Duration::from_millis(100);
/// How often a terminal is looked at that nobody has open, or that nobody had open once.
const TERMINAL_RETRY: Duration = Duration::from_millis(50);

/// Where output comes from.
#[derive(Debug)]
pub(crate) struct Source {
    stream: Stream,
    pipe: AsyncFd<OwnedFd>,
    terminal: Option<Terminal>,
    ended: bool,
}

#[derive(Debug)]
struct Terminal {
    master: AsyncFd<Arc<OwnedFd>>,
    relay: OwnedFd,
    /// Not to be looked at before.
    rest_until: Option<Instant>,
}

impl Source {
    /// A pipe's reading end (nonblocking).
    pub(crate) fn pipe(stream: Stream, pipe: OwnedFd) -> io::Result<Self> {
        let pipe = register(pipe, Interest::READABLE)?;
        Ok(Self { stream, pipe, terminal: None, ended: false })
    }

    /// A terminal's master (nonblocking) and its relay.
    pub(crate) fn terminal(master: Arc<OwnedFd>, reading: OwnedFd, relay: OwnedFd) -> io::Result<Self> {
        let master = register(master, Interest::READABLE)?;
        let pipe = register(reading, Interest::READABLE)?;
        let terminal = Some(Terminal { master, relay, rest_until: None });
        Ok(Self { stream: Stream::Output, pipe, terminal, ended: false })
    }

    /// Waits until there is something to move, or the end; for ever if the end has been seen.
    async fn ready(&self) {
        if self.ended {
            std::future::pending::<()>().await;
        }
        if let Some(at) = self.terminal.as_ref().and_then(|terminal| terminal.rest_until) {
            tokio::time::sleep_until(at).await;
        }
        let ready = match &self.terminal {
            // What a killed worker left in the relay: the master tells nothing of it.
            Some(_) if rustix::io::ioctl_fionread(&self.pipe).is_ok_and(|bytes| bytes > 0) => return,
            Some(terminal) => terminal.master.readable().await.map(drop),
            None => self.pipe.readable().await.map(drop),
        };
        if ready.is_err() {
            std::future::pending::<()>().await; // the runtime is going away
        }
    }

    /// Moves some of what is there.
    fn step(&mut self, writer: &mut Writer, program_ended: bool) -> Result<Taken, LogError> {
        if self.ended {
            return Ok(Taken::End);
        }
        let taken = match &mut self.terminal {
            None => {
                // Taken before the look: readiness that comes after it must not be forgotten.
                let ready = ready_now(&self.pipe);
                let taken = writer.splice(self.stream, self.pipe.get_ref().as_fd(), STEP_BYTES)?;
                if let (Taken::Empty, Some(mut ready)) = (taken, ready) {
                    ready.clear_ready();
                }
                taken
            }
            Some(terminal) => {
                terminal.step(self.stream, self.pipe.get_ref().as_fd(), writer, program_ended)?
            }
        };
        self.ended = matches!(taken, Taken::End);
        Ok(taken)
    }

    /// Whether nobody has it open for writing, so that no more than what it holds will ever come.
    fn has_no_writer(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let fd = self.terminal.as_ref().map_or(self.pipe.as_fd(), |terminal| terminal.master.as_fd());
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
        !self.ended && poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }

    /// How much must be moved before the program's end may be told.
    fn waiting(&self) -> u64 {
        if self.ended {
            return 0;
        }
        if self.terminal.is_some() {
            TERMINAL_BYTES as u64
        } else {
            rustix::io::ioctl_fionread(&self.pipe).unwrap_or(0)
        }
    }
}

/// What the runtime knows of this descriptor's readiness now.
fn ready_now<T: AsRawFd>(fd: &AsyncFd<T>) -> Option<AsyncFdReadyGuard<'_, T>> {
    match fd.poll_read_ready(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(guard)) => Some(guard),
        Poll::Ready(Err(_)) | Poll::Pending => None,
    }
}

impl Terminal {
    /// A terminal gives at most 4 KiB at a time: takes what else is there, so that a flood becomes few large pieces
    /// and is not held back as a trickle of small ones. Why it stops (nothing more, a full relay, the end) is for the
    /// next step to see, when the relay is empty.
    fn gather(&self, mut moved: usize) {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        while moved < STEP_BYTES {
            match rustix::pipe::splice(&self.master, None, &self.relay, None, STEP_BYTES - moved, flags) {
                Ok(more) if more > 0 => moved += more,
                _ => return,
            }
        }
    }

    /// What is in the relay goes first; then from the master into the relay, and on to the log.
    fn step(
        &mut self,
        stream: Stream,
        reading: BorrowedFd<'_>,
        writer: &mut Writer,
        program_ended: bool,
    ) -> Result<Taken, LogError> {
        if let Taken::Bytes(n) = writer.splice(stream, reading, STEP_BYTES)? {
            return Ok(Taken::Bytes(n));
        }
        self.rest_until = None;
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let ready = ready_now(&self.master);
        match rustix::pipe::splice(&self.master, None, &self.relay, None, TERMINAL_BYTES, flags) {
            Ok(0) => Ok(Taken::End),
            Ok(moved) => {
                self.gather(moved);
                writer.splice(stream, reading, STEP_BYTES)
            }
            Err(Errno::AGAIN) if ready.as_ref().is_none_or(|ready| !ready.ready().is_read_closed()) => {
                if let Some(mut ready) = ready {
                    ready.clear_ready();
                }
                Ok(Taken::Empty)
            }
            // Nobody has it open, or nobody had once: the runtime takes it as ready for ever, so do not spin on it.
            Err(error) if error == Errno::AGAIN || !program_ended => {
                self.rest_until = Some(Instant::now() + TERMINAL_RETRY);
                Ok(Taken::Empty)
            }
            // While the program lived it might have opened it again by name.
            Err(_) => Ok(Taken::End),
        }
    }
}

/// Keeps the number of records small when a program prints in tiny pieces.
struct Pace {
    left: u32,
    since: Instant,
}

impl Pace {
    fn new() -> Self {
        Self { left: BURST, since: Instant::now() }
    }

    /// Waits if too many small pieces came lately: what follows piles up in the pipe and becomes one piece.
    async fn keep(&mut self, bytes: u64) {
        if bytes >= LARGE {
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        let earned = u32::try_from(self.since.elapsed().as_millis()).unwrap_or(BURST).min(BURST);
        self.since = Instant::now();
        self.left = earned.max(1);
        if earned < BURST {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// What the pump needs to know from, and tell to, its surroundings.
pub(crate) trait Surroundings {
    /// The program has ended thus (`None`: nobody saw how), and all it printed is in the log: write the verdict.
    fn exited(
        &self,
        exit: Option<Exit>,
        waiting: u64,
        writer: &mut Writer,
    ) -> impl Future<Output = ()> + Send;
    /// More than `stop_at` bytes have been printed. Told once.
    fn too_much(&self) -> impl Future<Output = ()> + Send;
    /// Somebody has asked for the end of all this: what cannot be logged is waited for no more.
    fn is_given_up(&self) -> bool;
}

/// Runs until no writer is left; then the log has its verdict, and the caller closes it.
pub(crate) async fn pump(
    mut sources: Vec<Source>,
    mut writer: Writer,
    exit: oneshot::Receiver<Exit>,
    stop_at: Option<u64>,
    surroundings: impl Surroundings,
) -> Writer {
    let mut stop_at = stop_at;
    let mut exit = Some(exit);
    let mut pace = Pace::new();
    let mut room = Backoff::new(DISK_RETRY, LONGEST_DISK_RETRY);
    let mut turn = 0;
    loop {
        if exit.is_none() && sources.iter().all(|source| source.ended) {
            return writer;
        }
        let next = if writer.is_full() {
            tokio::select! {
                biased;
                how = told(&mut exit) => Next::Exit(how),
                () = writer.room() => Next::Room,
                () = tokio::time::sleep(FULL_LOOK) => Next::Look,
            }
        } else {
            let [first, second] = two(&sources, turn);
            tokio::select! {
                // A source may be ready without end (a flood, a terminal that nobody has open): it must keep neither
                // the verdict nor the other source waiting.
                biased;
                how = told(&mut exit) => Next::Exit(how),
                () = first => Next::Source(turn),
                () = second => Next::Source(1 - turn),
            }
        };
        match next {
            Next::Source(n) => {
                turn = 1 - n;
                let Some(source) = sources.get_mut(n) else {
                    continue;
                };
                match source.step(&mut writer, exit.is_none()) {
                    Ok(Taken::Bytes(bytes)) => {
                        room.reset();
                        if stop_at.take_if(|limit| writer.total() > *limit).is_some() {
                            surroundings.too_much().await;
                        }
                        pace.keep(bytes as u64).await;
                    }
                    Ok(_) => {}
                    Err(error) if exit.is_none() && surroundings.is_given_up() => {
                        // The verdict has waited for room long enough.
                        tracing::warn!(%error, bytes = source.waiting(), "output of an ended session is dropped");
                        source.ended = true;
                    }
                    Err(error) => wait_for_room(&error, &mut room).await,
                }
                // A flood must not starve other executions.
                tokio::task::consume_budget().await;
            }
            Next::Room => writer.look_for_room(),
            Next::Look => {
                for source in sources.iter_mut().filter(|source| source.has_no_writer()) {
                    // At most what a pipe holds, which is logged past the limit: nothing else would ever end this wait.
                    drain(std::slice::from_mut(source), &mut writer).await;
                    source.ended |= matches!(source.step(&mut writer, exit.is_none()), Ok(Taken::End));
                }
            }
            Next::Exit(how) => {
                exit = None;
                let waiting = drain(&mut sources, &mut writer).await;
                surroundings.exited(how, waiting, &mut writer).await;
            }
        }
    }
}

enum Next {
    Source(usize),
    Exit(Option<Exit>),
    /// A full log may have room.
    Room,
    /// Look at the pipes of a full log.
    Look,
}

/// The readiness of the two sources (there are never more), the one whose turn it is first.
fn two(sources: &[Source], turn: usize) -> [impl Future<Output = ()> + '_; 2] {
    let ready = |n: usize| async move {
        match sources.get(n) {
            Some(source) => source.ready().await,
            None => std::future::pending().await,
        }
    };
    [ready(turn), ready(1 - turn)]
}

async fn told(exit: &mut Option<oneshot::Receiver<Exit>>) -> Option<Exit> {
    match exit {
        Some(receiver) => receiver.await.ok(),
        None => std::future::pending().await,
    }
}

async fn wait_for_room(error: &LogError, backoff: &mut Backoff) {
    if !error.is_disk_full() {
        tracing::error!(%error, "output cannot be logged; it waits in its pipe");
    }
    backoff.pause().await;
}

/// Moves what was in the pipes when the program ended, and no more: a child that prints on for ever must not delay the
/// verdict. Answers with the bytes that had to stay behind because the disk is full.
async fn drain(sources: &mut [Source], writer: &mut Writer) -> u64 {
    let deadline = Instant::now() + DISK_PATIENCE;
    let mut behind = 0;
    let mut room = Backoff::new(DISK_RETRY, DISK_RETRY);
    for source in sources {
        let mut left = source.waiting();
        while left > 0 {
            match source.step(writer, true) {
                Ok(Taken::Bytes(n)) => left = left.saturating_sub(n as u64),
                Ok(Taken::Empty | Taken::End) => left = 0,
                Err(error) if Instant::now() < deadline => wait_for_room(&error, &mut room).await,
                Err(_) => {
                    behind += source.waiting();
                    left = 0;
                }
            }
        }
    }
    behind
}

#[cfg(test)]
mod tests;
