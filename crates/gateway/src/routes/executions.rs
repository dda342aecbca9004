//! Executions: start, get, list and remove. [`control`] and [`stdin`] act on a running execution, and
//! [`search`] selects executions by what was run and how it ended.

mod control;
mod search;
mod stdin;

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_protocol::api::{
    ErrorBody, EventBody, ExecutionBody, ExecutionStateName, PageBody, StartRequest, Timestamp,
};
use headwater_protocol::{ExecutionId, SessionId};
use headwater_store::ExecutionFilter;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::bodies::{check_metadata, execution_body};
use crate::error::ApiError;
use crate::executions::Patience;
use crate::executions::start::ExecutionSpec;
use crate::http::extract::{NoQuery, Path, Query, long_poll, wants_events};
use crate::http::idempotency::Keyed;
use crate::http::openapi::{Common, Conflict, IdempotencyKey, NotFound, SessionEnded, TakesJson, TakesKey};
use crate::http::paging::{page_body, page_request};
use crate::http::search_text::search_text;
use crate::routes::executions::search::{Kind, Outcome};
use crate::state::Gateway;
use crate::streams::sse::{EventQuery, Until, sse};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(start_in_session))
        .routes(routes!(start, list))
        .routes(routes!(get, delete))
        .merge(control::routes())
        .merge(stdin::routes())
}

/// Starts an execution in a session.
///
/// Returns the execution; or, with `Accept: text/event-stream`, its events as they happen, beginning with
/// `started`, which has its id. The query parameters are those of the event stream.
#[utoipa::path(post, path = "/v1/sessions/{id}/executions",
    operation_id = "startExecutionInSession", tag = "executions",
    params(
        ("id" = String, Path, description = "the session"),
        IdempotencyKey,
        EventQuery,
    ),
    request_body = StartRequest,
    responses(
        (status = 200, body = EventBody, content_type = "text/event-stream", description = "its events, with `Accept: text/event-stream`"),
        (status = 201, body = ExecutionBody, headers(("Location" = String, description = "the URL of the execution"))),
        Common, NotFound, TakesJson, TakesKey, SessionEnded,
))]
async fn start_in_session(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
    request: Keyed<StartRequest>,
) -> Result<Response, ApiError> {
    begin(&gateway, &who, Some(id), query, &headers, request).await
}

/// Starts an execution in a dedicated session, which ends with it.
///
/// Responds like `POST /v1/sessions/{id}/executions`.
#[utoipa::path(post, path = "/v1/executions", operation_id = "startExecution", tag = "executions",
    params(
        IdempotencyKey,
        EventQuery,
    ),
    request_body = StartRequest,
    responses(
        (status = 200, body = EventBody, content_type = "text/event-stream", description = "its events, with `Accept: text/event-stream`"),
        (status = 201, body = ExecutionBody, headers(("Location" = String, description = "the URL of the execution"))),
        Common, NotFound, TakesJson, TakesKey, Conflict,
))]
async fn start(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
    request: Keyed<StartRequest>,
) -> Result<Response, ApiError> {
    begin(&gateway, &who, None, query, &headers, request).await
}

async fn begin(
    gateway: &Arc<Gateway>,
    who: &Identity,
    session: Option<SessionId>,
    query: EventQuery,
    headers: &HeaderMap,
    request: Keyed<StartRequest>,
) -> Result<Response, ApiError> {
    if let Some(id) = session {
        // Before the body is checked: a caller that may not see the session learns nothing from its errors.
        gateway.auth.may_use_session(who, Need::Write, id).await?;
    }
    let Keyed { value, request_key } = request;
    check_metadata(&value.metadata)?;
    let execution = ExecutionSpec { session, spec: value.try_into()?, request_key };
    let options = query.into_options()?;
    if wants_events(headers) {
        let (id, follower) = gateway.starts.run(who, execution, options).await?;
        let mut response = sse(gateway, id, follower);
        if let Ok(location) = location(id).parse() {
            response.headers_mut().insert(header::LOCATION, location);
        }
        return Ok(response);
    }
    let execution = gateway.starts.start_for(who, execution, options.lossless).await?;
    let location = [(header::LOCATION, location(execution.id))];
    let owner = gateway.owner_of_execution(&execution).await;
    Ok((StatusCode::CREATED, location, JsonBody(execution_body(execution, owner))).into_response())
}

fn location(id: ExecutionId) -> String {
    format!("/v1/executions/{id}")
}

/// Selects executions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only executions of this session: its id, its name or a unique prefix of its id.
    session_id: Option<String>,
    /// Only executions in this state.
    #[param(inline)]
    state: Option<ExecutionStateName>,
    /// Only executions that ended in this way. Executions that have not ended have no outcome.
    #[param(inline)]
    outcome: Option<Outcome>,
    /// Only executions that were started in this way.
    #[param(inline)]
    kind: Option<Kind>,
    /// Only executions of code in this language.
    language: Option<String>,
    /// Only executions with this text in the first 16 KiB of the command or in the name of the session; or, if it
    /// begins with `exe_` or `ses_`, at the beginning of their id or of the session's. Case and the amount of white
    /// space make no difference. A search looks at a bounded number of executions for each page, so a page may be
    /// empty and still have a `next_cursor`.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only executions in sessions of this owner. Operators see the executions of all owners, others only their own.
    owner: Option<String>,
    /// Only executions whose metadata has this `conversation_id`.
    conversation_id: Option<String>,
    /// Only executions that were accepted at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    started_after: Option<Timestamp>,
    /// Only executions that were accepted before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    started_before: Option<Timestamp>,
    /// The maximum number of executions on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
}

/// Lists executions, newest first.
///
/// A page may have fewer entries than `limit`; only the last page has no `next_cursor`.
#[utoipa::path(get, path = "/v1/executions",
    operation_id = "listExecutions", tag = "executions", params(ListQuery), responses(
        (status = 200, body = PageBody<ExecutionBody>), Common,
        (status = 404, body = ErrorBody, description = "no such session"),
))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ListQuery>,
) -> Result<JsonBody<PageBody<ExecutionBody>>, ApiError> {
    let page = page_request(query.limit, query.cursor.as_deref())?;
    let session_id = match query.session_id {
        Some(text) => Some(gateway.session_named(&who, Need::Read, &text).await?),
        None => None,
    };
    let filter = ExecutionFilter {
        owner: query.owner,
        session_id,
        state: None,
        succeeded: query.outcome.map(Outcome::is_success),
        kind: query.kind.map(Into::into),
        text: search_text(query.q)?,
        language: query.language,
        conversation_id: query.conversation_id,
        tool_call_id: None,
        started_after_ms: query.started_after.map(|at| at.0),
        started_before_ms: query.started_before.map(|at| at.0),
        among: None,
    };
    let found = gateway.list_executions(&who, filter, query.state, page).await?;
    let items = found.items.into_iter().map(|(execution, owner)| execution_body(execution, owner));
    Ok(JsonBody(page_body(items.collect(), found.next)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GetQuery {
    /// Wait for the end for up to this long (`10s`, `500ms`, `1m`), at most a minute.
    #[param(pattern = r"^[0-9]{1,6}(\.[0-9]{1,9})?(ms|s|m)?$")]
    wait: Option<String>,
    /// The end to wait for: `exited` if absent.
    #[param(inline)]
    until: Option<Until>,
}

impl GetQuery {
    fn patience(&self) -> Result<Patience, ApiError> {
        let closed = self.until == Some(Until::Closed);
        Ok(Patience { at_most: long_poll(self.wait.as_deref())?, closed })
    }
}

/// Returns an execution, immediately or after it has ended.
#[utoipa::path(get, path = "/v1/executions/{id}", operation_id = "getExecution", tag = "executions",
    params(("id" = String, Path, description = "the execution"), GetQuery),
    responses(
        (status = 200, body = ExecutionBody, description = "the execution; `state` says whether it has ended"),
        Common, NotFound,
))]
async fn get(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Query(query): Query<GetQuery>,
) -> Result<JsonBody<ExecutionBody>, ApiError> {
    let execution = gateway.look_at_execution(&who, id, query.patience()?).await?;
    let owner = gateway.owner_of_execution(&execution).await;
    Ok(JsonBody(execution_body(execution, owner)))
}

/// Removes a closed execution and its log.
#[utoipa::path(delete, path = "/v1/executions/{id}", operation_id = "deleteExecution", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    responses(
        (status = 204, description = "it was removed"), Common, NotFound,
        (status = 409, body = ErrorBody, description = "it is not closed"),
))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
) -> Result<StatusCode, ApiError> {
    gateway.delete_execution(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn accepts(values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, value.parse().unwrap());
        }
        wants_events(&headers)
    }

    #[test]
    fn only_a_client_that_accepts_the_event_stream_gets_one() {
        assert!(accepts(&["text/event-stream"]));
        assert!(accepts(&["application/json, Text/Event-Stream;q=0.9"]));
        assert!(accepts(&["application/json", "text/event-stream"]));
        assert!(!accepts(&[]) && !accepts(&["*/*"]) && !accepts(&["text/*", "application/json"]));
    }

    #[test]
    fn a_wait_is_a_duration_and_has_an_end() {
        let query = |wait: &str| GetQuery { wait: Some(wait.into()), until: Some(Until::Closed) };
        let expected = Patience { at_most: Duration::from_millis(1500), closed: true };
        assert_eq!(query("1.5s").patience().unwrap(), expected);
        assert_eq!(query("1h").patience().unwrap().at_most, Duration::from_mins(1));
        assert_eq!(query("soon").patience().unwrap_err().status, 400);
        let none = GetQuery { wait: None, until: None };
        assert_eq!(none.patience().unwrap(), Patience { at_most: Duration::ZERO, closed: false });
    }
}
