//! Calls for executions. Streams are in [`crate::follower`] and [`crate::attach`].

use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::api::{
    ExecutionBody, ExecutionStateName, PageBody, PruneBody, PruneRequest, ResizeRequest, SignalRequest,
    StartRequest,
};
use headwater_protocol::{ExecutionId, Process, SessionId, TtySize};
use reqwest::header::{CONTENT_TYPE, RANGE};
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use tokio::time::Instant;

use crate::Result;
use crate::attach::Attachment;
use crate::client::Client;
use crate::error::ClientError;
use crate::follower::{Follower, Start};
use crate::http::{CALL_TIMEOUT, json_body};
use crate::options::{AttachOptions, FollowOptions};
use crate::output::{ByteRange, Output, OutputStream};

/// The longest time that one request waits for an execution's end; repeated until the caller's time is over.
const MAX_POLL: Duration = Duration::from_secs(20);

/// The pause after an answer that came early.
const EARLY_ANSWER_DELAY: Duration = Duration::from_millis(50);

/// A key that makes repeating a request safe (`Idempotency-Key`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A key that the caller has chosen.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A new random key.
    pub fn random() -> Self {
        Self(ExecutionId::random().to_string().replace("exe_", "key_"))
    }

    /// Adds the key to a request, if there is one.
    pub(crate) fn on(key: Option<&Self>, request: RequestBuilder) -> RequestBuilder {
        match key {
            Some(key) => request.header("Idempotency-Key", &key.0),
            None => request,
        }
    }
}

/// Which executions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// Only those in this state.
    pub state: Option<ExecutionStateName>,
    /// Only those of code in this language.
    pub language: Option<String>,
    /// The maximum number of items on a page.
    pub limit: Option<u32>,
    /// The cursor of the page.
    pub cursor: Option<String>,
}

const fn state_name(state: ExecutionStateName) -> &'static str {
    match state {
        ExecutionStateName::Queued => "queued",
        ExecutionStateName::Running => "running",
        ExecutionStateName::Exited => "exited",
        ExecutionStateName::Closed => "closed",
    }
}

#[derive(Deserialize)]
struct Processes {
    processes: Vec<Process>,
}

fn start_path(session: Option<SessionId>) -> String {
    session.map_or_else(|| "v1/executions".into(), |id| format!("v1/sessions/{id}/executions"))
}

impl Client {
    /// Whether the log of an execution has no more events for a reader that stops at `exited`, or at `closed`.
    pub(crate) async fn has_ended(&self, id: ExecutionId, until_closed: bool) -> Result<bool> {
        let execution = self.retry(|client| async move { client.execution(id).await }).await?;
        Ok(match execution.state {
            ExecutionStateName::Closed => true,
            ExecutionStateName::Exited => !until_closed,
            ExecutionStateName::Queued | ExecutionStateName::Running => false,
        })
    }

    /// Starts an execution, in a session or in a one-shot session. With a key, repeating the call starts only
    /// one.
    pub async fn start(
        &self,
        session: Option<SessionId>,
        request: &StartRequest,
        key: Option<&IdempotencyKey>,
    ) -> Result<ExecutionBody> {
        let (url, body) = (self.route(&start_path(session))?, json_body(request)?);
        let make = || {
            let request = self.request(Method::POST, url.clone()).timeout(CALL_TIMEOUT);
            Ok(IdempotencyKey::on(key, request.header(CONTENT_TYPE, "application/json").body(body.clone())))
        };
        if key.is_some() {
            self.json(self.send_idempotent(make)).await
        } else {
            self.json(self.send(make()?)).await
        }
    }

    /// Starts an execution and follows it, in one round trip. The stream continues over lost connections and
    /// restarts of the server, and at most one execution is started in any case.
    pub async fn run(
        &self,
        session: Option<SessionId>,
        request: &StartRequest,
        options: FollowOptions,
    ) -> Result<Follower> {
        self.run_with_key(session, request, options, IdempotencyKey::random()).await
    }

    /// The same with a key that the caller has chosen: repeating the call follows the same execution.
    pub async fn run_with_key(
        &self,
        session: Option<SessionId>,
        request: &StartRequest,
        options: FollowOptions,
        key: IdempotencyKey,
    ) -> Result<Follower> {
        let start = Start { path: start_path(session), body: json_body(request)?, key };
        Follower::open(self.clone(), None, options, Some(start)).await
    }

    /// Follows a log. The stream continues over lost connections and restarts of the server.
    pub async fn follow(&self, id: ExecutionId, options: FollowOptions) -> Result<Follower> {
        Follower::open(self.clone(), Some(id), options, None).await
    }

    /// Attaches to an execution, to receive its events and send input.
    pub async fn attach(&self, id: ExecutionId, options: AttachOptions) -> Result<Attachment> {
        Attachment::open(self.clone(), id, options).await
    }

    /// Returns an execution by its id.
    pub async fn execution(&self, id: ExecutionId) -> Result<ExecutionBody> {
        self.get_json(&format!("v1/executions/{id}")).await
    }

    /// Returns an execution when it has ended, or after this time. Continues to wait over restarts of the
    /// server.
    pub async fn wait(&self, id: ExecutionId, at_most: Duration) -> Result<ExecutionBody> {
        let until = Instant::now().checked_add(at_most);
        let mut retry = self.new_retry();
        let mut is_known = false;
        loop {
            let asked = Instant::now();
            let left = until.map_or(MAX_POLL, |until| until.saturating_duration_since(asked));
            let wait = left.min(MAX_POLL);
            match self.poll(id, wait).await {
                Ok(execution) if execution.exit.is_some() => return Ok(execution),
                Ok(execution) => {
                    if until.is_some_and(|until| Instant::now() >= until) {
                        return Ok(execution);
                    }
                    // A server that is shutting down answers early, and the next one is not running yet.
                    if asked.elapsed() < wait {
                        tokio::time::sleep(EARLY_ANSWER_DELAY).await;
                    }
                    retry.reset();
                }
                Err(error @ ClientError::Unreachable { .. }) if !is_known => return Err(error),
                Err(error) if error.is_transient() => retry.pause(error).await?,
                Err(error) => return Err(error),
            }
            is_known = true;
        }
    }

    async fn poll(&self, id: ExecutionId, wait: Duration) -> Result<ExecutionBody> {
        self.get_json(&format!("v1/executions/{id}?wait={}ms", wait.as_millis())).await
    }

    /// A page of executions, newest first.
    pub async fn executions(&self, filter: &ExecutionFilter) -> Result<PageBody<ExecutionBody>> {
        let mut url = self.route("v1/executions")?;
        let values = [
            ("session_id", filter.session.map(|id| id.to_string())),
            ("state", filter.state.map(|state| state_name(state).to_owned())),
            ("language", filter.language.clone()),
            ("limit", filter.limit.map(|limit| limit.to_string())),
            ("cursor", filter.cursor.clone()),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        self.json(self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()).timeout(CALL_TIMEOUT))))
            .await
    }

    /// Writes to an execution's standard input, and closes it with `eof`. Returns when the program's pipe or
    /// terminal has the data. Not repeated automatically: after a lost connection it is unknown how much the
    /// program got.
    ///
    /// Appends to the input or, with an `offset`, writes at that position: bytes that the program already has
    /// are skipped. So a chunk with a known position can be sent again, if no other client writes to the
    /// program.
    pub async fn stdin(&self, id: ExecutionId, offset: Option<u64>, data: Bytes, eof: bool) -> Result<()> {
        let mut url = self.route(&format!("v1/executions/{id}/stdin"))?;
        if let Some(offset) = offset {
            url.query_pairs_mut().append_pair("offset", &offset.to_string());
        }
        if eof {
            url.query_pairs_mut().append_pair("eof", "true");
        }
        let request = self.request(Method::POST, url).header(CONTENT_TYPE, "application/octet-stream");
        // Without a timeout: the program decides when it reads.
        self.send(request.body(data)).await.map(drop)
    }

    /// Sends a signal to an execution.
    pub async fn signal(&self, id: ExecutionId, request: &SignalRequest) -> Result<()> {
        self.post_once(&format!("v1/executions/{id}/signal"), Some(request)).await
    }

    /// Cancels an execution and its whole tree: SIGTERM, its grace period (or this one; 0 kills at once),
    /// SIGKILL.
    pub async fn cancel(&self, id: ExecutionId, grace: Option<Duration>) -> Result<()> {
        let body = grace.map(|grace| serde_json::json!({ "grace_ms": grace.as_millis() }));
        self.post_once(&format!("v1/executions/{id}/cancel"), body.as_ref()).await
    }

    /// The current processes of an execution.
    pub async fn processes(&self, id: ExecutionId) -> Result<Vec<Process>> {
        let body: Processes = self.get_json(&format!("v1/executions/{id}/processes")).await?;
        Ok(body.processes)
    }

    /// Removes logs of ended executions, or reports which ones the server would remove.
    pub async fn prune(&self, request: &PruneRequest) -> Result<PruneBody> {
        let url = self.route("v1/prune")?;
        let make = || Ok(self.request(Method::POST, url.clone()).json(request).timeout(CALL_TIMEOUT));
        self.json(self.send_idempotent(make)).await
    }

    /// Removes a closed execution and its log.
    pub async fn forget(&self, id: ExecutionId) -> Result<()> {
        let url = self.route(&format!("v1/executions/{id}"))?;
        self.send_idempotent(|| Ok(self.request(Method::DELETE, url.clone()).timeout(CALL_TIMEOUT)))
            .await
            .map(drop)
    }

    /// Resizes an execution's terminal.
    pub async fn resize(&self, id: ExecutionId, size: TtySize) -> Result<()> {
        let request = ResizeRequest { rows: size.rows, cols: size.cols };
        self.post_once(&format!("v1/executions/{id}/resize"), Some(&request)).await
    }

    /// The kept bytes of a stream, or a part of them.
    pub async fn output(
        &self,
        id: ExecutionId,
        stream: OutputStream,
        range: Option<ByteRange>,
    ) -> Result<Output> {
        let url = self.route(&format!("v1/executions/{id}/output?stream={}", stream.name()))?;
        let make = || {
            let request = self.request(Method::GET, url.clone());
            Ok(match range {
                Some(range) => request.header(RANGE, range.header()),
                None => request,
            })
        };
        Ok(Output::new(self.clone(), self.send_idempotent(make).await?))
    }
}
