//! The newest output of a call that waits, for people who watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_protocol::{ExecutionId, Seq, Stream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::outcome::Progress;
use crate::output::{Budget, End, Options, Output, Secrets};

/// At most ten reports a second: more are a burden for clients, and nobody can read them.
const INTERVAL: Duration = Duration::from_millis(100);
/// The output from which the lines are taken, in bytes.
const TAIL_BYTES: usize = 8 << 10;
/// The lines of one report.
const MAX_LINES: usize = 10;

/// Reports live output. Without a listener it does nothing.
#[derive(Debug)]
pub(super) struct Live {
    listener: Option<Listener>,
}

#[derive(Debug)]
struct Listener {
    sender: watch::Sender<Progress>,
    secrets: Arc<Secrets>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of all executions of the call.
    bytes: u64,
    reported_bytes: u64,
    reported_at: Option<Instant>,
    execution: Option<ExecutionId>,
    tail: Vec<u8>,
    /// Whether `tail` does not begin with the first byte.
    is_cut: bool,
}

impl Live {
    pub(super) fn new(sender: Option<watch::Sender<Progress>>, secrets: &Arc<Secrets>) -> Self {
        let listener =
            sender.map(|sender| Listener { sender, secrets: Arc::clone(secrets), state: Mutex::default() });
        Self { listener }
    }

    /// Reports which execution the call is about, before it has printed anything.
    pub(super) fn started(&self, execution: ExecutionId) {
        let Some(listener) = &self.listener else { return };
        let mut state = listener.state();
        state.push(execution, b"");
        listener.sender.send_modify(|progress| progress.execution = Some(execution));
    }

    /// Adds output, and reports it unless the last report is too recent.
    pub(super) fn push(&self, execution: ExecutionId, bytes: &[u8]) {
        let Some(listener) = &self.listener else { return };
        let mut state = listener.state();
        state.push(execution, bytes);
        if state.due().is_some_and(|due| due <= Instant::now()) {
            listener.report(&mut state);
        }
    }

    /// Waits until output can be reported that [`push`](Self::push) did not report, and reports it.
    pub(super) async fn report_when_due(&self) {
        let due = self.listener.as_ref().and_then(|listener| listener.state().due());
        match due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
        self.report_rest();
    }

    /// Reports what was not reported yet, at the end of a call.
    pub(super) fn report_rest(&self) {
        if let Some(listener) = &self.listener {
            let mut state = listener.state();
            if state.due().is_some() {
                listener.report(&mut state);
            }
        }
    }
}

impl Listener {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, state: &mut State) {
        (state.reported_bytes, state.reported_at) = (state.bytes, Some(Instant::now()));
        let lines = state.lines(&self.secrets);
        self.sender.send_replace(Progress { bytes: state.bytes, lines, execution: state.execution });
    }
}

impl State {
    fn push(&mut self, execution: ExecutionId, bytes: &[u8]) {
        if self.execution.replace(execution) != Some(execution) {
            // The lines of two programs are not mixed.
            self.tail.clear();
            self.is_cut = false;
        }
        self.bytes += bytes.len() as u64;
        self.tail.extend_from_slice(bytes);
        if let Some(excess) = self.tail.len().checked_sub(TAIL_BYTES).filter(|excess| *excess > 0) {
            self.tail.drain(..excess);
            self.is_cut = true;
        }
    }

    /// When the next report is due, if there is something to report.
    fn due(&self) -> Option<Instant> {
        let is_new = self.bytes > self.reported_bytes;
        is_new.then(|| self.reported_at.map_or_else(Instant::now, |last| last + INTERVAL))
    }

    /// The last complete lines.
    fn lines(&self, secrets: &Arc<Secrets>) -> String {
        let (budget, secrets) = (Budget::bytes(4 * TAIL_BYTES as u64), Arc::clone(secrets));
        let start_offset = u64::from(self.is_cut);
        let mut output = Output::new(&Options { budget, keep_ansi: false, secrets, start_offset });
        output.push(Stream::Output, Seq(1), &self.tail);
        let text = output.finish(End::Open).0.body();
        let complete = text.rfind('\n').and_then(|end| text.get(..=end)).unwrap_or_default();
        let all: Vec<&str> = complete.split_inclusive('\n').skip(usize::from(self.is_cut)).collect();
        all.iter().skip(all.len().saturating_sub(MAX_LINES)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listened(secrets: Secrets) -> (Live, watch::Receiver<Progress>) {
        let (sender, receiver) = watch::channel(Progress::default());
        (Live::new(Some(sender), &Arc::new(secrets)), receiver)
    }

    #[tokio::test(start_paused = true)]
    async fn reports_have_complete_lines_grow_and_come_at_most_ten_times_a_second() {
        let (live, mut receiver) = listened(Secrets::default());
        let id = ExecutionId::random();
        let (mut reports, mut last) = (0, 0);
        let begin = Instant::now();
        for n in 0..1000 {
            live.push(id, format!("line {n}\npart").as_bytes());
            tokio::time::advance(Duration::from_millis(3)).await;
            if receiver.has_changed().unwrap() {
                let progress = receiver.borrow_and_update().clone();
                assert!(progress.bytes > last && progress.lines.ends_with('\n'), "{progress:?}");
                (reports, last) = (reports + 1, progress.bytes);
            }
        }
        let most = begin.elapsed().as_millis() / INTERVAL.as_millis() + 1;
        assert!(reports > 5 && reports <= most, "{reports} reports, at most {most}");
        tokio::time::advance(INTERVAL).await;
        live.report_when_due().await;
        let progress = receiver.borrow().clone();
        assert!(progress.lines.ends_with("line 999\n") && progress.lines.lines().count() == MAX_LINES);
        assert_eq!(progress.execution, Some(id));
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_masked_even_if_the_tail_begins_in_the_middle_of_it() {
        let secret = "sesame-open-sesame";
        let (live, receiver) = listened(Secrets::new([("KEY", secret)]).unwrap());
        let id = ExecutionId::random();
        live.push(id, b"first\n");
        tokio::time::advance(INTERVAL).await;
        live.push(id, format!("key {secret}\n{}\n", "x".repeat(TAIL_BYTES - 10)).as_bytes());
        let lines = receiver.borrow().lines.clone();
        assert!(!lines.contains("sesame"), "{lines}");
        tokio::time::advance(INTERVAL).await;
        live.push(id, format!("again {secret}\n").as_bytes());
        assert!(receiver.borrow().lines.ends_with("again [KEY masked]\n"), "{:?}", receiver.borrow());
    }
}
