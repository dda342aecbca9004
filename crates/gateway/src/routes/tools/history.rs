//! `GET /v1/sessions/{id}/tool-calls`: what agents called in a session.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use headwater_protocol::api::{PageBody, Timestamp};
use headwater_protocol::{ExecutionId, SessionId};
use headwater_store::ToolCallRow;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NamesSession};
use crate::http::paging::{InParts, PageQuery, page_body};
use crate::state::Gateway;

/// A call of a tool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordedToolCall, examples(json!({
    "tool": "exec_command", "arguments": {"cmd": "make test"}, "result": "Wall time: 2.1 seconds\n...",
    "is_error": false, "caller": "ann", "agent": "default", "conversation_id": "chat_1", "tool_call_id": "call_1",
    "execution_ids": ["exe_0123456789abcdef0123456789abcdef"], "called_at": "2026-01-02T03:04:05.678Z",
    "duration_ms": 2104
})))]
pub(super) struct ToolCallBody {
    /// The name of the tool.
    tool: String,
    /// The arguments, with long texts cut and secrets masked; `null` if they are too long even then.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Value>,
    /// The text for the model, cut to 16 KiB, with secrets masked; `null` if the caller disconnected before it.
    result: Option<String>,
    /// Whether the tool failed.
    is_error: bool,
    /// The user that called.
    caller: String,
    /// The name of the agent.
    agent: String,
    /// The conversation, if the call belongs to one.
    conversation_id: Option<String>,
    /// The caller's id of the call.
    tool_call_id: Option<String>,
    /// The executions that the result is about.
    execution_ids: Vec<ExecutionId>,
    /// When it was called.
    called_at: Timestamp,
    /// How long it took.
    duration_ms: u64,
}

impl From<ToolCallRow> for ToolCallBody {
    fn from(row: ToolCallRow) -> Self {
        Self {
            tool: row.tool,
            arguments: row.arguments,
            result: row.result,
            is_error: row.is_error,
            caller: row.caller,
            agent: row.agent,
            conversation_id: row.conversation_id,
            tool_call_id: row.tool_call_id,
            execution_ids: row.executions,
            called_at: Timestamp(row.called_at_ms),
            duration_ms: row.duration_ms,
        }
    }
}

/// Lists the calls of tools in a session (`POST /v1/tools/{tool}`), newest first.
///
/// A call appears shortly after it has ended. Old calls are removed as the rows of executions are. A page may have fewer
/// entries than `limit`; only the last page has no `next_cursor`.
#[utoipa::path(get, path = "/v1/sessions/{id}/tool-calls", operation_id = "listToolCalls", tag = "tools",
    params(("id" = String, Path, description = "the session"), PageQuery),
    responses((status = 200, body = PageBody<ToolCallBody>), Common, NamesSession))]
pub(super) async fn list_calls(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Query(query): Query<PageQuery>,
) -> Result<Json<PageBody<ToolCallBody>>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let _permit = gateway.quota.lists.acquire(&who.owner).await;
    let mut parts = InParts::new(query.page()?);
    while let Some(part) = parts.wanted() {
        parts.add(gateway.store.tool_calls(id, part).await?);
    }
    let found = parts.page();
    let items = found.items.into_iter().map(Into::into).collect();
    Ok(Json(page_body(items, found.next)))
}
