//! The bytes of a file: `GET`, `HEAD` and `PUT /v1/sessions/{id}/files/content`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use headwater_contract::{ContractError, FaultKind, FileReader, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, ErrorCode, FileType, PathEncoding, percent_encoded};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::path::{QueryPath, encoding};
use super::{file_type, put, quoted};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::routes::output::{Part, is_known, part};
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// After this many attempts to read a range of one version, a file that keeps changing is sent whole.
const RANGE_ATTEMPTS: usize = 3;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(content, put::put))
}

/// Selects a file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ContentQuery {
    /// The path of the file.
    #[serde(rename = "path")]
    #[param(required = true)] // checked after access to the session
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
}

/// Returns the content of a file. Supports ranges; the `ETag` changes with the file.
///
/// Only ordinary files are opened. The content type is always `application/octet-stream`, for download,
/// because the server cannot vouch for the content. If the file is truncated while it is sent, the response
/// breaks off.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/content", operation_id = "readFile", tag = "files",
    params(
        ("id" = String, Path, description = "the session"), ContentQuery,
        ("Range" = Option<String>, Header, description = "one range of bytes"),
        ("If-Range" = Option<String>, Header, description = "apply `Range` only if this `ETag` is current"),
        ("If-None-Match" = Option<String>, Header, description = "an `ETag` that the client has"),
    ),
    responses(
        (status = 200, description = "all bytes", content((Vec<u8> = "application/octet-stream"))),
        (status = 206, description = "the range", content((Vec<u8> = "application/octet-stream"))),
        (status = 304, description = "not modified"), Common, NotFound,
        (status = 409, body = ErrorBody, description = "it is not an ordinary file"),
        (status = 416, description = "the range has no bytes", body = ErrorBody),
))]
async fn content(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    path: QueryPath,
    _: Query<ContentQuery>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let path = path.needed()?;
    if method == Method::HEAD || headers.contains_key(header::IF_NONE_MATCH) {
        let entry = gateway.worker.stat_file(id, path.clone()).await?;
        must_be_file(&entry)?;
        if is_known(&headers, &quoted(&entry.etag)) {
            return Ok((StatusCode::NOT_MODIFIED, response_headers(&entry, None)).into_response());
        }
        if method == Method::HEAD {
            return Ok(response_headers(&entry, Some((0, entry.size))).into_response());
        }
    }
    if headers.contains_key(header::RANGE)
        && let Some(response) = range(&gateway, id, &path, &headers).await?
    {
        return Ok(response);
    }
    let reader = gateway.worker.read_file(request(id, &path)).await?;
    let headers = response_headers(reader.entry(), Some((0, reader.entry().size)));
    Ok((headers, body(&gateway, reader)).into_response())
}

/// The requested range, if there is one.
async fn range(
    gateway: &Arc<Gateway>,
    id: SessionId,
    path: &Bytes,
    headers: &HeaderMap,
) -> Result<Option<Response>, ApiError> {
    for _ in 0..RANGE_ATTEMPTS {
        let entry = gateway.worker.stat_file(id, path.clone()).await?;
        must_be_file(&entry)?;
        let (from, to) = match part(&Method::GET, headers, &quoted(&entry.etag), entry.size) {
            Part::Whole => return Ok(None),
            Part::Range(from, to) => (from, to),
            Part::Nothing => return Ok(Some(unsatisfiable(&entry))),
        };
        let etag = Some(entry.etag.clone());
        let request = v1::ReadFileRequest { from_byte: from, to_byte: Some(to), etag, ..request(id, path) };
        match gateway.worker.read_file(request).await {
            Ok(reader) => {
                let mut headers = response_headers(&entry, Some((from, to)));
                put(&mut headers, header::CONTENT_RANGE, &format!("bytes {from}-{}/{}", to - 1, entry.size));
                return Ok(Some(
                    (StatusCode::PARTIAL_CONTENT, headers, body(gateway, reader)).into_response(),
                ));
            }
            Err(ContractError::Fault(fault)) if fault.kind == FaultKind::Mismatch => {} // the file has changed
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn request(id: SessionId, path: &Bytes) -> v1::ReadFileRequest {
    v1::ReadFileRequest { session_id: id.to_string(), path: path.clone(), ..v1::ReadFileRequest::default() }
}

/// The content; each chunk is read once the previous one was sent.
fn body(gateway: &Arc<Gateway>, reader: FileReader) -> Body {
    let open = OpenStream::new(gateway, "file");
    let pieces = unfold(Some((reader, open)), async |state| {
        let (mut reader, open) = state?;
        match reader.next().await {
            Ok(bytes) => {
                let bytes = bytes?;
                open.sent(bytes.len());
                Some((Ok(bytes), Some((reader, open))))
            }
            Err(error) => {
                tracing::warn!(%error, "the download of a file broke off");
                Some((Err(error), None))
            }
        }
    });
    Body::from_stream(pieces)
}

fn must_be_file(entry: &v1::FileEntry) -> Result<(), ApiError> {
    if file_type(entry.kind()) == FileType::File {
        return Ok(());
    }
    let path = String::from_utf8_lossy(&entry.path).escape_debug().to_string();
    let message = format!("`{path}` exists and is not an ordinary file");
    Err(ApiError::conflict(message, "list it, or choose another path"))
}

/// The headers for the bytes `from..to`, or for none.
fn response_headers(entry: &v1::FileEntry, part: Option<(u64, u64)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    put(&mut headers, header::ETAG, &quoted(&entry.etag));
    if let Some((from, to)) = part {
        let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        put(&mut headers, header::ACCEPT_RANGES, "bytes");
        put(&mut headers, header::CONTENT_LENGTH, &(to - from).to_string());
        put(&mut headers, header::CONTENT_TYPE, "application/octet-stream");
        put(&mut headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        put(&mut headers, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
        put(&mut headers, header::CONTENT_DISPOSITION, &disposition(name));
    }
    headers
}

/// For download under its name, in the encoded form of RFC 6266: nothing in the name can end the header.
fn disposition(name: &[u8]) -> String {
    let encoded = percent_encoded(
        &name.iter().map(|byte| if *byte == b'/' { b'_' } else { *byte }).collect::<Vec<_>>(),
    );
    format!("attachment; filename*=UTF-8''{encoded}")
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // All values are created here, of letters, digits and other characters that a header may hold.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn unsatisfiable(entry: &v1::FileEntry) -> Response {
    let mut headers = response_headers(entry, None);
    put(&mut headers, header::CONTENT_RANGE, &format!("bytes */{}", entry.size));
    let error = ApiError::new(
        ErrorCode::RangeNotSatisfiable,
        format!("the range is outside the {} bytes of the file", entry.size),
        "the header `Content-Range` has the length",
    );
    (headers, error).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_write_a_header() {
        assert_eq!(disposition(b"a b.txt"), "attachment; filename*=UTF-8''a%20b.txt");
        let hostile = disposition(b"x\r\nSet-Cookie: a\"; filename=evil\xff");
        assert!(!hostile.contains(['\r', '\n', '"']) && HeaderValue::from_str(&hostile).is_ok(), "{hostile}");
    }
}
