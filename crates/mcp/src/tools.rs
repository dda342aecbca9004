//! `tools/list` and `tools/call`.

use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use headwater_protocol::ExecutionId;
use headwater_tools::policy::Question;
use headwater_tools::schema::{Call, Shape, TOOLS, tool_named};
use headwater_tools::{Agent, Outcome, Progress, Request, ToolError};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, Tool};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::agents::{Caller, NewCall, Record};
use crate::consent::Answer;
use crate::progress::Reporter;
use crate::server::Server;

/// The argument that names a session. The instructions describe it once: in the schema of each tool it would cost a
/// model hundreds of tokens.
const SESSION: &str = "session";
/// `_meta` keys by which clients name the call of the model that a request belongs to.
const CALL_IDS: [&str; 2] = ["headwater/toolCallId", "claudecode/toolUseId"];

/// All tools.
pub(crate) fn list() -> Vec<Tool> {
    static LIST: OnceLock<Vec<Tool>> = OnceLock::new();
    let read = |shape| serde_json::from_value(shape).inspect_err(|error| tracing::error!(%error, "a tool"));
    LIST.get_or_init(|| Shape::Mcp.all_tools().into_iter().filter_map(|shape| read(shape).ok()).collect())
        .clone()
}

/// A call with valid arguments, its agent and its record.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) agent: Agent,
    pub(crate) request: Request,
    pub(crate) record: Option<Box<dyn Record>>,
}

impl Prepared {
    /// The result of a call that is not made.
    pub(crate) fn refuse(self, name: &str, error: ToolError) -> CallToolResult {
        let outcome = Outcome::from(error);
        if let Some(record) = self.record {
            record.finish(&outcome);
        }
        result(name, outcome)
    }
}

/// Prepares a call, or returns the result that says what is wrong.
pub(crate) async fn prepare(
    server: &Server,
    name: &str,
    mut arguments: Value,
    context: &RequestContext<RoleServer>,
) -> Result<Prepared, Box<CallToolResult>> {
    let refused = |error: ToolError| Box::new(result(name, error.into()));
    let mut caller = Caller::of(context);
    if server.agents().takes_session() {
        caller.session = take_session(&mut arguments).map_err(refused)?;
    }
    let id = CALL_IDS.iter().find_map(|key| context.meta.0.0.get(*key)?.as_str());
    let tool = tool_named(name).map_err(|error| refused(error.into()))?;
    let new = NewCall { tool, arguments: &arguments, id };
    let (agent, record) = server.agents().begin(&caller, new).await.map_err(refused)?;
    match Call::parse(name, arguments) {
        Ok(call) => {
            let request = Request { call, tool_call_id: id.map(str::to_owned), approved: None };
            Ok(Prepared { agent, request, record })
        }
        Err(error) => {
            let outcome = Outcome::from(ToolError::from(error));
            if let Some(record) = record {
                record.finish(&outcome);
            }
            Err(Box::new(result(name, outcome)))
        }
    }
}

/// Removes the argument that names a session.
fn take_session(arguments: &mut Value) -> Result<Option<String>, ToolError> {
    match arguments.as_object_mut().and_then(|fields| fields.remove(SESSION)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(session)) => Ok(Some(session)),
        Some(_) => Err(ToolError::new("session: expected a string")
            .hint("`session` is the ID or the name of a session; leave it out to use your own")),
    }
}

/// The fingerprint of a command that a person has allowed, or the error of one that they have not.
pub(crate) async fn decided(agent: &Agent, question: &Question, answer: Answer) -> Result<String, ToolError> {
    match (answer, &question.rule) {
        (Answer::Refused, _) => {
            return Err(ToolError::new("the command was not run: the person refused it")
                .hint("Ask the person what to do instead; do not try to reach the same by other means"));
        }
        // The answer is about the session of the question: a client may repeat the call in another one.
        (Answer::Always, Some(rule)) if question.wanted.session == agent.session().to_string() => {
            agent.policy().add(rule.clone()).await.map_err(|error| ToolError::new(error.to_string()))?;
        }
        (Answer::Always | Answer::Once, _) => {}
    }
    Ok(question.wanted.fingerprint())
}

/// How a call went.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It returned.
    Outcome(Box<Outcome>),
    /// It still runs as a task: this execution.
    Task(ExecutionId),
}

/// Calls a tool and reports its output meanwhile. Cancelling the request ends the waiting. With `patience`, a
/// call that takes longer becomes a task, as soon as its execution is known.
pub(crate) async fn call(
    prepared: Prepared,
    context: &RequestContext<RoleServer>,
    patience: Option<Duration>,
) -> Result<Ended, ErrorData> {
    let (live, seen) = watch::channel(Progress::default());
    let token = context.meta.get_progress_token();
    let live = (token.is_some() || patience.is_some()).then_some(live);
    let mut reporter = token.map(|token| Reporter::new(context.peer.clone(), token, seen.clone()));
    // In a task of its own, so that it can outlive the request; otherwise it is dropped with it.
    let mut running = AbortOnDropHandle::new(tokio::spawn(async move {
        let Prepared { agent, request, record } = prepared;
        let outcome = agent.call(request, live).await;
        if let Some(record) = record {
            record.finish(&outcome);
        }
        outcome
    }));
    let mut known = pin!(known(seen, patience));
    loop {
        let ready = async {
            match &mut reporter {
                Some(reporter) => reporter.ready().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(cancelled()),
            outcome = &mut running => return outcome.map(|outcome| Ended::Outcome(Box::new(outcome))).map_err(|error| broken(&error)),
            id = &mut known => {
                drop(running.detach());
                return Ok(Ended::Task(id));
            }
            () = ready => {}
        }
        // Not beside the call: a notification must not come after the result.
        if let Some(reporter) = &mut reporter {
            tokio::select! {
                () = context.ct.cancelled() => return Err(cancelled()),
                () = reporter.report() => {}
            }
        }
    }
}

/// The execution of a call that has taken longer than this.
async fn known(mut seen: watch::Receiver<Progress>, patience: Option<Duration>) -> ExecutionId {
    if let Some(patience) = patience {
        sleep(patience).await;
        if let Ok(Some(id)) = seen.wait_for(|live| live.execution.is_some()).await.map(|live| live.execution)
        {
            return id;
        }
    }
    std::future::pending().await
}

fn broken(error: &JoinError) -> ErrorData {
    tracing::error!(%error, "a tool panicked");
    ErrorData::internal_error("the tool failed unexpectedly; see the log of the server", None)
}

/// The answer to a cancelled request, which is not sent.
pub(crate) fn cancelled() -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, "the request was cancelled", None)
}

/// A result as the protocol has it.
pub(crate) fn result(name: &str, outcome: Outcome) -> CallToolResult {
    let Outcome { text, is_error, structured, image, .. } = outcome;
    let has_image = image.is_some();
    let mut content = vec![ContentBlock::text(text.clone())];
    content.extend(
        image.map(|image| ContentBlock::image(BASE64_STANDARD.encode(&image.bytes), image.media_type)),
    );
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    // Clients check it against the schema even in errors, and those that show it drop images.
    if !is_error && !has_image {
        result.structured_content = Some(structured_content(name, structured, text));
    }
    result
}

/// Some clients give the model only this, so `output` is the whole text.
fn structured_content(name: &str, structured: Option<Value>, text: String) -> Value {
    let mut fields = match structured {
        Some(Value::Object(fields)) => fields,
        Some(other) => Map::from_iter([("result".to_owned(), other)]),
        // A result with a schema must have its required fields.
        None if has_schema(name) => Map::from_iter([("wall_time_seconds".to_owned(), json!(0))]),
        None => Map::new(),
    };
    fields.insert("output".to_owned(), Value::String(text));
    Value::Object(fields)
}

fn has_schema(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name && tool.result.is_some())
}

/// Whether a tool starts a program.
pub(crate) fn starts_programs(name: &str) -> bool {
    matches!(name, "exec_command" | "shell" | "shell_command" | "run_code")
}
