//! An execution in the worker: its record, its log and, while it runs, its input and its terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors::{self, Purpose};
use headwater_log::{self, Head, Log, LogSize};
use headwater_protocol::{
    Execution as ExecutionInfo, ExecutionId, ExecutionState, SessionId, Stdin, Stream, TtySize,
};
use rustix::termios::Winsize;
use tokio::sync::Notify;

use crate::executions::stdin::StdinPipe;
use crate::layout::ExecutionRecord;
use crate::terminals::{self, Live};

/// One program that was started in a session.
#[derive(Debug)]
pub(crate) struct Execution {
    record: ExecutionRecord,
    /// Whether the record in memory has only the beginning of the code; the file has all of it.
    shortened: bool,
    dir: PathBuf,
    state: Mutex<State>,
    /// Notified when the input was opened, or never will be.
    opened: Notify,
    /// The screen of its terminal, while it runs.
    screen: Mutex<Option<Arc<Live>>>,
    /// Whether its closed log is included in the totals.
    counted: AtomicBool,
}

#[derive(Debug)]
struct State {
    log: LogState,
    /// Whether the program has started: an input that is not open now never will be.
    is_open: bool,
    stdin: Option<Arc<StdinPipe>>,
    terminal: Option<Arc<OwnedFd>>,
}

/// A closed log is not kept open: there may be a great many.
#[derive(Debug)]
enum LogState {
    Live(Arc<Log>),
    Sealed(Box<Sealed>),
}

#[derive(Debug)]
struct Sealed {
    head: Head,
    /// The disk usage of its folder, and when it was closed.
    size: LogSize,
    /// The open log, shared by its readers: as long as it has readers it is not removed.
    open: Weak<Log>,
}

impl Execution {
    /// An execution whose log is being written.
    pub(crate) fn live(record: ExecutionRecord, dir: PathBuf, log: Arc<Log>) -> Arc<Self> {
        Self::new(record, dir, LogState::Live(log))
    }

    /// An execution whose log is closed.
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

    /// Continues with a log that was recovered because its writer was lost.
    pub(crate) fn continue_in(&self, log: Arc<Log>) {
        self.state().log = LogState::Live(log);
    }

    pub(crate) const fn id(&self) -> ExecutionId {
        self.record.id
    }

    pub(crate) const fn session_id(&self) -> SessionId {
        self.record.session_id
    }

    /// Its record, with long code shortened.
    pub(crate) const fn record(&self) -> &ExecutionRecord {
        &self.record
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its log, opened again if it is closed.
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

    /// The bytes of its log on the disk. Cheap.
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

    /// Marks its closed log as included in the totals. Returns whether it was not before.
    pub(crate) fn count_once(&self) -> bool {
        !self.counted.swap(true, Ordering::Relaxed)
    }

    /// Whether its closed log has readers.
    pub(crate) fn is_read(&self) -> bool {
        matches!(&self.state().log, LogState::Sealed(sealed) if sealed.open.strong_count() > 0)
    }

    /// The end of its log.
    pub(crate) fn head(&self) -> Head {
        match &self.state().log {
            LogState::Live(log) => log.head(),
            LogState::Sealed(sealed) => sealed.head.clone(),
        }
    }

    /// Sets the input and the terminal, as far as the program has them.
    pub(crate) fn open_input(&self, stdin: Option<Arc<StdinPipe>>, terminal: Option<Arc<OwnedFd>>) {
        let mut state = self.state();
        state.is_open = true;
        state.stdin = stdin;
        state.terminal = terminal;
        drop(state);
        self.opened.notify_waiters();
    }

    /// Releases everything that only a running execution needs.
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

    /// Its standard input. Waits until the program has started: a caller may write right after the start.
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
                let message = format!("`{}` has ended and no longer reads input", self.id());
                return Err(Fault::new(FaultKind::Conflict, message));
            }
            if self.record.spec.stdin != Stdin::Open && self.record.spec.tty.is_none() {
                let message = format!("`{}` was started without open input", self.id());
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

    /// The folder of its record and its log.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The screen of its terminal, while it runs.
    pub(crate) fn screen(&self) -> Option<Arc<Live>> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the emulator that follows it.
    pub(crate) fn set_screen(&self, live: Option<Arc<Live>>) {
        *self.screen.lock().unwrap_or_else(PoisonError::into_inner) = live;
    }

    /// Changes the size of its terminal.
    pub(crate) fn resize(&self, size: TtySize) -> Result<(), Fault> {
        let Some(terminal) = self.state().terminal.clone() else {
            let fault = Fault::new(FaultKind::Conflict, format!("`{}` has no running terminal", self.id()));
            return Err(fault.hint("start it with a terminal to be able to resize it"));
        };
        // Noted first: output that is drawn for the new size must come after it.
        terminals::note_size(self, size);
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(terminal.as_fd(), size)
            .map_err(|error| Fault::new(FaultKind::Internal, format!("cannot resize the terminal: {error}")))
    }

    /// Waits until it has ended or, with `closed`, until its log is closed; at most this long.
    pub(crate) async fn wait(&self, at_most: Duration, closed: bool) {
        let log = match &self.state().log {
            LogState::Live(log) => Arc::clone(log),
            LogState::Sealed(_) => return,
        };
        // A timeout is not an error: the caller checks the state anyway.
        let _ = tokio::time::timeout(at_most, log.wait(closed)).await;
    }

    /// Its info with all of its code, however long.
    pub(crate) fn full_info(&self) -> ExecutionInfo {
        let mut info = self.info();
        if self.shortened
            && let Ok(record) = ExecutionRecord::read(&self.dir)
        {
            info.spec.command = record.spec.command;
        }
        info
    }

    /// Its info for lists; long code is shortened.
    pub(crate) fn info(&self) -> ExecutionInfo {
        let head = self.head();
        let verdict = head.verdict.as_deref().cloned();
        let state = match (verdict, head.closed, head.started) {
            (Some(verdict), true, _) => ExecutionState::Closed { verdict },
            (Some(verdict), false, _) => ExecutionState::Exited { verdict },
            (None, _, Some(started)) => ExecutionState::Running { pid: started.pid },
            (None, _, None) => ExecutionState::Queued,
        };
        ExecutionInfo {
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
        // The record first: if the worker is killed now, the next one removes a folder without a record.
        ExecutionRecord::remove(&self.dir)?;
        std::fs::remove_dir_all(&self.dir)
    }
}
