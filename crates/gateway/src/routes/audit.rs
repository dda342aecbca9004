//! The audit log: who did what, from where, with which result. Users see their own rows, the operator sees
//! all.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use bytes::Bytes;
use headwater_protocol::api::{PageBody, Timestamp};
use headwater_store::{AuditFilter, AuditRow, MAX_PAGE, PageRequest, Role};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::Query;
use crate::http::openapi::Common;
use crate::http::paging::{page_body, page_request};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(export))
}

/// One recorded action, whether it was allowed or denied.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditRow)]
struct AuditBody {
    /// When it happened.
    at: Timestamp,
    /// The user; empty if unknown.
    owner: String,
    /// The id of the token that was used.
    token_id: String,
    /// The action, such as `execution.start`.
    action: String,
    /// The object that it was applied to, or the requested path.
    object: String,
    /// The address of the client.
    address: String,
    /// Details for people.
    detail: String,
    /// `ok` or `denied`.
    result: String,
}

impl From<AuditRow> for AuditBody {
    fn from(row: AuditRow) -> Self {
        let AuditRow { at_ms, owner, token_id, action, object, address, detail, result } = row;
        Self { at: Timestamp(at_ms), owner, token_id, action, object, address, detail, result }
    }
}

/// Selects audit rows.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The maximum number of rows on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
    /// Only rows of this owner; for the operator.
    owner: Option<String>,
    /// Only rows with this action.
    action: Option<String>,
    /// Only rows about this object.
    object: Option<String>,
    /// Only rows with this result.
    result: Option<String>,
    /// Only at this time or later, in milliseconds since 1970.
    since_ms: Option<u64>,
    /// Only before this time, in milliseconds since 1970.
    until_ms: Option<u64>,
}

/// Selects the rows to export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// Only rows of this owner; for the operator.
    owner: Option<String>,
    /// Only at this time or later, in milliseconds since 1970.
    since_ms: Option<u64>,
    /// Only before this time, in milliseconds since 1970.
    until_ms: Option<u64>,
}

/// The owner whose rows are returned: the requested one for the operator, and oneself for everybody else.
fn whose(who: &Identity, requested: Option<String>) -> Result<Option<String>, ApiError> {
    if who.bounds.sessions.is_some() {
        let hint = "use a token that is not bound to certain sessions";
        return Err(ApiError::forbidden("this token is restricted to certain sessions", hint));
    }
    match (who.role, requested) {
        (Role::Admin, requested) => Ok(requested),
        (_, Some(other)) if other != who.owner => Err(ApiError::forbidden(
            "only the operator may read audit rows of other users",
            "leave `owner` out",
        )),
        _ => Ok(Some(who.owner.clone())),
    }
}

/// Lists audit rows, newest first.
#[utoipa::path(get, path = "/v1/audit", operation_id = "listAuditRows", tag = "server", params(ListQuery),
    responses((status = 200, body = PageBody<AuditBody>), Common))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ListQuery>,
) -> Result<JsonBody<PageBody<AuditBody>>, ApiError> {
    let page = page_request(query.limit, query.cursor.as_deref())?;
    let filter = AuditFilter {
        owner: whose(&who, query.owner)?,
        action: query.action,
        object: query.object,
        result: query.result,
        since_ms: query.since_ms,
        until_ms: query.until_ms,
    };
    let found = gateway.store.audit(&filter, page).await?;
    Ok(JsonBody(page_body(found.items.into_iter().map(Into::into).collect(), found.next)))
}

/// Exports all audit rows as JSON lines, newest first.
#[utoipa::path(get, path = "/v1/audit/export",
    operation_id = "exportAuditRows", tag = "server", params(ExportQuery),
    responses((status = 200, body = String, content_type = "application/x-ndjson",
        description = "the rows, one JSON object a line"), Common))]
async fn export(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ExportQuery>,
) -> Result<impl IntoResponse, ApiError> {
    let filter = AuditFilter {
        owner: whose(&who, query.owner)?,
        since_ms: query.since_ms,
        until_ms: query.until_ms,
        ..AuditFilter::default()
    };
    // One page at a time, once the client has read the page before.
    let pages = futures_util::stream::try_unfold(Some(PageRequest::first(MAX_PAGE)), move |page| {
        let (gateway, filter) = (Arc::clone(&gateway), filter.clone());
        async move {
            let Some(page) = page else { return Ok(None) };
            let found = gateway.store.audit(&filter, page).await?;
            let next = found.next.map(|cursor| PageRequest { limit: MAX_PAGE, cursor: Some(cursor) });
            Ok::<_, headwater_store::StoreError>(Some((lines(found.items), next)))
        }
    });
    let name = "attachment; filename=\"audit.jsonl\"";
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, Body::from_stream(pages)))
}

fn lines(rows: Vec<AuditRow>) -> Bytes {
    let mut text = Vec::new();
    for row in rows {
        // Writing strings and numbers as JSON into memory cannot fail.
        if serde_json::to_writer(&mut text, &AuditBody::from(row)).is_ok() {
            text.push(b'\n');
        }
    }
    text.into()
}
