//! A stream of chunks: the log of a conversation and the executions of its running calls, at the pace of the reader.
//!
//! It has no task, and no queue that grows: the next entry of the log is encoded when everything before it was taken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use headwater_protocol::conversation::{LogEntry, MessageId, Turn};
use tokio::time::{Instant, sleep_until};

use super::chunk::Chunk;
use super::command;
use super::encoder::{Encoder, Output, Scope, Waiting};
use super::outputs::Outputs;
use super::progress::ProgressMode;
use super::user::files_url;
use crate::conversations::{Live, LogReader};
use crate::error::ApiError;
use crate::state::Gateway;

/// Calls that are ready may begin by themselves although another one waits for a person. The stream waits this long.
const PAUSE_AFTER: Duration = Duration::from_millis(250);
/// A program has ended before its call has. This is how long the last of its output may take.
const DRAIN: Duration = Duration::from_secs(2);

/// The next thing of a stream.
pub(crate) enum Item {
    /// Send this.
    Chunk(Box<Chunk>),
    /// Everything was sent.
    End,
    /// The rest cannot be read now: the client must come back.
    Broken,
}

/// The result of a call that is being read.
enum Closing {
    Reading {
        call: String,
        result: BoxFuture<'static, (Chunk, bool)>,
    },
    /// The result is known; the rest of the output comes first.
    Draining {
        call: String,
        chunk: Chunk,
        until: Instant,
    },
}

/// A response, as it is sent to one reader.
pub(crate) struct UiStream {
    gateway: Arc<Gateway>,
    reader: LogReader,
    encoder: Encoder,
    outputs: Outputs,
    entries: VecDeque<Arc<LogEntry>>,
    pending: VecDeque<Output>,
    progress: VecDeque<Chunk>,
    closing: Option<Closing>,
    pause_at: Option<Instant>,
    is_over: bool,
}

impl UiStream {
    fn new(
        gateway: &Arc<Gateway>,
        live: Arc<Live>,
        (scope, after): (Scope, u64),
        mode: ProgressMode,
        files: Option<String>,
    ) -> Self {
        Self {
            gateway: Arc::clone(gateway),
            reader: LogReader::new(live, after),
            encoder: Encoder::new(scope, files),
            outputs: Outputs::new(gateway, mode),
            entries: VecDeque::new(),
            pending: VecDeque::new(),
            progress: VecDeque::new(),
            closing: None,
            pause_at: None,
            is_over: false,
        }
    }

    /// The response of the last turn, from its beginning. It is read from the log, piece by piece.
    pub(crate) fn of_turn(gateway: &Arc<Gateway>, live: Arc<Live>, turn: &Turn, mode: ProgressMode) -> Self {
        let files = files_url(live.row().session_id);
        let from = (Scope::Turn(turn.turn_id.clone()), turn.first_seq.saturating_sub(1));
        Self::new(gateway, live, from, mode, files)
    }

    /// The rest of the response of the last turn, for a client that has everything up to an event.
    pub(crate) async fn after(
        gateway: &Arc<Gateway>,
        live: Arc<Live>,
        turn: &Turn,
        seq: u64,
        mode: ProgressMode,
    ) -> Result<Self, ApiError> {
        let mut stream = Self::of_turn(gateway, live, turn, mode);
        while stream.reader.position() < seq {
            let Some(entries) = stream.reader.next().await? else { break };
            for entry in entries {
                if entry.seq > seq {
                    stream.entries.push_back(entry);
                } else {
                    stream.encoder.push(&entry);
                }
            }
        }
        stream.pending = stream.encoder.continued().into();
        Ok(stream)
    }

    /// The response to a message, which may still wait in the queue.
    pub(crate) fn answer_to(
        gateway: &Arc<Gateway>,
        live: &Arc<Live>,
        message: MessageId,
        mode: ProgressMode,
    ) -> Self {
        let now = live.fold();
        let files = files_url(live.row().session_id);
        let from = (Scope::AnswerTo(message), now.last_seq);
        let mut stream = Self::new(gateway, Arc::clone(live), from, mode, files);
        stream.pending = stream.encoder.replay(&now).into();
        stream
    }

    /// A stream with nothing in it.
    pub(crate) fn nothing(gateway: &Arc<Gateway>, live: Arc<Live>) -> Self {
        let from = (Scope::Turn(String::new()), live.fold().last_seq);
        Self { is_over: true, ..Self::new(gateway, live, from, ProgressMode::None, None) }
    }

    /// The last event of the log, if everything that it adds was taken.
    pub(crate) fn position(&self) -> Option<u64> {
        (self.pending.is_empty() && self.closing.is_none()).then(|| self.encoder.seq())
    }

    /// The next chunk. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Item {
        loop {
            if let Some(chunk) = self.ready() {
                return Item::Chunk(Box::new(chunk));
            }
            if self.is_idle() {
                if self.is_over || self.encoder.is_over() {
                    return Item::End;
                }
                if self.advance() {
                    continue;
                }
            }
            let (reads, due) = (self.is_idle(), self.outputs.due());
            tokio::select! {
                read = self.reader.next(), if reads => match read {
                    Ok(Some(entries)) => self.entries.extend(entries),
                    Ok(None) => self.pending.extend(self.encoder.fail("the conversation was deleted".to_owned())),
                    Err(error) if error.retry_after.is_some() => return Item::Broken,
                    Err(error) => self.pending.extend(self.encoder.fail(error.message.into_owned())),
                },
                result = closed(&mut self.closing) => self.read_result(result),
                chunks = self.outputs.next() => self.progress.extend(chunks),
                () = at(due) => self.progress.extend(self.outputs.preliminary(Instant::now())),
                () = at(self.pause_at) => {
                    self.pause_at = None;
                    self.pending.extend(self.encoder.pause());
                }
            }
        }
    }

    /// Whether everything of the log so far was taken.
    fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.closing.is_none()
    }

    /// The next chunk that is there already.
    fn ready(&mut self) -> Option<Chunk> {
        loop {
            if let Some(chunk) = self.progress.pop_front() {
                return Some(chunk);
            }
            self.drained();
            if self.closing.is_some() {
                return None;
            }
            match self.pending.pop_front()? {
                Output::Chunk(chunk) => return Some(chunk),
                Output::Follow { tool_call_id, execution_id } => {
                    // The output of a call that has ended is in its result.
                    let now = self.reader.live().fold();
                    if now.tool_call(&tool_call_id).is_some_and(|call| !call.state.is_end()) {
                        drop(now);
                        self.outputs.follow(tool_call_id, execution_id);
                    }
                }
                Output::Result(end) => {
                    let call = end.tool_call_id.clone();
                    let result = Box::pin(command::result(Arc::clone(&self.gateway), *end));
                    self.closing = Some(Closing::Reading { call, result });
                }
            }
        }
    }

    /// Encodes the next entry, or decides that the client must act. Returns whether anything changed.
    fn advance(&mut self) -> bool {
        if let Some(entry) = self.entries.pop_front() {
            self.pause_at = None;
            self.pending.extend(self.encoder.push(&entry));
            return true;
        }
        if !self.reader.is_current() {
            return false;
        }
        // A message that waits behind a question is answered in the stream that the answer begins.
        if self.encoder.is_ahead() && !self.reader.live().open_approvals().is_empty() {
            self.is_over = true;
            return true;
        }
        match self.encoder.waiting() {
            Waiting::No => self.pause_at = None,
            Waiting::Perhaps => _ = self.pause_at.get_or_insert_with(|| Instant::now() + PAUSE_AFTER),
            Waiting::Yes => self.pending.extend(self.encoder.pause()),
        }
        !self.pending.is_empty()
    }

    /// The result of a call was read: it is sent after its output.
    fn read_result(&mut self, result: Option<(Chunk, bool)>) {
        let Some(Closing::Reading { call, .. }) = &self.closing else { return };
        let Some((chunk, is_running)) = result else { return };
        let call = call.clone();
        if is_running {
            self.outputs.leave(&call);
        }
        self.closing = Some(Closing::Draining { call, chunk, until: Instant::now() + DRAIN });
    }

    /// Sends a result whose output was sent.
    fn drained(&mut self) {
        let is_drained = match &self.closing {
            Some(Closing::Draining { call, until, .. }) => {
                !self.outputs.follows(call) || Instant::now() >= *until
            }
            _ => false,
        };
        if let Some(Closing::Draining { call, chunk, .. }) = self.closing.take_if(|_| is_drained) {
            self.outputs.leave(&call);
            self.pending.push_front(Output::Chunk(chunk));
        }
    }
}

/// Waits for the result that is being read, or for the end of its output at most until its time is over. Cancel-safe.
async fn closed(closing: &mut Option<Closing>) -> Option<(Chunk, bool)> {
    match closing {
        Some(Closing::Reading { result, .. }) => Some(result.await),
        Some(Closing::Draining { until, .. }) => {
            sleep_until(*until).await;
            None
        }
        None => std::future::pending().await,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
