//! The task of a terminal: follows its log, feeds its screen, sends the emulator's replies to its program, and ends it
//! when it was idle for too long.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use headwater_log::{Log, Reader};
use headwater_protocol::EventKind;
use headwater_sandbox::wire::Cause;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::checkpoint;
use super::hub::Hub;
use super::live::Live;
use super::rebuild;
use crate::engine::Engine;
use crate::executions::execution::Execution;
use crate::sessions::session::{Session, grace};

/// A screen without output for this long is compressed.
const SLEEP_AFTER: Duration = Duration::from_secs(2);
/// The output between two checkpoints.
const CHECKPOINT_INTERVAL_BYTES: u64 = 4 << 20;
/// The most replies that wait for a program that does not read them; more are dropped.
const MAX_REPLY_BYTES: usize = 64 << 10;

/// The state of the task.
pub(super) struct Feeder {
    pub(super) engine: std::sync::Weak<Engine>,
    pub(super) session: Arc<Session>,
    pub(super) execution: Arc<Execution>,
    pub(super) log: Arc<Log>,
    pub(super) live: Arc<Live>,
    /// Queries up to this record were answered by an earlier worker.
    pub(super) answered: u64,
    pub(super) replaying: bool,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) replies: Arc<Replies>,
}

/// Replies that wait to be sent to the program.
#[derive(Debug, Default)]
pub(super) struct Replies {
    waiting: std::sync::Mutex<Vec<u8>>,
    turn: Mutex<()>,
}

/// What to do next.
enum Next {
    Take(headwater_protocol::Event),
    Sleep,
    EndIdle,
    Over,
}

impl Feeder {
    /// Runs until the log is closed.
    pub(super) async fn run(mut self) {
        let mut reader = rebuild::reader(&self.log, self.live.fed());
        let (mut awake, mut bytes) = (true, 0);
        loop {
            self.note_replayed();
            match self.next(&mut reader, awake).await {
                Next::Take(event) => {
                    awake = true;
                    bytes += self.take(event).await;
                    if bytes >= CHECKPOINT_INTERVAL_BYTES {
                        bytes = 0;
                        self.keep().await;
                    }
                }
                Next::Sleep => {
                    self.live.sleep();
                    awake = false;
                }
                Next::EndIdle => self.end_idle().await,
                Next::Over => break,
            }
        }
        if bytes > 0 && self.log.head().ends.total() > CHECKPOINT_INTERVAL_BYTES {
            self.keep().await;
        }
        // From now on it is rebuilt from the log.
        self.execution.set_screen(None);
    }

    async fn next(&self, reader: &mut Reader, awake: bool) -> Next {
        let sleep = awake.then(|| Instant::now() + SLEEP_AFTER);
        loop {
            let idle = self.idle_timeout.map(|timeout| {
                // While it has viewers, check again later.
                self.live.idle_since().unwrap_or_else(Instant::now) + timeout
            });
            let until = [sleep, idle].into_iter().flatten().min();
            let event = match until {
                Some(until) => tokio::time::timeout_at(until, reader.next()).await,
                None => Ok(reader.next().await),
            };
            match event {
                Ok(Ok(Some(event))) => return Next::Take(event),
                Ok(Ok(None)) => return Next::Over,
                Ok(Err(error)) => {
                    tracing::warn!(execution = %self.execution.id(), %error, "cannot read a terminal's log");
                    return Next::Over;
                }
                Err(_) if sleep.is_some_and(|sleep| Instant::now() >= sleep) => return Next::Sleep,
                Err(_) if self.is_idle() => return Next::EndIdle,
                Err(_) => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        let since = self.live.idle_since();
        self.idle_timeout.zip(since).is_some_and(|(timeout, since)| since.elapsed() >= timeout)
    }

    /// Applies a record; returns its length.
    async fn take(&self, event: headwater_protocol::Event) -> u64 {
        let bytes = match event.kind {
            EventKind::Output { bytes, .. } => bytes,
            _ => Bytes::new(),
        };
        let fed = {
            let engine = self.engine.upgrade();
            // Never closed: it lives as long as the engine.
            let _permit = match &engine {
                Some(engine) if !bytes.is_empty() => engine.terminals.drawing.acquire().await.ok(),
                _ => None,
            };
            self.live.feed(event.seq.0, &bytes)
        };
        if event.seq.0 > self.answered && !fed.replies.is_empty() {
            self.answer(&fed.replies);
        }
        tokio::task::consume_budget().await;
        bytes.len() as u64
    }

    /// Sends replies to the program without waiting for it: a program that does not read must not block its screen.
    fn answer(&self, replies: &[u8]) {
        let all = Arc::clone(&self.replies);
        {
            let mut waiting = all.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if waiting.len() + replies.len() > MAX_REPLY_BYTES {
                return;
            }
            waiting.extend_from_slice(replies);
            if waiting.len() > replies.len() {
                return; // the running sender sends this too
            }
        }
        let execution = Arc::clone(&self.execution);
        tokio::spawn(async move {
            let _turn = all.turn.lock().await;
            let Ok(stdin) = execution.stdin().await else { return };
            loop {
                let next = {
                    let waiting = all.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    Bytes::copy_from_slice(&waiting)
                };
                // The entry stays until it is sent, so that no second sender starts.
                if next.is_empty() || stdin.write(None, next.clone()).await.is_err() {
                    return;
                }
                let mut waiting = all.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                waiting.drain(..next.len());
                if waiting.is_empty() {
                    return;
                }
            }
        });
    }

    /// Writes a checkpoint.
    async fn keep(&self) {
        let (live, dir) = (Arc::clone(&self.live), self.execution.dir().to_owned());
        let kept = tokio::task::spawn_blocking(move || live.checkpoint().write(&dir)).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!(execution = %self.execution.id(), %error, "cannot write a checkpoint of a terminal");
        }
    }

    fn note_replayed(&mut self) {
        if self.replaying && self.live.fed() >= self.answered {
            self.replaying = false;
            checkpoint::replayed(self.execution.dir());
        }
    }

    async fn end_idle(&self) {
        tracing::info!(execution = %self.execution.id(), "terminal idle for too long");
        // Not again before it had time to end.
        self.live.touch();
        // If the session has ended, there is nothing to stop.
        let grace = grace(&self.execution.record().spec);
        let _ = self.session.stop(self.execution.id(), Cause::Cancelled, grace).await;
    }
}

/// Starts to follow an execution on a terminal.
pub(crate) fn begin(engine: &Arc<Engine>, session: &Arc<Session>, execution: &Arc<Execution>) {
    let hub: &Hub = &engine.terminals;
    let record = execution.record();
    if !super::is_terminal(&record.spec) {
        return;
    }
    let Ok(log) = execution.log() else { return };
    let answered = log.head().last_seq.0;
    let replaying = execution.head().ends.total() > 0;
    let live = if !replaying || checkpoint::may_replay(execution.dir()) {
        rebuild::live(hub, execution)
    } else {
        tracing::error!(execution = %execution.id(), "cannot replay a terminal's log: its screen begins empty");
        rebuild::empty(hub, execution)
    };
    execution.set_screen(Some(Arc::clone(&live)));
    let feeder = Feeder {
        engine: engine.weak(),
        session: Arc::clone(session),
        execution: Arc::clone(execution),
        log,
        live,
        answered,
        replaying,
        idle_timeout: hub.config.idle_timeout,
        replies: Arc::default(),
    };
    tokio::spawn(feeder.run());
}
