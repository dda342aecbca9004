//! Moves the output of an execution from its pipes or its terminal to its log, and writes the verdict.
//!
//! 1. Bytes are spliced from the pipe to the log's file; those of a terminal go through a relay pipe that init holds
//!    too. So they are in the kernel or in the log, and never only in the worker.
//! 2. When init reports that the program has ended, the bytes that are in the pipes at that moment are moved, then
//!    `exited` is written.
//! 3. When no writer is left, `closed` is written, and init releases the pipes.

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

/// The most bytes of one step, so that the two streams of a program alternate. A step is a record, and a record is
/// never divided: a follower that does not read keeps it in memory, several times over.
const STEP_BYTES: usize = 64 << 10;
/// More than the buffers of a terminal hold. One read returns at most 4 KiB.
const TERMINAL_BYTES: usize = 128 << 10;
/// The first pause before a write to a full disk is repeated.
pub(crate) const MIN_DISK_RETRY: Duration = Duration::from_millis(200);
/// The longest such pause: thousands of executions may wait for the same disk.
pub(crate) const MAX_DISK_RETRY: Duration = Duration::from_secs(2);
/// How long a verdict waits for disk space for the output before it; the rest of the output follows later.
const VERDICT_DISK_WAIT: Duration = Duration::from_secs(2);
/// A program that prints tiny pieces gets this many records at once, and then one for each [`RECORD_PAUSE`].
const BURST_RECORDS: u32 = 512;
const RECORD_PAUSE: Duration = Duration::from_millis(1);
/// Pieces of at least this size are never delayed.
const LARGE_BYTES: u64 = 4096;
/// How often pipes are checked while a full log blocks the program: those without a writer are drained.
const FULL_LOG_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How often a terminal is checked that no process has open (or that no process had open at some time).
const CLOSED_TERMINAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A source of output.
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
    /// Not to be checked before this time.
    idle_until: Option<Instant>,
}

impl Source {
    /// The read end of a pipe (nonblocking).
    pub(crate) fn pipe(stream: Stream, pipe: OwnedFd) -> io::Result<Self> {
        let pipe = register(pipe, Interest::READABLE)?;
        Ok(Self { stream, pipe, terminal: None, ended: false })
    }

    /// A terminal's master (nonblocking) and its relay.
    pub(crate) fn terminal(master: Arc<OwnedFd>, reading: OwnedFd, relay: OwnedFd) -> io::Result<Self> {
        let master = register(master, Interest::READABLE)?;
        let pipe = register(reading, Interest::READABLE)?;
        let terminal = Some(Terminal { master, relay, idle_until: None });
        Ok(Self { stream: Stream::Output, pipe, terminal, ended: false })
    }

    /// Waits until there are bytes to move, or the end; forever after the end.
    async fn ready(&self) {
        if self.ended {
            std::future::pending::<()>().await;
        }
        if let Some(at) = self.terminal.as_ref().and_then(|terminal| terminal.idle_until) {
            tokio::time::sleep_until(at).await;
        }
        let ready = match &self.terminal {
            // Bytes that a killed worker left in the relay: the master does not report them.
            Some(_) if rustix::io::ioctl_fionread(&self.pipe).is_ok_and(|bytes| bytes > 0) => return,
            Some(terminal) => terminal.master.readable().await.map(drop),
            None => self.pipe.readable().await.map(drop),
        };
        if ready.is_err() {
            std::future::pending::<()>().await; // the runtime is shutting down
        }
    }

    /// Moves some of the available bytes.
    fn step(&mut self, writer: &mut Writer, program_ended: bool) -> Result<Taken, LogError> {
        if self.ended {
            return Ok(Taken::End);
        }
        let taken = match &mut self.terminal {
            None => {
                // Determined before the splice: later readiness must not be cleared.
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

    /// Whether no process has it open for writing, so that no more bytes will arrive.
    fn has_no_writer(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let fd = self.terminal.as_ref().map_or(self.pipe.as_fd(), |terminal| terminal.master.as_fd());
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
        !self.ended && poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }

    /// The bytes to move before the verdict may be written.
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

/// The readiness of a descriptor as the runtime knows it now.
fn ready_now<T: AsRawFd>(fd: &AsyncFd<T>) -> Option<AsyncFdReadyGuard<'_, T>> {
    match fd.poll_read_ready(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(guard)) => Some(guard),
        Poll::Ready(Err(_)) | Poll::Pending => None,
    }
}

impl Terminal {
    /// A terminal returns at most 4 KiB per read: moves what else is available, so that a flood becomes few large pieces
    /// and is not delayed as a series of small ones. The next step finds out why it stopped (no more bytes, a full relay,
    /// the end), when the relay is empty.
    fn gather(&self, mut moved: usize) {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        while moved < STEP_BYTES {
            match rustix::pipe::splice(&self.master, None, &self.relay, None, STEP_BYTES - moved, flags) {
                Ok(more) if more > 0 => moved += more,
                _ => return,
            }
        }
    }

    /// Moves the content of the relay first; then from the master into the relay, and on to the log.
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
        self.idle_until = None;
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
            // No process has it open, or had at some time: the runtime reports it as ready forever, so do not spin.
            Err(error) if error == Errno::AGAIN || !program_ended => {
                self.idle_until = Some(Instant::now() + CLOSED_TERMINAL_CHECK_INTERVAL);
                Ok(Taken::Empty)
            }
            // Before the program ended, it could have opened the terminal again by name.
            Err(_) => Ok(Taken::End),
        }
    }
}

/// Limits the number of records when a program prints tiny pieces.
struct RecordPacer {
    left: u32,
    since: Instant,
}

impl RecordPacer {
    fn new() -> Self {
        Self { left: BURST_RECORDS, since: Instant::now() }
    }

    /// Waits after too many small pieces: the next ones accumulate in the pipe and become one piece.
    async fn pause(&mut self, bytes: u64) {
        if bytes >= LARGE_BYTES {
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        let earned =
            u32::try_from(self.since.elapsed().as_millis()).unwrap_or(BURST_RECORDS).min(BURST_RECORDS);
        self.since = Instant::now();
        self.left = earned.max(1);
        if earned < BURST_RECORDS {
            tokio::time::sleep(RECORD_PAUSE).await;
        }
    }
}

/// The execution that a pump works for.
pub(crate) trait PumpHost {
    /// Writes the verdict: the program has ended (`None`: how is not known), and its output is in the log, apart from
    /// `waiting` bytes.
    fn exited(
        &self,
        exit: Option<Exit>,
        waiting: u64,
        writer: &mut Writer,
    ) -> impl Future<Output = ()> + Send;
    /// Called once, when the program has printed more than `stop_at` bytes.
    fn on_output_limit(&self) -> impl Future<Output = ()> + Send;
    /// Whether the session is ending: output that cannot be logged is dropped.
    fn is_stopping(&self) -> bool;
}

/// Runs until no writer is left. Then the log has its verdict, and the caller closes it.
pub(crate) async fn pump(
    mut sources: Vec<Source>,
    mut writer: Writer,
    exit: oneshot::Receiver<Exit>,
    stop_at: Option<u64>,
    host: impl PumpHost,
) -> Writer {
    let mut stop_at = stop_at;
    let mut exit = Some(exit);
    let mut pacer = RecordPacer::new();
    let mut room = Backoff::new(MIN_DISK_RETRY, MAX_DISK_RETRY);
    let mut turn = 0;
    loop {
        if exit.is_none() && sources.iter().all(|source| source.ended) {
            return writer;
        }
        let next = if writer.is_full() {
            tokio::select! {
                biased;
                how = exit_report(&mut exit) => Next::Exit(how),
                () = writer.room() => Next::Room,
                () = tokio::time::sleep(FULL_LOG_CHECK_INTERVAL) => Next::CheckWriters,
            }
        } else {
            let [first, second] = ready_sources(&sources, turn);
            tokio::select! {
                // A source may be always ready (a flood, a terminal that no process has open): it must not delay the
                // verdict or the other source.
                biased;
                how = exit_report(&mut exit) => Next::Exit(how),
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
                            host.on_output_limit().await;
                        }
                        pacer.pause(bytes as u64).await;
                    }
                    Ok(_) => {}
                    Err(error) if exit.is_none() && host.is_stopping() => {
                        // The verdict has waited for disk space long enough.
                        tracing::warn!(%error, bytes = source.waiting(), "dropped output of an ended session");
                        source.ended = true;
                    }
                    Err(error) => wait_for_room(&error, &mut room).await,
                }
                // A flood must not starve other executions.
                tokio::task::consume_budget().await;
            }
            Next::Room => writer.update_room(),
            Next::CheckWriters => {
                for source in sources.iter_mut().filter(|source| source.has_no_writer()) {
                    // At most the content of a pipe, which may exceed the limit: nothing else would end this wait.
                    drain(std::slice::from_mut(source), &mut writer).await;
                    source.ended |= matches!(source.step(&mut writer, exit.is_none()), Ok(Taken::End));
                }
            }
            Next::Exit(how) => {
                exit = None;
                let waiting = drain(&mut sources, &mut writer).await;
                host.exited(how, waiting, &mut writer).await;
            }
        }
    }
}

enum Next {
    Source(usize),
    Exit(Option<Exit>),
    /// A full log may have room.
    Room,
    /// Check the pipes of a full log.
    CheckWriters,
}

/// The readiness of the two sources (there are never more); the one at `turn` is first.
fn ready_sources(sources: &[Source], turn: usize) -> [impl Future<Output = ()> + '_; 2] {
    let ready = |n: usize| async move {
        match sources.get(n) {
            Some(source) => source.ready().await,
            None => std::future::pending().await,
        }
    };
    [ready(turn), ready(1 - turn)]
}

async fn exit_report(exit: &mut Option<oneshot::Receiver<Exit>>) -> Option<Exit> {
    match exit {
        Some(receiver) => receiver.await.ok(),
        None => std::future::pending().await,
    }
}

async fn wait_for_room(error: &LogError, backoff: &mut Backoff) {
    if !error.is_disk_full() {
        tracing::error!(%error, "cannot log output; it waits in its pipe");
    }
    backoff.pause().await;
}

/// Moves the bytes that were in the pipes when the program ended, and no more: a child that keeps printing must not
/// delay the verdict. Returns the bytes that could not be moved because the disk is full.
async fn drain(sources: &mut [Source], writer: &mut Writer) -> u64 {
    let deadline = Instant::now() + VERDICT_DISK_WAIT;
    let mut behind = 0;
    let mut room = Backoff::new(MIN_DISK_RETRY, MIN_DISK_RETRY);
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
