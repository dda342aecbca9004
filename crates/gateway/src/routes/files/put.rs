//! Writing a file: `PUT /v1/sessions/{id}/files/content`.
//!
//! The body goes to the worker as it comes. The worker changes nothing before it has all of it.

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
use super::{file_body, untold};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::state::Gateway;

/// Where the bytes go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum WriteMode {
    /// In place of the file that is there, in one step; with `offset`, into it.
    #[default]
    Write,
    /// At its end.
    Append,
}

/// Which file, and where in it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PutQuery {
    /// The file; the folders above it are made.
    #[serde(rename = "path")]
    #[param(required = true)] // told only to who may know that the session is there
    _path: Option<String>,
    /// How `path` is written, if it was told with an `encoding`.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// `write` (if absent) or `append`.
    #[param(inline)]
    mode: Option<WriteMode>,
    /// Write into the file from this byte on, and leave the rest as it is.
    offset: Option<u64>,
    /// The rights of the file in octal digits: those it has, or `644`, if absent.
    #[param(pattern = "^0?[0-7]{1,3}$")]
    permissions: Option<String>,
}

/// Writes a file: whole (in one step: nobody ever sees half of it), at its end, or from some byte on.
///
/// The body is taken as it is, whatever its type, and may be as large as the session's disk limit allows. Nothing is
/// changed before all of it has come. The file that is replaced must be an ordinary one with one name.
#[utoipa::path(put, path = "/v1/sessions/{id}/files/content", tag = "files",
    params(
        ("id" = String, Path, description = "the session"), PutQuery,
        ("If-Match" = Option<String>, Header, description = "only if the file has one of these `ETag`s; `*`: only if it is there"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only if nothing is there"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "any bytes"),
    responses(
        (status = 200, body = FileBody, description = "it was there before"),
        (status = 201, body = FileBody, description = "it is new"), Common, NotFound,
        (status = 409, body = ErrorBody, description = "something else lies there"),
        (status = 412, body = ErrorBody, description = "the file is not in the state that was expected"),
        (status = 413, body = ErrorBody, description = "more than the session's disk limit leaves room for"),
        (status = 507, body = ErrorBody, description = "it does not fit into what the session may hold"),
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

/// Sends a body to the worker, and tells what became of it.
pub(crate) async fn write(
    gateway: &Arc<Gateway>,
    who: &Identity,
    id: SessionId,
    head: v1::WriteFileHead,
    body: Body,
) -> Result<(StatusCode, FileBody), ApiError> {
    // The body can be sent once: a worker that is just being started again is waited for before, not while.
    gateway.worker.info().await?;
    let mut writer = gateway.worker.once().write_file(head).await;
    let mut body = body.into_data_stream();
    while let Some(chunk) = body.next().await {
        let whole = || ApiError::invalid("the body did not arrive whole: nothing was changed");
        writer.write(chunk.map_err(|_| whole())?).await.map_err(unfinished)?;
    }
    let written = writer.finish().await.map_err(perhaps_finished)?;
    let file = file_body(written.entry.ok_or_else(untold)?);
    gateway.audit.record(who, "file.write", id.to_string(), file.path.clone());
    Ok((if written.created { StatusCode::CREATED } else { StatusCode::OK }, file))
}

fn unfinished(error: ContractError) -> ApiError {
    match error {
        ContractError::Disconnected(_) => ApiError::unavailable(
            "the worker was started again while the file was sent: nothing was changed",
            "send it again",
        ),
        error => error.into(),
    }
}

fn perhaps_finished(error: ContractError) -> ApiError {
    match error {
        ContractError::Disconnected(_) => ApiError::unavailable(
            "the worker was started again just when the file was written",
            "look at the file, and send it again if it is not what you sent",
        ),
        error => error.into(),
    }
}

/// What must lie there, by the headers of the request (RFC 9110).
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
        // A weak tag matches nothing here, nor does what is no tag; the list must not become empty, which means anything.
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
