//! The screen of a running terminal, and its viewers.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_log::Log;
use headwater_protocol::TtySize;
use headwater_screen::{Fed, Mark, Screen};
use tokio::sync::watch;
use tokio::time::Instant;

use super::checkpoint::Checkpoint;
use super::rebuild::Beginning;
use super::sizes::{self, Change};

/// An emulator that follows a log.
#[derive(Debug)]
pub(crate) struct Live {
    dir: PathBuf,
    state: Mutex<State>,
    /// The last record that was applied to the screen.
    fed: watch::Sender<u64>,
    viewers: AtomicUsize,
    used_at: Mutex<Instant>,
}

#[derive(Debug)]
struct State {
    screen: Screen,
    /// Size changes whose position in the log has not been reached.
    ahead: VecDeque<Change>,
    /// The number of sizes that were applied.
    sizes: u64,
    /// The record with the prompt at which the shell waits for a command.
    prompt: Option<u64>,
}

/// A viewer of a terminal, until this is dropped.
#[derive(Debug)]
pub(crate) struct Viewer(Arc<Live>);

/// A screen with its position in the log.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) seq: u64,
    pub(crate) rows: u16,
    pub(crate) cols: u16,
    pub(crate) data: Vec<u8>,
    pub(crate) title: String,
}

impl Live {
    pub(crate) fn new(dir: &Path, begin: Beginning) -> Arc<Self> {
        let Beginning { screen, seq: fed, sizes, prompt, ahead } = begin;
        Arc::new(Self {
            dir: dir.to_owned(),
            state: Mutex::new(State { screen, ahead: ahead.into(), sizes, prompt }),
            fed: watch::Sender::new(fed),
            viewers: AtomicUsize::new(0),
            used_at: Mutex::new(Instant::now()),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last record that was applied to the screen.
    pub(crate) fn fed(&self) -> u64 {
        *self.fed.borrow()
    }

    /// Waits until this record was applied, at most this long.
    pub(crate) async fn wait_for(&self, seq: u64, at_most: Duration) {
        let mut fed = self.fed.subscribe();
        // After a timeout the current screen is returned.
        let _ = tokio::time::timeout(at_most, fed.wait_for(|fed| *fed >= seq)).await;
    }

    /// Applies a record.
    pub(crate) fn feed(&self, seq: u64, bytes: &[u8]) -> Fed {
        let mut state = self.state();
        state.apply_sizes(seq.saturating_sub(1));
        let fed = if bytes.is_empty() { Fed::default() } else { state.screen.feed(bytes) };
        for mark in &fed.marks {
            match mark {
                Mark::Prompt => state.prompt = Some(seq),
                Mark::Command(_) | Mark::Ended(_) => state.prompt = None,
                Mark::Directory(_) => {}
            }
        }
        // Under the lock: a size applies after the records before it.
        self.fed.send_replace(seq);
        fed
    }

    /// Records a new size of the terminal.
    pub(crate) fn resize(&self, log: &Log, at_ms: u64, size: TtySize) {
        let mut state = self.state();
        let change = Change { at_ms, after: log.head().last_seq.0, size };
        if let Err(error) = sizes::append(&self.dir, change) {
            tracing::warn!(dir = %self.dir.display(), %error, "cannot record a terminal's size");
        }
        state.ahead.push_back(change);
        let fed = self.fed();
        state.without_waking(|state| state.apply_sizes(fed));
    }

    /// The current screen.
    pub(crate) fn show(&self, scrollback: Option<usize>) -> Shown {
        let mut state = self.state();
        let seq = self.fed();
        state.without_waking(|state| {
            state.apply_sizes(seq);
            show(&mut state.screen, seq, scrollback)
        })
    }

    /// The current screen as a checkpoint.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let mut state = self.state();
        let seq = self.fed();
        let (rows, cols) = state.screen.size();
        let snapshot = state.screen.snapshot(None);
        Checkpoint { seq, sizes: state.sizes, rows, cols, prompt: state.prompt, snapshot }
    }

    /// The record with the prompt at which the shell waits for a command.
    pub(crate) fn prompt(&self) -> Option<u64> {
        self.state().prompt
    }

    /// Releases memory until the next record.
    pub(crate) fn sleep(&self) {
        self.state().screen.sleep();
    }

    /// Records that the terminal is used.
    pub(crate) fn touch(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Registers a viewer.
    pub(crate) fn viewer(self: &Arc<Self>) -> Viewer {
        self.viewers.fetch_add(1, Ordering::Relaxed);
        Viewer(Arc::clone(self))
    }

    /// Since when it is idle; `None` while it has viewers.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let used_at = *self.used_at.lock().unwrap_or_else(PoisonError::into_inner);
        (self.viewers.load(Ordering::Relaxed) == 0).then_some(used_at)
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.touch();
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl State {
    /// Runs `act` on the screen; a compressed screen is compressed again afterwards.
    fn without_waking<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let was_awake = self.screen.is_awake();
        let done = act(self);
        if !was_awake {
            self.screen.sleep();
        }
        done
    }

    /// Applies the sizes up to this record.
    fn apply_sizes(&mut self, after: u64) {
        while let Some(change) = self.ahead.front().filter(|change| change.after <= after) {
            self.screen.resize(change.size.rows, change.size.cols);
            self.sizes += 1;
            self.ahead.pop_front();
        }
    }
}

/// The screen after this record.
pub(crate) fn show(screen: &mut Screen, seq: u64, scrollback: Option<usize>) -> Shown {
    let (rows, cols) = screen.size();
    let data = screen.snapshot(scrollback);
    let title = screen.title().unwrap_or_default().to_owned();
    Shown { seq, rows, cols, data, title }
}
