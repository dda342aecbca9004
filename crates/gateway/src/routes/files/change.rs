//! Changing files: create folders, move, copy, remove, set permissions.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use bytes::Bytes;
use headwater_contract::{ContractError, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::{
    ChmodRequest, CopyBody, ErrorBody, FileBody, MoveRequest, PathEncoding, PathRequest, path_text,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::path::{QueryPath, encoding, given, mode};
use super::{file_body, lacks_file};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(make_folder))
        .routes(routes!(rename))
        .routes(routes!(copy))
        .routes(routes!(remove))
        .routes(routes!(chmod))
}

/// Creates a folder and its parents. An existing folder is not an error.
#[utoipa::path(post, path = "/v1/sessions/{id}/files/folders", operation_id = "createFolder", tag = "files",
    params(("id" = String, Path, description = "the session")), request_body = PathRequest,
    responses(
        (status = 200, body = FileBody, description = "it existed before"),
        (status = 201, body = FileBody, description = "it was created"), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the path exists and is not a folder"),
))]
async fn make_folder(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Json(request): Json<PathRequest>,
) -> Result<(StatusCode, JsonBody<FileBody>), ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let path = given(&request.path, request.encoding)?;
    let folder = gateway.worker.create_folder(id, path.clone()).await?;
    let status = if folder.created { StatusCode::CREATED } else { StatusCode::OK };
    note(&gateway, &who, "folder.create", id, &path);
    Ok((status, JsonBody(file_body(folder.entry.ok_or_else(lacks_file)?))))
}

/// Moves a file or a folder atomically; missing parent folders are created.
#[utoipa::path(post, path = "/v1/sessions/{id}/files/move", operation_id = "moveFile", tag = "files",
    params(("id" = String, Path, description = "the session")), request_body = MoveRequest,
    responses(
        (status = 200, body = FileBody, description = "the file after the move"), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the target exists, or a path goes through a link"),
))]
async fn rename(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Json(request): Json<MoveRequest>,
) -> Result<JsonBody<FileBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let (from, to) = (given(&request.from, request.encoding)?, given(&request.to, request.encoding)?);
    let request = v1::MoveFileRequest {
        session_id: id.to_string(),
        from: from.clone(),
        to: to.clone(),
        overwrite: request.overwrite,
    };
    let moved = once(&gateway, gateway.worker.once().move_file(request)).await?;
    note(&gateway, &who, "file.move", id, &arrow(&from, &to));
    Ok(JsonBody(file_body(moved)))
}

/// Copies a file, or a folder with its content. The copy appears as a whole, or not at all.
///
/// Links are copied as links; FIFOs, sockets and devices are left out and counted.
#[utoipa::path(post, path = "/v1/sessions/{id}/files/copy", operation_id = "copyFile", tag = "files",
    params(("id" = String, Path, description = "the session")), request_body = MoveRequest,
    responses(
        (status = 200, body = CopyBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the target exists, or a path goes through a link"),
        (status = 507, body = ErrorBody, description = "the host's disk is full"),
))]
async fn copy(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Json(request): Json<MoveRequest>,
) -> Result<JsonBody<CopyBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let (from, to) = (given(&request.from, request.encoding)?, given(&request.to, request.encoding)?);
    let request = v1::CopyFileRequest {
        session_id: id.to_string(),
        from: from.clone(),
        to: to.clone(),
        overwrite: request.overwrite,
    };
    let copied = once(&gateway, gateway.worker.once().copy_file(request)).await?;
    note(&gateway, &who, "file.copy", id, &arrow(&from, &to));
    let file = file_body(copied.entry.ok_or_else(lacks_file)?);
    Ok(JsonBody(CopyBody { file, bytes: copied.bytes, files: copied.files, skipped: copied.skipped }))
}

/// Selects a file to remove.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RemoveQuery {
    /// The path of the file, link or folder.
    #[serde(rename = "path")]
    #[param(required = true)] // checked after access to the session
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// Remove a folder with its content; otherwise it must be empty.
    recursive: Option<bool>,
}

/// Removes a file, a link (not its target) or a folder.
#[utoipa::path(delete, path = "/v1/sessions/{id}/files", operation_id = "deleteFile", tag = "files",
    params(("id" = String, Path, description = "the session"), RemoveQuery),
    responses(
        (status = 204, description = "it was removed"), Common, NotFound,
        (status = 409, body = ErrorBody, description = "the folder is not empty, or the path goes through a link"),
))]
async fn remove(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    path: QueryPath,
    Query(query): Query<RemoveQuery>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let (path, recursive) = (path.needed()?, query.recursive == Some(true));
    once(&gateway, gateway.worker.once().remove_file(id, path.clone(), recursive)).await?;
    note(&gateway, &who, "file.delete", id, &path);
    Ok(StatusCode::NO_CONTENT)
}

/// Changes the permissions of a file or a folder.
#[utoipa::path(post, path = "/v1/sessions/{id}/files/chmod", operation_id = "changeFileMode", tag = "files",
    params(("id" = String, Path, description = "the session")), request_body = ChmodRequest,
    responses(
        (status = 200, body = FileBody, description = "the file after the change"), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it is neither a file nor a folder"),
))]
async fn chmod(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Json(request): Json<ChmodRequest>,
) -> Result<JsonBody<FileBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let (path, mode) = (given(&request.path, request.encoding)?, mode(&request.mode)?);
    let changed = gateway.worker.chmod_file(id, path.clone(), mode).await?;
    note(&gateway, &who, "file.chmod", id, &path);
    Ok(JsonBody(file_body(changed)))
}

/// Makes a call that is not retried, once the worker is connected: a worker that is lost during the call may
/// have carried it out.
async fn once<T>(
    gateway: &Gateway,
    call: impl Future<Output = Result<T, ContractError>>,
) -> Result<T, ApiError> {
    gateway.worker.info().await?;
    call.await.map_err(|error| match error {
        ContractError::Disconnected(_) => ApiError::unavailable(
            "the worker was restarted during the operation",
            "check whether it was carried out, and try again if not",
        ),
        error => error.into(),
    })
}

/// Writes a change to the audit log.
fn note(gateway: &Arc<Gateway>, who: &Identity, action: &'static str, id: SessionId, path: &[u8]) {
    gateway.audit.record(who, action, id.to_string(), path_text(path).0);
}

fn arrow(from: &Bytes, to: &Bytes) -> Vec<u8> {
    [from, &b" -> "[..], to].concat()
}
