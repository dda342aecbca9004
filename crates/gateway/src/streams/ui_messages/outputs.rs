//! The executions of running calls that a stream follows, each at the pace of the stream's reader.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use headwater_contract::FollowOptions;
use headwater_protocol::{Event, ExecutionId};
use tokio::time::Instant;

use super::chunk::Chunk;
use super::progress::{ProgressMode, Running, TAIL_BYTES};
use crate::state::Gateway;
use crate::streams::feed::{Followed, Subject};

/// Output that a reader lags behind by more is skipped, and the reader is told: its log has it.
const LAG_BYTES: u64 = 256 << 10;
/// Output is collected for this long, or until there are so many bytes of it.
const BATCH_MS: u32 = 100;
const BATCH_BYTES: u32 = 4 << 10;

/// The executions that are followed.
pub(super) struct Outputs {
    gateway: Arc<Gateway>,
    mode: ProgressMode,
    all: Vec<Entry>,
    next: FuturesUnordered<BoxFuture<'static, Step>>,
}

/// An execution, and what was read of it.
struct Entry {
    call: String,
    id: ExecutionId,
    output: Option<Running>,
}

/// The next event of an execution; none at its end, or if it cannot be read.
struct Step {
    call: String,
    id: ExecutionId,
    next: Option<(Followed, Event)>,
}

impl Outputs {
    pub(super) fn new(gateway: &Arc<Gateway>, mode: ProgressMode) -> Self {
        let (all, next) = (Vec::new(), FuturesUnordered::new());
        Self { gateway: Arc::clone(gateway), mode, all, next }
    }

    /// Follows an execution from now on.
    pub(super) fn follow(&mut self, call: String, id: ExecutionId) {
        if self.mode == ProgressMode::None
            || self.all.iter().any(|entry| entry.call == call && entry.id == id)
        {
            return;
        }
        self.all.push(Entry { call: call.clone(), id, output: None });
        let opened = opened(Arc::clone(&self.gateway), call.clone(), id, self.options());
        self.next.push(Box::pin(async move {
            match opened.await {
                Some(followed) => step(call, id, followed).await,
                None => Step { call, id, next: None },
            }
        }));
    }

    /// Whether more of a call's output may come.
    pub(super) fn follows(&self, call: &str) -> bool {
        self.all.iter().any(|entry| entry.call == call)
    }

    /// Follows a call no more.
    pub(super) fn leave(&mut self, call: &str) {
        self.all.retain(|entry| entry.call != call);
    }

    /// What the next event adds. Cancel-safe; waits forever if nothing is followed.
    pub(super) async fn next(&mut self) -> Vec<Chunk> {
        let Some(Step { call, id, next }) = self.next.next().await else { std::future::pending().await };
        let at = self.all.iter().position(|entry| entry.call == call && entry.id == id);
        let Some(at) = at else { return Vec::new() };
        let Some((followed, event)) = next else {
            self.all.remove(at);
            return Vec::new();
        };
        let new = || Running::new(id, followed.subject.clone(), TAIL_BYTES);
        let output = self.all[at].output.get_or_insert_with(new);
        let chunks = output.take(&event, self.mode, Instant::now());
        self.next.push(Box::pin(step(call, id, followed)));
        chunks
    }

    /// When the next preliminary result is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.all.iter().filter_map(|entry| entry.output.as_ref()?.due()).min()
    }

    /// The preliminary results that are due.
    pub(super) fn preliminary(&mut self, now: Instant) -> Vec<Chunk> {
        let outputs = self.all.iter_mut().filter_map(|entry| entry.output.as_mut());
        outputs.filter_map(|output| output.preliminary(now)).collect()
    }

    fn options(&self) -> FollowOptions {
        let tail = if self.mode == ProgressMode::Full { LAG_BYTES } else { 4 * TAIL_BYTES as u64 };
        let (batch_ms, batch_bytes) = (BATCH_MS, BATCH_BYTES);
        FollowOptions { tail_bytes: Some(tail), batch_ms, batch_bytes, ..FollowOptions::default() }
    }
}

async fn opened(
    gateway: Arc<Gateway>,
    call: String,
    id: ExecutionId,
    options: FollowOptions,
) -> Option<Followed> {
    let row = gateway.store.execution(id).await.ok()??;
    let number = row.number;
    let mut subject = Subject::new(row);
    // A call may show an execution that another call has started.
    subject.call_id = call;
    subject.tool_args = serde_json::Value::Null; // they may be large, and are not sent
    Some(Followed::new(gateway, number, subject, options))
}

async fn step(call: String, id: ExecutionId, followed: Followed) -> Step {
    let (followed, event) = followed.next().await;
    Step { call, id, next: event.ok().flatten().map(|event| (followed, event)) }
}
