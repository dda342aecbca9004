//! Folders as archives: `/v1/sessions/{id}/files/archive`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::{Body, BodyDataStream};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt, unfold};
use headwater_contract::{ContractError, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, PathEncoding, UnpackedBody};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound, WritesFiles};
use crate::metrics::Metrics;
use crate::routes::files::path::{QueryPath, encoding};
use crate::routes::workspace::bodies;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// The number of FIFOs, sockets and devices that an archive does not contain.
const LEFT_OUT_HEADER: HeaderName = HeaderName::from_static("x-headwater-left-out");

/// How many bytes tell a ZIP or gzip archive.
const MAGIC_BYTES: usize = 4;
/// Larger chunks of a body are split.
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// A format of archives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
enum Format {
    /// tar, not compressed.
    #[default]
    #[serde(rename = "tar")]
    Tar,
    /// tar, compressed with gzip.
    #[serde(rename = "tar.gz", alias = "tgz")]
    TarGz,
    /// ZIP, deflated.
    #[serde(rename = "zip")]
    Zip,
}

impl Format {
    /// The format in the contract, its content type and its file extension.
    const fn properties(self) -> (v1::ArchiveFormat, &'static str, &'static str) {
        match self {
            Self::Tar => (v1::ArchiveFormat::Tar, "application/x-tar", "tar"),
            Self::TarGz => (v1::ArchiveFormat::TarGz, "application/gzip", "tar.gz"),
            Self::Zip => (v1::ArchiveFormat::Zip, "application/zip", "zip"),
        }
    }
}

impl Format {
    /// The format that the first bytes of an archive show. A tar archive shows itself only later.
    fn of_content(begin: &[u8]) -> Option<Self> {
        match begin {
            [b'P', b'K', 3 | 5 | 7, 4 | 6 | 8, ..] => Some(Self::Zip),
            [0x1f, 0x8b, ..] => Some(Self::TarGz),
            _ => None,
        }
    }

    /// The format that a `Content-Type` names.
    fn of_type(headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        match kind.split(';').next()?.trim().to_ascii_lowercase().as_str() {
            "application/zip" | "application/x-zip-compressed" => Some(Self::Zip),
            "application/gzip" | "application/x-gzip" | "application/x-gtar-compressed" => Some(Self::TarGz),
            "application/x-tar" | "application/tar" => Some(Self::Tar),
            _ => None,
        }
    }
}

/// Selects a folder and a format.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ArchiveQuery {
    /// The path of a folder; the workspace if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// The format. If absent: `tar` for a download; for an upload, what the content shows, else what
    /// `Content-Type` names, else `tar`.
    #[param(inline)]
    format: Option<Format>,
}

/// Downloads a folder with its content as an archive, which is created while it is sent.
///
/// Names, permissions, empty folders and links are preserved (a ZIP has no times). FIFOs, sockets and devices
/// are left out; `X-Headwater-Left-Out` has their number. Each file is as it was when it was read. A body
/// that breaks off is not a complete archive. Every archive that this route returns can be unpacked by `PUT`.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/archive", operation_id = "downloadArchive", tag = "trees",
    params(("id" = String, Path, description = "the session"), ArchiveQuery),
    responses(
        (status = 200, description = "the archive",
            headers(("X-Headwater-Left-Out" = u64, description = "FIFOs, sockets and devices that are not in it")), content((String = "application/x-tar"), (String = "application/gzip"),
            (String = "application/zip"))),
        Common, NotFound,
        (status = 409, body = ErrorBody, description = "not a folder, too much for one archive, or the session has ended"),
))]
pub(crate) async fn download(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    QueryPath(path): QueryPath,
    Query(query): Query<ArchiveQuery>,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, session).await?;
    let (format, kind, ending) = query.format.unwrap_or_default().properties();
    let path = path.unwrap_or_default();
    let mut messages = gateway.worker.pack(session, path, format).await?;
    // A request that cannot be packed is refused by the first message, which has no data yet.
    let left_out = messages.next().await?.map_or(0, |first| first.left_out);
    let open = OpenStream::new(&gateway, "archive");
    let rest = unfold(Some((messages, open)), async |state| {
        let (mut messages, open) = state?;
        match messages.next().await {
            Ok(None) => None,
            Ok(Some(message)) => {
                open.sent(message.data.len());
                Some((Ok::<_, ContractError>(message.data), Some((messages, open))))
            }
            // The body ends without its final chunk, so the client notices.
            Err(error) => {
                tracing::warn!(%error, "the download of an archive broke off");
                Some((Err(error), None))
            }
        }
    });
    let headers = [
        (LEFT_OUT_HEADER, left_out.to_string()),
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{session}.{ending}\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(rest)).into_response())
}

/// Unpacks an archive into a folder, which is created if it does not exist: all of it, or nothing.
///
/// The whole archive is refused if it contains paths with `..` or absolute paths, paths through a link, hard
/// links, devices, FIFOs or duplicate paths, if it is damaged or encrypted, or if it exceeds the session's
/// disk limit. A symbolic link may point anywhere: the server follows none. Zeros become holes. Set-user-ID
/// bits are removed. Existing files with the same path are replaced, but a folder never replaces a file, nor
/// a file a folder (409, before anything is changed).
#[utoipa::path(put, path = "/v1/sessions/{id}/files/archive", operation_id = "unpackArchive", tag = "trees",
    params(("id" = String, Path, description = "the session"), ArchiveQuery),
    request_body(content = String, content_type = "application/octet-stream", description = "the archive"),
    responses(
        (status = 200, body = UnpackedBody), Common, NotFound,
        (status = 400, body = ErrorBody, description = "refused"),
        (status = 409, body = ErrorBody, description = "an existing file is in the way, or the session has ended"),
        WritesFiles,
))]
pub(crate) async fn upload(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    QueryPath(path): QueryPath,
    Query(query): Query<ArchiveQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<JsonBody<UnpackedBody>, ApiError> {
    unpack(&gateway, &who, session, path, (query.format, &headers), body).await
}

/// Works as `PUT`.
#[utoipa::path(post, path = "/v1/sessions/{id}/files/archive", operation_id = "importArchive", tag = "trees",
    params(("id" = String, Path, description = "the session"), ArchiveQuery),
    request_body(content = String, content_type = "application/octet-stream", description = "the archive"),
    responses(
        (status = 200, body = UnpackedBody), Common, NotFound,
        (status = 400, body = ErrorBody, description = "refused"),
        (status = 409, body = ErrorBody, description = "an existing file is in the way, or the session has ended"),
        WritesFiles,
))]
pub(crate) async fn import(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    QueryPath(path): QueryPath,
    Query(query): Query<ArchiveQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<JsonBody<UnpackedBody>, ApiError> {
    unpack(&gateway, &who, session, path, (query.format, &headers), body).await
}

async fn unpack(
    gateway: &Arc<Gateway>,
    who: &Identity,
    session: SessionId,
    path: Option<Bytes>,
    (format, headers): (Option<Format>, &HeaderMap),
    body: Body,
) -> Result<JsonBody<UnpackedBody>, ApiError> {
    gateway.auth.may_use_session(who, Need::Write, session).await?;
    let mut body = body.into_data_stream();
    let begin = beginning(&mut body).await?;
    let format = format.or_else(|| Format::of_content(&begin)).or_else(|| Format::of_type(headers));
    let to = v1::UnpackTo {
        session_id: session.to_string(),
        path: path.unwrap_or_default(),
        format: format.unwrap_or_default().properties().0.into(),
    };
    let unpacked =
        gateway.worker.once().unpack(messages(to, begin, body, Arc::clone(&gateway.metrics))).await?;
    gateway.audit.record(
        who,
        "files.unpack",
        session.to_string(),
        format!("files={} bytes={}", unpacked.files, unpacked.bytes),
    );
    Ok(JsonBody(bodies::unpacked(&unpacked)))
}

/// The first bytes of a body: enough to recognise an archive, if it has as many.
async fn beginning(body: &mut BodyDataStream) -> Result<Bytes, ApiError> {
    let mut begin = BytesMut::new();
    while begin.len() < MAGIC_BYTES {
        match body.next().await {
            Some(Ok(data)) => begin.extend_from_slice(&data),
            Some(Err(_)) => return Err(ApiError::invalid("the upload was incomplete").hint("send it again")),
            None => break,
        }
    }
    Ok(begin.freeze())
}

/// The archive in messages. Only a complete body has the last message.
fn messages(
    to: v1::UnpackTo,
    begin: Bytes,
    body: BodyDataStream,
    metrics: Arc<Metrics>,
) -> impl stream::Stream<Item = v1::UnpackRequest> + Send + 'static {
    let first = v1::UnpackRequest { to: Some(to), ..v1::UnpackRequest::default() };
    let rest = unfold(Some((body, begin, metrics)), async |state| {
        let (mut body, mut held, metrics) = state?;
        while held.is_empty() {
            match body.next().await {
                Some(Ok(data)) => held = data,
                Some(Err(_)) => return None,
                None => return Some((v1::UnpackRequest { end: true, ..v1::UnpackRequest::default() }, None)),
            }
        }
        let data = held.split_to(held.len().min(MAX_CHUNK_BYTES));
        metrics.received_file(data.len());
        Some((v1::UnpackRequest { data, ..v1::UnpackRequest::default() }, Some((body, held, metrics))))
    });
    stream::once(async { first }).chain(rest)
}
