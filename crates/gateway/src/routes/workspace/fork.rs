//! Forking a session: `POST /v1/sessions/{id}/fork`.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_contract::v1;
use headwater_protocol::api::{ForkRequest, SessionBody};
use headwater_protocol::{Session, SessionId};
use headwater_store::StoreError;

use crate::auth::{Identity, Need, authorise};
use crate::bodies::{OWNER, session_body};
use crate::error::ApiError;
use crate::executions::reconcile::session_row;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NotFound, SessionEnded, TakesJson};
use crate::sessions::by_name::name_taken;
use crate::state::Gateway;

/// Creates a session like another: with the same limits and environment variables, and a copy of its
/// workspace or of a snapshot.
///
/// Running programs are not copied. The new session appears with the complete copy, or not at all.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", operation_id = "forkSession", tag = "trees",
    params(("id" = String, Path, description = "the session to copy")),
    request_body = Option<ForkRequest>,
    responses(
        (status = 201, body = SessionBody, headers(("Location" = String, description = "the URL of the session"))),
        Common, NotFound, TakesJson, SessionEnded,
))]
pub(crate) async fn fork(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(from): Path<SessionId>,
    Json(request): Json<ForkRequest>,
) -> Result<impl IntoResponse, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, from).await?;
    // It creates a session, so it needs the same rights: a link, or a token for certain sessions, is refused.
    authorise(&who, Need::Write)?;
    gateway.quota.may_create_session(&who.owner).await?;
    let work = Arc::clone(&gateway);
    let session =
        gateway.background.detached(async move { fork_session(&work, &who, from, request).await }).await?;
    let location = [(header::LOCATION, format!("/v1/sessions/{}", session.id))];
    Ok((StatusCode::CREATED, location, JsonBody(gateway.with_activity(session_body(session)).await)))
}

/// Asks the worker first and then writes the row, as when a session is created: a gateway that is killed in
/// between finds the session when it is restarted.
async fn fork_session(
    gateway: &Arc<Gateway>,
    who: &Identity,
    from: SessionId,
    request: ForkRequest,
) -> Result<Session, ApiError> {
    let id = SessionId::random();
    gateway.check_name_is_free(&who.owner, request.name.as_deref(), id).await?;
    let name = request.name.clone();
    let source = gateway.worker.session(from).await?;
    let mut metadata: HashMap<_, _> = source.spec.metadata.into_iter().collect();
    metadata.insert(OWNER.to_owned(), who.owner.clone());
    let request = v1::ForkRequest {
        session_id: from.to_string(),
        new_session_id: id.to_string(),
        name: request.name,
        snapshot_id: request.snapshot.map(|id| id.to_string()).unwrap_or_default(),
        metadata,
    };
    gateway.worker.fork_session(request).await?;
    let session = gateway.worker.session(id).await?;
    if let Err(error) = gateway.store.create_session(&session_row(session.clone())).await {
        // The session would be unknown to the gateway.
        let _ = gateway.worker.end_session(id, true).await;
        return Err(match error {
            StoreError::NameTaken => name_taken(name.as_deref().unwrap_or_default()),
            error => error.into(),
        });
    }
    gateway.auth.access.put_session(id, who.owner.clone());
    gateway.audit.record(who, "session.fork", id.to_string(), format!("from={from}"));
    Ok(session)
}
