//! An execution as the worker knows it: its record, its log, and, while it lives, the ways into its program.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors::{self, Purpose};
use headwater_log::{self, Head, Log, LogSize};
use headwater_protocol::{Execution as Told, ExecutionId, ExecutionState, SessionId, Stdin, Stream, TtySize};
use rustix::termios::Winsize;
use tokio::sync::Notify;

use crate::executions::stdin::StdinPipe;
use crate::layout::ExecutionRecord;
use crate::terminals::{self, Live};

/// One thing run in a session.
#[derive(Debug)]
pub(crate) struct Execution {
    record: ExecutionRecord,
    /// Whether the record's file has more of the code.
    shortened: bool,
    dir: PathBuf,
    state: Mutex<State>,
    /// Told when the ways into the program have been opened, or never will be.
    opened: Notify,
    /// What its terminal shows, while it lives.
    screen: Mutex<Option<Arc<Live>>>,
    /// Whether its closed log is part of the totals.
    counted: AtomicBool,
}

#[derive(Debug)]
struct State {
    log: LogState,
    /// Whether the program is there, so that what is not open now never will be.
    is_open: bool,
    stdin: Option<Arc<StdinPipe>>,
    terminal: Option<Arc<OwnedFd>>,
}

/// A closed log is not kept open: there may be very many.
#[derive(Debug)]
enum LogState {
    Live(Arc<Log>),
    Sealed(Box<Sealed>),
}

#[derive(Debug)]
struct Sealed {
    head: Head,
    /// Bytes that its folder takes on the disk, and when it was closed (milliseconds since 1970).
    size: LogSize,
    /// The log as its readers have it open: they share one, and while there are some it is not removed.
    open: Weak<Log>,
}

impl Execution {
    /// An execution whose log is being written.
    pub(crate) fn live(record: ExecutionRecord, dir: PathBuf, log: Arc<Log>) -> Arc<Self> {
        Self::new(record, dir, LogState::Live(log))
    }

    /// An execution of the past.
    pub(crate) fn sealed(record: ExecutionRecord, dir: PathBuf, head: Head) -> Arc<Self> {
        let size = headwater_log::measure(&dir);
        Self::new(record, dir, LogState::Sealed(Box::new(Sealed { head, size, open: Weak::new() })))
    }

    fn new(mut record: ExecutionRecord, dir: PathBuf, log: LogState) -> Arc<Self> {
        let shortened = record.shorten();
        let state = Mutex::new(State { log, is_open: false, stdin: None, terminal: None });
        let (opened, screen, counted) = (Notify::new(), Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { record, shortened, dir, state, opened, screen, counted })
    }

    /// Its log was opened again, because its writer was lost.
    pub(crate) fn continue_in(&self, log: Arc<Log>) {
        self.state().log = LogState::Live(log);
    }

    /// Its id.
    pub(crate) const fn id(&self) -> ExecutionId {
        self.record.id
    }

    /// Where it runs.
    pub(crate) const fn session_id(&self) -> SessionId {
        self.record.session_id
    }

    /// What is remembered of it.
    pub(crate) const fn record(&self) -> &ExecutionRecord {
        &self.record
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its log, opened anew if it is closed.
    pub(crate) fn log(&self) -> Result<Arc<Log>, Fault> {
        let mut state = self.state();
        let sealed = match &mut state.log {
            LogState::Live(log) => return Ok(Arc::clone(log)),
            LogState::Sealed(sealed) => sealed,
        };
        if let Some(log) = sealed.open.upgrade() {
            return Ok(log);
        }
        let descriptors = descriptors::hold(descriptors::READER, Purpose::Read)?;
        let log = Log::open(&self.dir).map_err(|error| {
            Fault::new(FaultKind::Internal, format!("the log of `{}` cannot be read: {error}", self.id()))
        })?;
        log.keep(descriptors);
        sealed.open = Arc::downgrade(&log);
        Ok(log)
    }

    /// Bytes that its log takes on the disk. Cheap.
    pub(crate) fn log_bytes(&self) -> u64 {
        match &self.state().log {
            LogState::Live(log) => log.kept_bytes(),
            LogState::Sealed(sealed) => sealed.size.bytes,
        }
    }

    /// When its log was closed, in milliseconds since 1970; `None` before that.
    pub(crate) fn closed_at_ms(&self) -> Option<u64> {
        match &self.state().log {
            LogState::Live(_) => None,
            LogState::Sealed(sealed) => Some(sealed.size.changed_at_ms),
        }
    }

    /// Says that its closed log is part of the totals. Answers whether it was not before.
    pub(crate) fn count_once(&self) -> bool {
        !self.counted.swap(true, Ordering::Relaxed)
    }

    /// Whether somebody reads its closed log.
    pub(crate) fn is_read(&self) -> bool {
        matches!(&self.state().log, LogState::Sealed(sealed) if sealed.open.strong_count() > 0)
    }

    /// How far its log has come.
    pub(crate) fn head(&self) -> Head {
        match &self.state().log {
            LogState::Live(log) => log.head(),
            LogState::Sealed(sealed) => sealed.head.clone(),
        }
    }

    /// Opens the ways into the program, those that there are.
    pub(crate) fn open_input(&self, stdin: Option<Arc<StdinPipe>>, terminal: Option<Arc<OwnedFd>>) {
        let mut state = self.state();
        state.is_open = true;
        state.stdin = stdin;
        state.terminal = terminal;
        drop(state);
        self.opened.notify_waiters();
    }

    /// Lets go of everything that only a live execution needs.
    pub(crate) fn seal(&self) {
        let mut state = self.state();
        state.stdin = None;
        state.terminal = None;
        if let LogState::Live(log) = &state.log {
            let (head, open) = (log.head(), Arc::downgrade(log));
            state.log =
                LogState::Sealed(Box::new(Sealed { head, size: headwater_log::measure(&self.dir), open }));
        }
        drop(state);
        self.opened.notify_waiters();
    }

    /// The way to its standard input. Waits for the program to be there: whoever starts something may write at once.
    pub(crate) async fn stdin(&self) -> Result<Arc<StdinPipe>, Fault> {
        loop {
            let mut opened = std::pin::pin!(self.opened.notified());
            opened.as_mut().enable();
            let (stdin, is_open) = {
                let state = self.state();
                (state.stdin.clone(), state.is_open)
            };
            if let Some(stdin) = stdin {
                return Ok(stdin);
            }
            if self.head().verdict.is_some() {
                let message = format!("`{}` has ended: nothing reads its input", self.id());
                return Err(Fault::new(FaultKind::Conflict, message));
            }
            if self.record.spec.stdin != Stdin::Open && self.record.spec.tty.is_none() {
                let message = format!("`{}` was started without an open input", self.id());
                return Err(Fault::new(FaultKind::Conflict, message)
                    .hint("start it with stdin `open`, or with a terminal"));
            }
            if is_open {
                let message = format!("the input of `{}` has ended", self.id());
                return Err(Fault::new(FaultKind::Conflict, message));
            }
            opened.await;
        }
    }

    /// Its folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What its terminal shows, while it lives.
    pub(crate) fn screen(&self) -> Option<Arc<Live>> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An emulator follows it from now on, or no longer does.
    pub(crate) fn set_screen(&self, live: Option<Arc<Live>>) {
        *self.screen.lock().unwrap_or_else(PoisonError::into_inner) = live;
    }

    /// Changes the size of its terminal.
    pub(crate) fn resize(&self, size: TtySize) -> Result<(), Fault> {
        let Some(terminal) = self.state().terminal.clone() else {
            let fault = Fault::new(FaultKind::Conflict, format!("`{}` has no live terminal", self.id()));
            return Err(fault.hint("start it with a terminal to be able to resize it"));
        };
        // What is drawn for the new size must come after it.
        terminals::note_size(self, size);
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(terminal.as_fd(), size)
            .map_err(|error| Fault::new(FaultKind::Internal, format!("cannot resize the terminal: {error}")))
    }

    /// Waits until it has ended (or is closed), at most so long.
    pub(crate) async fn wait(&self, at_most: Duration, closed: bool) {
        let log = match &self.state().log {
            LogState::Live(log) => Arc::clone(log),
            LogState::Sealed(_) => return,
        };
        // A timeout is no failure: the caller looks at the state in any case.
        let _ = tokio::time::timeout(at_most, log.wait(closed)).await;
    }

    /// As told to somebody who asked for this one: with all of its code, however long.
    pub(crate) fn told_in_full(&self) -> Told {
        let mut told = self.told();
        if self.shortened
            && let Ok(record) = ExecutionRecord::read(&self.dir)
        {
            told.spec.command = record.spec.command;
        }
        told
    }

    /// As told to others; code that is long is told in short.
    pub(crate) fn told(&self) -> Told {
        let head = self.head();
        let verdict = head.verdict.as_deref().cloned();
        let state = match (verdict, head.closed, head.started) {
            (Some(verdict), true, _) => ExecutionState::Closed { verdict },
            (Some(verdict), false, _) => ExecutionState::Exited { verdict },
            (None, _, Some(started)) => ExecutionState::Running { pid: started.pid },
            (None, _, None) => ExecutionState::Queued,
        };
        Told {
            id: self.id(),
            session_id: self.session_id(),
            spec: self.record.spec.clone(),
            state,
            started_at_ms: head.started.map_or(self.record.queued_at_ms, |started| started.at_us / 1000),
            stdout_bytes: head.ends.of(Stream::Stdout),
            stderr_bytes: head.ends.of(Stream::Stderr),
            output_bytes: head.ends.of(Stream::Output),
            last_seq: head.last_seq,
            log_removed: None,
        }
    }

    /// Removes its folder.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // First of all its record: what is left without one, by a worker that is killed now, the next one removes.
        ExecutionRecord::remove(&self.dir)?;
        std::fs::remove_dir_all(&self.dir)
    }
}
