//! Snapshots of a workspace: `/v1/sessions/{id}/snapshots`.

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

/// The maximum length of a snapshot's name, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Creates a snapshot of the workspace.
///
/// Where the file system supports it, the snapshot shares its blocks with the workspace. Programs may
/// continue to run: each file is as it was when it was copied, and the files may be from different moments.
/// FIFOs, sockets and devices are left out, and hard links become separate files. A session keeps up to 32
/// snapshots; they count towards its disk limit, and are deleted with it.
#[utoipa::path(post, path = "/v1/sessions/{id}/snapshots", operation_id = "createSnapshot", tag = "trees",
    params(("id" = String, Path, description = "the session")),
    request_body = Option<SnapshotRequest>,
    responses(
        (status = 201, body = SnapshotBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the session has 32 snapshots, or has ended"),
        (status = 507, body = ErrorBody, description = "the host's disk is full"),
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
    if name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
        let message = format!("`name` must have at most {MAX_NAME_BYTES} bytes and no control characters");
        return Err(ApiError::invalid(message));
    }
    // The id is chosen here, so that a retry over a restart of the worker creates only one.
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
#[utoipa::path(get, path = "/v1/sessions/{id}/snapshots", operation_id = "listSnapshots", tag = "trees",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = SnapshotsBody), Common, NotFound, SessionEnded))]
pub(crate) async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
) -> Result<JsonBody<SnapshotsBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, session).await?;
    let snapshots = gateway.worker.snapshots(session).await?;
    let items = snapshots.into_iter().map(bodies::snapshot).collect::<Result<_, _>>()?;
    Ok(JsonBody(SnapshotsBody { items }))
}

/// Removes a snapshot.
#[utoipa::path(delete, path = "/v1/sessions/{id}/snapshots/{snapshot}",
    operation_id = "deleteSnapshot", tag = "trees",
    params(
        ("id" = String, Path, description = "the session"),
        ("snapshot" = String, Path, description = "the snapshot"),
    ),
    responses((status = 204, description = "it was removed"), Common, NotFound, SessionEnded))]
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

/// Restores a snapshot: replaces the whole content of the workspace.
///
/// The copy is created first; then the content of the workspace is replaced, each entry atomically. Running
/// programs see the same folder with other content, and keep the files that they have open. A worker that is
/// killed in the middle completes the restore when it is restarted.
#[utoipa::path(post, path = "/v1/sessions/{id}/snapshots/{snapshot}/restore",
    operation_id = "restoreSnapshot", tag = "trees",
    params(
        ("id" = String, Path, description = "the session"),
        ("snapshot" = String, Path, description = "the snapshot"),
    ),
    responses(
        (status = 200, body = SnapshotBody), Common, NotFound, SessionEnded,
        (status = 413, body = ErrorBody, description = "it exceeds the session's disk limit"),
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
        let restored = work.worker.restore_snapshot(session, id).await?;
        work.audit.record(&who, "snapshot.restore", id.to_string(), format!("session={session}"));
        Ok(restored)
    });
    Ok(JsonBody(bodies::snapshot(restored.await?)?))
}
