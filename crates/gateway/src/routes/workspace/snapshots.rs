//! Copies of a workspace that are kept: `/v1/sessions/{id}/snapshots`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::api::{ErrorBody, SnapshotBody, SnapshotRequest, SnapshotsBody};
use headwater_protocol::{SessionId, SnapshotId};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NotFound, SessionEnded, TakesJson};
use crate::routes::workspace::bodies;
use crate::state::Gateway;

/// The longest name of one.
const MAX_NAME: usize = 200;

/// Keeps a copy of the workspace as it is now.
///
/// Where the file system can, the copy shares its blocks with the workspace. Programs may go on meanwhile: each file is as it
/// was when it was copied, not all of them as of one moment. FIFOs, sockets and devices are left out, and two names of one
/// file become two files. A session keeps up to 32; they count towards its disk limit, and go with it.
#[utoipa::path(post, path = "/v1/sessions/{id}/snapshots", tag = "trees",
    params(("id" = String, Path, description = "the session")),
    request_body = Option<SnapshotRequest>,
    responses(
        (status = 201, body = SnapshotBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it has 32, or has ended"),
        (status = 507, body = ErrorBody, description = "no room for it"),
))]
pub(crate) async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    Json(request): Json<SnapshotRequest>,
) -> Result<(StatusCode, JsonBody<SnapshotBody>), ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, session).await?;
    let name = request.name.unwrap_or_default();
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        let message = format!("`name` has at most {MAX_NAME} bytes, and no control characters");
        return Err(ApiError::invalid(message));
    }
    // Chosen here: asked again over a restart of the worker, it makes one.
    let id = SnapshotId::random();
    let work = Arc::clone(&gateway);
    let made = gateway.background.detached(async move {
        let made = work.worker.create_snapshot(session, id, &name).await?;
        work.audit.record(&who, "snapshot.create", id.to_string(), format!("session={session}"));
        Ok(made)
    });
    Ok((StatusCode::CREATED, JsonBody(bodies::snapshot(made.await?)?)))
}

/// Lists the snapshots of a session, oldest first.
#[utoipa::path(get, path = "/v1/sessions/{id}/snapshots", tag = "trees",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = SnapshotsBody), Common, NotFound, SessionEnded))]
pub(crate) async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
) -> Result<JsonBody<SnapshotsBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, session).await?;
    let told = gateway.worker.snapshots(session).await?;
    let items = told.into_iter().map(bodies::snapshot).collect::<Result<_, _>>()?;
    Ok(JsonBody(SnapshotsBody { items }))
}

/// Removes a snapshot.
#[utoipa::path(delete, path = "/v1/sessions/{id}/snapshots/{snapshot}", tag = "trees",
    params(
        ("id" = String, Path, description = "the session"),
        ("snapshot" = String, Path, description = "the snapshot"),
    ),
    responses((status = 204, description = "it is gone"), Common, NotFound, SessionEnded))]
pub(crate) async fn remove(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((session, id)): Path<(SessionId, SnapshotId)>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, session).await?;
    let work = Arc::clone(&gateway);
    gateway
        .background
        .detached(async move {
            work.worker.remove_snapshot(session, id).await?;
            work.audit.record(&who, "snapshot.delete", id.to_string(), format!("session={session}"));
            Ok(StatusCode::NO_CONTENT)
        })
        .await
}

/// Puts a snapshot in place of all that is in the workspace.
///
/// The copy is made first; then what is in the workspace goes and the copy comes, each thing in one step. Programs that run
/// see the same folder with other content; files that they have open stay theirs. A worker that is killed in the middle
/// finishes it when it is started again.
#[utoipa::path(post, path = "/v1/sessions/{id}/snapshots/{snapshot}/restore", tag = "trees",
    params(
        ("id" = String, Path, description = "the session"),
        ("snapshot" = String, Path, description = "the snapshot"),
    ),
    responses(
        (status = 200, body = SnapshotBody), Common, NotFound, SessionEnded,
        (status = 413, body = ErrorBody, description = "more than the session's disk limit leaves room for"),
))]
pub(crate) async fn restore(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((session, id)): Path<(SessionId, SnapshotId)>,
) -> Result<JsonBody<SnapshotBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, session).await?;
    let work = Arc::clone(&gateway);
    let restored = gateway.background.detached(async move {
        let told = work.worker.restore_snapshot(session, id).await?;
        work.audit.record(&who, "snapshot.restore", id.to_string(), format!("session={session}"));
        Ok(told)
    });
    Ok(JsonBody(bodies::snapshot(restored.await?)?))
}
