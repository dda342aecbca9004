//! The result of a tool, as JSON and as the last event of a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use headwater_protocol::{ExecutionId, SessionId};
use headwater_tools::{Image, Outcome, Progress};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::call::{Prepared, restarting};
use crate::streams::sse::{OpenStream, sse_response};

/// The time between two progress events: people do not read faster.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Where the newest output goes while a tool waits.
pub(super) type Live = watch::Sender<Progress>;

/// The result of a tool, for a model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolOutcome, examples(json!({
    "content": "Wall time: 0.0121 seconds\nProcess exited with code 0\nOutput:\nHello\n", "is_error": false,
    "structured": {"wall_time_seconds": 0.0121, "exit_code": 0},
    "execution_ids": ["exe_0123456789abcdef0123456789abcdef"],
    "session_id": "ses_0123456789abcdef0123456789abcdef", "duration_ms": 13
})))]
pub(super) struct ToolOutcomeBody {
    /// The text for the model.
    content: String,
    /// Whether the tool failed. A program that exits with an error is not a failure of the tool.
    is_error: bool,
    /// The same result for programs. Its `output` is the whole `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    structured: Option<Value>,
    /// An image for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<ImageBody>,
    /// The executions that the result is about.
    execution_ids: Vec<ExecutionId>,
    /// The session that the tool worked in.
    session_id: SessionId,
    /// How long the call took.
    duration_ms: u64,
}

/// An image, for a model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolImage)]
struct ImageBody {
    /// For example `image/png`.
    media_type: &'static str,
    /// The file, in base64.
    data: String,
}

/// The newest output of a program that a tool waits for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolCallProgress)]
pub(super) struct ProgressBody {
    /// The bytes that the programs of the call have printed so far.
    bytes: u64,
    /// The last complete lines, without control sequences, with secrets masked.
    lines: String,
    /// The execution that printed them.
    execution_id: Option<ExecutionId>,
}

/// The data of an event of a tool's stream: `progress` events, and one `result` at the end.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only the OpenAPI document names it
pub(super) enum ToolEvents {
    /// The data of `progress`.
    Progress(ProgressBody),
    /// The data of `result`.
    Result(ToolOutcomeBody),
}

impl ToolOutcomeBody {
    pub(super) fn new(outcome: Outcome, session_id: SessionId, took: Duration) -> Self {
        let Outcome { text, is_error, structured, image, executions, .. } = outcome;
        let image =
            image.map(|Image { media_type, bytes }| ImageBody { media_type, data: STANDARD.encode(bytes) });
        Self {
            content: text,
            is_error,
            structured,
            image,
            execution_ids: executions,
            session_id,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The stream of a call that runs while its client reads.
struct Stream {
    call: Pin<Box<dyn Future<Output = ToolOutcomeBody> + Send>>,
    progress: watch::Receiver<Progress>,
    /// No progress event is sent before this.
    next_progress: Instant,
    open: OpenStream,
    is_over: bool,
}

/// The response that streams a call. Dropping it ends the waiting of the tool.
pub(super) fn events(call: Prepared) -> Response {
    let (live, progress) = watch::channel(Progress::default());
    let stream = Stream {
        open: OpenStream::new(&Arc::clone(&call.gateway), "tool"),
        call: Box::pin(call.run(Some(live))),
        progress,
        next_progress: Instant::now(),
        is_over: false,
    };
    let chunks = futures_util::stream::unfold(stream, |mut stream| async move {
        let chunk = stream.chunk().await?;
        stream.open.sent(chunk.len());
        Some((Ok::<_, Infallible>(Bytes::from(chunk)), stream))
    });
    sse_response(Body::from_stream(chunks))
}

impl Stream {
    async fn chunk(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        let gateway = self.open.gateway();
        let heartbeat = Instant::now() + gateway.config.heartbeat;
        let stopping = gateway.background.stopping.clone();
        let (progress, next_progress) = (&mut self.progress, self.next_progress);
        let newer = async {
            sleep_until(next_progress).await;
            // Without a sender nothing newer comes: the result is next.
            if progress.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = stopping.cancelled() => {
                self.is_over = true;
                Some(event("error", &restarting().body()))
            }
            result = &mut self.call => {
                self.is_over = true;
                Some(event("result", &result))
            }
            () = newer => {
                self.next_progress = Instant::now() + PROGRESS_INTERVAL;
                let Progress { bytes, lines, execution } = self.progress.borrow_and_update().clone();
                Some(event("progress", &ProgressBody { bytes, lines, execution_id: execution }))
            }
            () = sleep_until(heartbeat) => Some(": hb\n\n".to_owned()),
        }
    }
}

/// An event. Its data is one line, because JSON escapes line breaks.
fn event(name: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
