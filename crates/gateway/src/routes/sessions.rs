//! Sessions: `/v1/sessions`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_contract::ContractError;
use headwater_protocol::api::{
    ErrorBody, PageBody, SessionBody, SessionPatch, SessionRequest, SessionStateName,
};
use headwater_protocol::{Limits, SessionId, SessionState, SessionUsage};
use headwater_store::SessionFilter;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::bodies::{session_body, session_body_without_values};
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::idempotency::Keyed;
use crate::http::openapi::{
    Common, IdempotencyKey, NamesSession, NotFound, SessionEnded, TakesJson, TakesKey,
};
use crate::http::paging::{page_body, page_request};
use crate::http::search_text::search_text;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, patch, delete))
        .routes(routes!(hibernate))
        .routes(routes!(usage))
}

/// Creates a session: an isolated environment with its own workspace.
///
/// Requests with the same `Idempotency-Key` create one session.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "createSession", tag = "sessions",
    params(IdempotencyKey),
    request_body(content = Option<SessionRequest>, description = "optional"),
    responses(
        (status = 201, body = SessionBody, headers(("Location" = String, description = "the URL of the session"))),
        (status = 409, body = ErrorBody, description = "another live session of yours has this name"),
        Common, TakesJson, TakesKey,
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    request: Keyed<SessionRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let Keyed { mut value, request_key } = request;
    let session = match value.template.take() {
        Some(template) => gateway.create_session_from(&who, &template, value.into(), request_key).await?,
        None => gateway.create_session(&who, value.into(), request_key).await?,
    };
    let location = [(header::LOCATION, format!("/v1/sessions/{}", session.id))];
    Ok((StatusCode::CREATED, location, JsonBody(gateway.with_activity(session_body(session)).await)))
}

/// Selects sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The maximum number of sessions on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
    /// Only sessions in this state.
    #[param(inline)]
    state: Option<SessionStateName>,
    /// Whether they have ended: `false` selects those that are `ready` or `hibernated`.
    ended: Option<bool>,
    /// Only sessions with exactly this name.
    name: Option<String>,
    /// Only sessions with this text in the name, in a value of the metadata or in the owner's name, or at the beginning
    /// of the id. Case makes no difference for ASCII letters. At most 200 characters.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Sessions of others that are shared with you, instead of your own.
    shared: Option<bool>,
    /// Only sessions of this owner. Operators see the sessions of all owners, others only their own.
    owner: Option<String>,
}

/// Lists sessions, newest first, without their environment variables, which `GET /v1/sessions/{id}` returns.
///
/// A page may have fewer entries than `limit`; only the last page has no `next_cursor`.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "listSessions", tag = "sessions", params(ListQuery),
    responses((status = 200, body = PageBody<SessionBody>), Common))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ListQuery>,
) -> Result<JsonBody<PageBody<SessionBody>>, ApiError> {
    let page = page_request(query.limit, query.cursor.as_deref())?;
    let ended = query.ended.or(query.state.map(|state| state == SessionStateName::Ended));
    let member = (query.shared == Some(true)).then(|| who.owner.clone());
    let filter = SessionFilter {
        name: query.name,
        text: search_text(query.q)?,
        ended,
        member,
        owner: query.owner,
        ..SessionFilter::default()
    };
    let mut found = gateway.list_sessions(&who, filter, page).await?;
    found.items.retain(|session| query.state.is_none_or(|state| state == state_name(&session.state)));
    let mut items: Vec<_> = found.items.into_iter().map(|session| session_body(session).in_brief()).collect();
    gateway.add_activity(&mut items).await;
    Ok(JsonBody(page_body(items, found.next)))
}

/// Returns a session. Callers with read-only access get the names of its environment variables without their
/// values.
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "getSession", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = SessionBody), Common, NamesSession))]
async fn get(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<SessionBody>, ApiError> {
    let session = gateway.get_session(&who, id).await?;
    let may_write = gateway.auth.may_use_session(&who, Need::Write, id).await.is_ok();
    let body = if may_write { session_body(session) } else { session_body_without_values(session) };
    Ok(JsonBody(gateway.with_activity(body).await))
}

/// Changes a session. Absent fields keep their value.
#[utoipa::path(patch, path = "/v1/sessions/{id}", operation_id = "updateSession", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    request_body = Option<SessionPatch>,
    responses((status = 200, body = SessionBody), Common, NotFound, TakesJson, SessionEnded))]
async fn patch(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Json(change): Json<SessionPatch>,
) -> Result<JsonBody<SessionBody>, ApiError> {
    let session = gateway.patch_session(&who, id, change).await?;
    Ok(JsonBody(gateway.with_activity(session_body(session)).await))
}

fn state_name(state: &SessionState) -> SessionStateName {
    match state {
        SessionState::Ready => SessionStateName::Ready,
        SessionState::Hibernated => SessionStateName::Hibernated,
        SessionState::Ended { .. } => SessionStateName::Ended,
    }
}

/// Hibernates a session: its programs end (SIGTERM, then SIGKILL after ten seconds), its workspace is kept,
/// and the next use resumes it. Idle sessions hibernate by themselves.
#[utoipa::path(post, path = "/v1/sessions/{id}/hibernate",
    operation_id = "hibernateSession", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses(
        (status = 200, body = SessionBody), Common, NotFound,
        (status = 409, body = ErrorBody, description = "it has ended, or something is being started in it"),
))]
async fn hibernate(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<SessionBody>, ApiError> {
    let session = gateway.hibernate_session(&who, id).await?;
    Ok(JsonBody(gateway.with_activity(session_body(session)).await))
}

/// The current use of a session. `null` means that the host does not count it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionUse)]
struct UsedBody {
    /// Memory, including page cache if the kernel counts it.
    memory_bytes: Option<u64>,
    /// The CPU time of all programs since the session was created or resumed.
    cpu_ms: Option<u64>,
    /// Processes and threads, including the session's init.
    pids: Option<u64>,
    /// The size of the workspace and the snapshots. It is measured at most once a second, less often if that takes
    /// long.
    disk_bytes: Option<u64>,
}

/// The limits of what a session uses. `null` means unlimited.
#[derive(Debug, Serialize, ToSchema)]
struct UsageLimitsBody {
    /// The limit of `used.memory_bytes`.
    memory_bytes: Option<u64>,
    /// The limit of `used.pids`.
    pids: Option<u64>,
    /// The limit of `used.disk_bytes`.
    disk_bytes: Option<u64>,
}

/// What a session uses now, and its limits.
#[derive(Debug, Serialize, ToSchema)]
struct SessionUsageBody {
    /// `ready` or `hibernated`. Nothing runs in a hibernated session: all that it uses is `disk_bytes`, and the
    /// others are 0.
    state: SessionStateName,
    /// The current use.
    used: UsedBody,
    /// The limits that the usage counts towards.
    limits: UsageLimitsBody,
}

impl From<SessionUsage> for SessionUsageBody {
    fn from(usage: SessionUsage) -> Self {
        let SessionUsage { hibernated, memory_bytes, cpu_ms, pids, disk_bytes, limits } = usage;
        let used = UsedBody { memory_bytes, cpu_ms, pids, disk_bytes };
        let Limits { memory_bytes, pids, disk_bytes, .. } = limits;
        let limits = UsageLimitsBody { memory_bytes, pids, disk_bytes };
        let state = if hibernated { SessionStateName::Hibernated } else { SessionStateName::Ready };
        Self { state, used, limits }
    }
}

/// Returns what a session uses now, and its limits. Does not resume a hibernated session or keep an idle one
/// awake.
#[utoipa::path(get, path = "/v1/sessions/{id}/usage", operation_id = "getSessionUsage", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = SessionUsageBody), Common, NotFound, SessionEnded))]
async fn usage(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<SessionUsageBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    match gateway.worker.session_usage(id).await {
        Ok(usage) => Ok(JsonBody(usage.into())),
        Err(error) if is_missing(&error) => {
            Err(ApiError::conflict(format!("the session `{id}` has ended"), "create another session"))
        }
        Err(ContractError::Malformed(_)) => {
            let hint = "restart the worker with the current version";
            Err(ApiError::conflict("this worker is too old to report the usage of a session", hint))
        }
        Err(error) => Err(error.into()),
    }
}

/// Options for deleting a session.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Keep the executions and their logs: the session stays listed as `ended`.
    keep_logs: Option<bool>,
}

/// Ends a session with its programs, and deletes its workspace, snapshots, executions and logs.
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "deleteSession", tag = "sessions",
    params(("id" = String, Path, description = "the session"), DeleteQuery),
    responses(
        (status = 204, description = "it was deleted or, with `keep_logs`, has ended"), Common, NamesSession,
))]
async fn delete(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Query(query): Query<DeleteQuery>,
) -> Result<StatusCode, ApiError> {
    gateway.delete_session(&who, id, query.keep_logs.unwrap_or(false)).await?;
    Ok(StatusCode::NO_CONTENT)
}
