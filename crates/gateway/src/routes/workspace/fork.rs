//! A session like another, with a copy of its workspace: `POST /v1/sessions/{id}/fork`.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_contract::v1;
use headwater_protocol::api::{ForkRequest, SessionBody};
use headwater_protocol::{Session, SessionId};

use crate::auth::{Identity, Need, authorise};
use crate::bodies::{OWNER, session_body};
use crate::error::ApiError;
use crate::executions::reconcile::session_row;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NotFound, SessionEnded, TakesJson};
use crate::state::Gateway;

/// Makes a session like another: with the same limits and variables, and a copy of its workspace or of a snapshot.
///
/// What runs in the one does not run in the other. The new session is there with all of the copy, or not at all.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", tag = "trees",
    params(("id" = String, Path, description = "the session to copy")),
    request_body = Option<ForkRequest>,
    responses(
        (status = 201, body = SessionBody, headers(("Location" = String, description = "where it is"))),
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
    // It makes a session, so it needs what making one needs: a link or a token for certain sessions does not do.
    authorise(&who, Need::Write)?;
    gateway.quota.may_create_session(&who.owner).await?;
    let work = Arc::clone(&gateway);
    let session =
        gateway.background.detached(async move { fork_session(&work, &who, from, request).await }).await?;
    let place = [(header::LOCATION, format!("/v1/sessions/{}", session.id))];
    Ok((StatusCode::CREATED, place, JsonBody(session_body(session))))
}

/// Asks the worker, and then writes the row, as when a session is made: a gateway that is killed in between finds the
/// session when it is started again.
async fn fork_session(
    gateway: &Arc<Gateway>,
    who: &Identity,
    from: SessionId,
    request: ForkRequest,
) -> Result<Session, ApiError> {
    let id = SessionId::random();
    let source = gateway.worker.session(from).await?;
    let mut metadata: HashMap<_, _> = source.spec.metadata.into_iter().collect();
    metadata.insert(OWNER.to_owned(), who.owner.clone());
    let ask = v1::ForkRequest {
        session_id: from.to_string(),
        new_session_id: id.to_string(),
        name: request.name,
        snapshot_id: request.snapshot.map(|id| id.to_string()).unwrap_or_default(),
        metadata,
    };
    gateway.worker.fork_session(ask).await?;
    let told = gateway.worker.session(id).await?;
    if let Err(error) = gateway.store.put_session(&session_row(told.clone())).await {
        // Nobody would know of it.
        let _ = gateway.worker.end_session(id, true).await;
        return Err(error.into());
    }
    gateway.auth.access.put_session(id, who.owner.clone());
    gateway.audit.record(who, "session.fork", id.to_string(), format!("from={from}"));
    Ok(told)
}
