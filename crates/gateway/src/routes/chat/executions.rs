//! Results of executions that a chat's client ran itself, for example in the browser: saved with a message of the chat,
//! and read again with it. The server runs nothing here.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::api::{ErrorCode, Timestamp};
use headwater_store::ChatExecutionRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, TakesJson};
use crate::now_ms;
use crate::state::Gateway;

/// The largest result, as JSON.
const MAX_RESULT_BYTES: usize = 256 << 10;
/// The number of an owner's newest results that are kept.
const MAX_RESULTS_OF_OWNER: u32 = 5_000;
/// The number of results of a message that are returned: all of them may be large.
const MAX_RESULTS_OF_MESSAGE: u32 = 100;
/// The maximum length of an id that a client chooses, in bytes.
const MAX_ID_BYTES: usize = 256;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(save)).routes(routes!(history))
}

/// How an execution in a chat ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ExecutionResultStatus {
    /// It ended normally.
    Success,
    /// It failed.
    Error,
    /// It ran out of time.
    Timeout,
}

/// The kind of a line of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ExecutionOutputType {
    /// `console.log`.
    Log,
    /// `console.info`.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`, or an exception.
    Error,
    /// The value of the last expression.
    Return,
    /// Standard output.
    Stdout,
}

/// The time of a line: RFC 3339, or milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
enum LineTime {
    /// RFC 3339.
    Text(Timestamp),
    /// Milliseconds since 1970.
    Milliseconds(u64),
}

/// A line of output of an execution in a chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExecutionOutputLine {
    /// The kind of line.
    r#type: ExecutionOutputType,
    /// The text.
    content: String,
    /// When it was printed.
    timestamp: LineTime,
    /// An id that no other line of the result has.
    id: String,
}

/// A result of an execution that a chat's client ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
struct ExecutionResult {
    /// The artifact that was run, by the client's id.
    artifact_uuid: String,
    /// The client's id of the execution.
    execution_id: String,
    /// When it was run.
    timestamp: Timestamp,
    /// The language.
    language: String,
    /// What it printed.
    output: Vec<ExecutionOutputLine>,
    /// How long it took, in milliseconds.
    #[schema(minimum = 0)]
    execution_time_ms: f64,
    /// How it ended.
    status: ExecutionResultStatus,
}

/// A result to save with a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({
    "message_uuid": "msg-1", "artifact_uuid": "art-1", "execution_id": "run-1", "timestamp": "2026-01-02T03:04:05.678Z",
    "language": "javascript", "execution_time_ms": 12.0, "status": "success",
    "output": [{"type": "log", "content": "Hello", "timestamp": "2026-01-02T03:04:05.679Z", "id": "line-1"}]
})))]
struct SaveExecutionRequest {
    /// The message that it belongs to, by the client's id.
    message_uuid: String,
    /// The artifact that was run, by the client's id.
    artifact_uuid: String,
    /// The client's id of the execution. A result with the same ids replaces the earlier one.
    execution_id: String,
    /// When it was run.
    timestamp: Timestamp,
    /// The language.
    language: String,
    /// What it printed.
    #[serde(default)]
    output: Vec<ExecutionOutputLine>,
    /// How long it took, in milliseconds.
    #[schema(minimum = 0)]
    execution_time_ms: f64,
    /// How it ended.
    status: ExecutionResultStatus,
}

impl SaveExecutionRequest {
    fn check(&self) -> Result<(), ApiError> {
        let ids = [
            ("message_uuid", &self.message_uuid),
            ("artifact_uuid", &self.artifact_uuid),
            ("execution_id", &self.execution_id),
            ("language", &self.language),
        ];
        for (name, id) in ids {
            if id.is_empty() || id.len() > MAX_ID_BYTES {
                return Err(ApiError::invalid(format!("`{name}` must have from 1 to {MAX_ID_BYTES} bytes")));
            }
        }
        if !(self.execution_time_ms.is_finite() && self.execution_time_ms >= 0.0) {
            return Err(ApiError::invalid("`execution_time_ms` must not be negative"));
        }
        let mut seen = HashSet::new();
        match self.output.iter().find(|line| !seen.insert(&line.id)) {
            None => Ok(()),
            Some(line) => {
                let id: String = line.id.chars().take(64).collect();
                Err(ApiError::invalid(format!("two lines of `output` have the id `{id}`")))
            }
        }
    }
}

/// The results of a message.
#[derive(Debug, Serialize, ToSchema)]
struct ExecutionHistory {
    /// The message, by the client's id.
    message_uuid: String,
    /// Its results, oldest first; empty if none was saved.
    execution_results: Vec<ExecutionResult>,
}

/// Refuses tokens and links that are restricted to certain sessions: messages belong to none.
pub(super) fn unrestricted(who: &Identity, need: Need) -> Result<(), ApiError> {
    if who.bounds.sessions.is_some() {
        let hint = "use a token that is not bound to certain sessions";
        return Err(ApiError::forbidden("this token is restricted to certain sessions", hint));
    }
    authorise(who, need)
}

/// Saves the result of an execution that a chat's client ran itself.
///
/// A result with the same message, artifact and execution replaces the earlier one. The newest 5,000 results of a user
/// are kept.
#[utoipa::path(post, path = "/v1/chat/executions", operation_id = "saveChatExecution", tag = "chat",
    request_body = SaveExecutionRequest,
    responses((status = 201, body = ExecutionResult), Common, TakesJson))]
async fn save(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<SaveExecutionRequest>,
) -> Result<(StatusCode, JsonBody<ExecutionResult>), ApiError> {
    unrestricted(&who, Need::Write)?;
    request.check()?;
    let SaveExecutionRequest {
        message_uuid,
        artifact_uuid,
        execution_id,
        timestamp,
        language,
        output,
        execution_time_ms,
        status,
    } = request;
    let result = ExecutionResult {
        artifact_uuid,
        execution_id,
        timestamp,
        language,
        output,
        execution_time_ms,
        status,
    };
    let json = serde_json::to_string(&result).map_err(|error| ApiError::internal(&error))?;
    if json.len() > MAX_RESULT_BYTES {
        return Err(ApiError::new(
            ErrorCode::BodyTooLarge,
            format!("a result may have at most {MAX_RESULT_BYTES} bytes"),
            "save less of the output",
        ));
    }
    let row = ChatExecutionRow {
        owner: who.owner,
        message_uuid,
        artifact_uuid: result.artifact_uuid.clone(),
        execution_id: result.execution_id.clone(),
        saved_at_ms: now_ms(),
        result: json,
    };
    gateway.store.put_chat_execution(&row, MAX_RESULTS_OF_OWNER).await?;
    Ok((StatusCode::CREATED, JsonBody(result)))
}

/// Returns the newest 100 results that were saved with a message, oldest first.
#[utoipa::path(get, path = "/v1/chat/executions/{message_uuid}", operation_id = "getChatExecutions", tag = "chat",
    params(("message_uuid" = String, Path, description = "the message, by the client's id")),
    responses((status = 200, body = ExecutionHistory), Common))]
async fn history(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(message_uuid): Path<String>,
) -> Result<JsonBody<ExecutionHistory>, ApiError> {
    unrestricted(&who, Need::Read)?;
    let _turn = gateway.quota.lists.acquire(&who.owner).await;
    let rows = gateway.store.chat_executions(&who.owner, &message_uuid, MAX_RESULTS_OF_MESSAGE).await?;
    let results = rows.iter().map(|row| serde_json::from_str(&row.result)).collect::<Result<_, _>>();
    let execution_results = results.map_err(|error: serde_json::Error| ApiError::internal(&error))?;
    Ok(JsonBody(ExecutionHistory { message_uuid, execution_results }))
}
