//! Writing a file: `PUT /v1/sessions/{id}/files/content`.
//!
//! The body is streamed to the worker, which changes nothing before it has all of it.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use futures_util::StreamExt;
use headwater_contract::v1::write_file_head::Place;
use headwater_contract::{ContractError, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, FileBody, PathEncoding};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::path::{QueryPath, encoding, mode};
use super::{file_body, lacks_file};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound, WritesFiles};
use crate::state::Gateway;

/// How the body is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum WriteMode {
    /// Replaces the file atomically; with `offset`, writes into it.
    #[default]
    Write,
    /// Appends to the file.
    Append,
}

/// Selects a file, and the position in it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PutQuery {
    /// The path of the file; missing parent folders are created.
    #[serde(rename = "path")]
    #[param(required = true)] // checked after access to the session
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// `write` (if absent) or `append`.
    #[param(inline)]
    mode: Option<WriteMode>,
    /// Write into the file from this byte on, and leave the rest unchanged.
    offset: Option<u64>,
    /// The permissions of the file in octal digits: its current ones, or `644`, if absent.
    #[param(pattern = "^0?[0-7]{1,3}$")]
    permissions: Option<String>,
}

/// Writes a file: replaces it atomically, appends to it, or writes from an offset on.
///
/// The body is used as it is, whatever its type, and may be as large as the session's disk limit allows.
/// Nothing is changed before all of it has arrived. The file to replace must be an ordinary file with a
/// single hard link.
#[utoipa::path(put, path = "/v1/sessions/{id}/files/content", operation_id = "writeFile", tag = "files",
    params(
        ("id" = String, Path, description = "the session"), PutQuery,
        ("If-Match" = Option<String>, Header, description = "only if the file has one of these `ETag`s; `*`: only if it exists"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only if it does not exist"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "any bytes"),
    responses(
        (status = 200, body = FileBody, description = "it existed before"),
        (status = 201, body = FileBody, description = "it was created"), Common, NotFound,
        (status = 409, body = ErrorBody, description = "the path is not an ordinary file"),
        (status = 412, body = ErrorBody, description = "the file is not the expected version"),
        WritesFiles,
))]
pub(crate) async fn put(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    path: QueryPath,
    Query(query): Query<PutQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, JsonBody<FileBody>), ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let place = match (query.mode.unwrap_or_default(), query.offset) {
        (WriteMode::Write, None) => Place::Whole(true),
        (WriteMode::Write, Some(offset)) => Place::Offset(offset),
        (WriteMode::Append, None) => Place::Append(true),
        (WriteMode::Append, Some(_)) => {
            return Err(ApiError::invalid("`offset` and `mode=append` exclude each other"));
        }
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let head = v1::WriteFileHead {
        session_id: id.to_string(),
        path: path.needed()?,
        place: Some(place),
        expect: Some(expectation(&headers)?),
        mode: query.permissions.as_deref().map(mode).transpose()?,
        size: length,
    };
    let (status, file) = write(&gateway, &who, id, head, body).await?;
    Ok((status, JsonBody(file)))
}

/// Sends a body to the worker, and returns the written file.
pub(crate) async fn write(
    gateway: &Arc<Gateway>,
    who: &Identity,
    id: SessionId,
    head: v1::WriteFileHead,
    body: Body,
) -> Result<(StatusCode, FileBody), ApiError> {
    // The body can be sent only once: wait for a worker that is being restarted before sending it.
    gateway.worker.info().await?;
    let mut writer = gateway.worker.once().write_file(head).await;
    let mut body = body.into_data_stream();
    while let Some(chunk) = body.next().await {
        let whole = || ApiError::invalid("the body is incomplete; nothing was changed");
        let chunk = chunk.map_err(|_| whole())?;
        gateway.metrics.received_file(chunk.len());
        writer.write(chunk).await.map_err(unfinished)?;
    }
    let written = writer.finish().await.map_err(perhaps_finished)?;
    let file = file_body(written.entry.ok_or_else(lacks_file)?);
    gateway.audit.record(who, "file.write", id.to_string(), file.path.clone());
    Ok((if written.created { StatusCode::CREATED } else { StatusCode::OK }, file))
}

fn unfinished(error: ContractError) -> ApiError {
    match error {
        ContractError::Disconnected(_) => ApiError::unavailable(
            "the worker was restarted during the upload; nothing was changed",
            "send the file again",
        ),
        error => error.into(),
    }
}

fn perhaps_finished(error: ContractError) -> ApiError {
    match error {
        ContractError::Disconnected(_) => ApiError::unavailable(
            "the worker was restarted while it wrote the file",
            "check the file, and send it again if it was not written",
        ),
        error => error.into(),
    }
}

/// The expected version of the file, by the headers of the request (RFC 9110).
fn expectation(headers: &HeaderMap) -> Result<v1::Expectation, ApiError> {
    let mut expect = v1::Expectation::default();
    if headers.contains_key(header::IF_NONE_MATCH) {
        let only_star = tags(headers, header::IF_NONE_MATCH).iter().all(|tag| tag == "*");
        if !only_star {
            return Err(ApiError::invalid("`If-None-Match` can only be `*` here"));
        }
        expect.nothing = true;
    }
    if headers.contains_key(header::IF_MATCH) {
        if expect.nothing {
            return Err(ApiError::invalid("`If-Match` and `If-None-Match` exclude each other"));
        }
        let tags = tags(headers, header::IF_MATCH);
        expect.something = tags.iter().any(|tag| tag == "*");
        // Weak or malformed tags match nothing here. The list must not become empty, which would match anything.
        let strong =
            |tag: String| tag.strip_prefix('"').and_then(|tag| Some(tag.strip_suffix('"')?.to_owned()));
        expect.etags = tags.into_iter().map(|tag| strong(tag).unwrap_or_default()).collect();
    }
    Ok(expect)
}

fn tags(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let lists = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    lists.flat_map(|list| list.split(',')).map(|tag| tag.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(name: HeaderName, value: &str) -> v1::Expectation {
        expectation(&HeaderMap::from_iter([(name, value.parse().unwrap())])).unwrap()
    }

    #[test]
    fn conditions_say_what_must_lie_there() {
        assert!(expected(header::IF_NONE_MATCH, "*").nothing);
        assert!(expected(header::IF_MATCH, "*").something);
        assert_eq!(expected(header::IF_MATCH, "\"a\", \"b\"").etags, ["a", "b"]);
        for nothing_matches in ["W/\"a\"", "a", ""] {
            let expect = expected(header::IF_MATCH, nothing_matches);
            assert_eq!((expect.etags, expect.something), (vec![String::new()], false), "{nothing_matches}");
        }
        assert_eq!(expectation(&HeaderMap::new()).unwrap(), v1::Expectation::default());
        let other = HeaderMap::from_iter([(header::IF_NONE_MATCH, "\"a\"".parse().unwrap())]);
        assert_eq!(expectation(&other).unwrap_err().status, 400);
    }
}
