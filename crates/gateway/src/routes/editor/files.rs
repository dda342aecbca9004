//! The editor's three routes: `POST /v1/sessions/files/{write,read,list}`, with the session in the body by its id or name.
//!
//! They say `directory` where the native API says `folder`, and carry a file's content in JSON.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use headwater_contract::v1;
use headwater_contract::v1::write_file_head::Place;
use headwater_protocol::api::{ErrorBody, FileType, PathEncoding, Timestamp, path_text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery};
use crate::http::json_stream::answer;
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::routes::editor::read::ReadAnswer;
use crate::routes::files::list::Listing;
use crate::routes::files::path::given;
use crate::routes::files::{kind, put};
use crate::state::Gateway;

/// A file that is larger does not go into JSON.
const MAX_READ_BYTES: u64 = 16 << 20;
/// A folder with more than these is listed in part.
const MAX_LISTED: usize = 10_000;
/// Where programs see the workspace.
const INSIDE: &str = "/workspace";

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(write)).routes(routes!(read)).routes(routes!(list))
}

/// A file and what is to be in it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WriteRequest {
    /// The id or the name of a session.
    session_id: String,
    /// In the workspace: `/src/main.py` and `/workspace/src/main.py` are the same.
    path: String,
    /// The text.
    #[serde(default)]
    content: Option<String>,
    /// The bytes, where they are no text.
    #[serde(default)]
    base64: Option<String>,
    /// How `path` is written, if not as text.
    #[serde(default)]
    encoding: Option<PathEncoding>,
}

/// What was written.
#[derive(Debug, Serialize, ToSchema)]
struct WriteBody {
    /// As it was asked for.
    path: String,
    /// `success`.
    status: &'static str,
    /// Its bytes.
    size: u64,
    /// When it was written.
    modified: Timestamp,
    /// Names this state of it.
    etag: String,
}

/// Writes a file, in place of the one that is there; the folders above it are made.
#[utoipa::path(post, path = "/v1/sessions/files/write", tag = "editor", request_body = WriteRequest,
    responses(
        (status = 200, body = WriteBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "something else lies there"),
        (status = 412, body = ErrorBody),
        (status = 507, body = ErrorBody, description = "it does not fit into what the session may hold"),
))]
async fn write(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<WriteRequest>,
) -> Result<JsonBody<WriteBody>, ApiError> {
    let id = gateway.session_named(&who, Need::Write, &request.session_id).await?;
    let bytes = match (request.content, request.base64) {
        (Some(text), None) => Bytes::from(text),
        (None, Some(base64)) => {
            STANDARD.decode(base64).map(Bytes::from).map_err(|_| ApiError::invalid("`base64` is not that"))?
        }
        _ => return Err(ApiError::invalid("one of `content` and `base64` is needed")),
    };
    let head = v1::WriteFileHead {
        session_id: id.to_string(),
        path: given(&request.path, request.encoding)?,
        place: Some(Place::Whole(true)),
        size: Some(bytes.len() as u64),
        ..v1::WriteFileHead::default()
    };
    let (_, file) = put::write(&gateway, &who, id, head, Body::from(bytes)).await?;
    Ok(JsonBody(WriteBody {
        path: request.path,
        status: "success",
        size: file.size,
        modified: file.modified_at,
        etag: file.etag,
    }))
}

/// A file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReadRequest {
    /// The id or the name of a session.
    session_id: String,
    /// In the workspace: `/src/main.py` and `/workspace/src/main.py` are the same.
    path: String,
    /// How `path` is written, if not as text.
    #[serde(default)]
    encoding: Option<PathEncoding>,
}

/// A file's content; `ReadAnswer` writes it.
#[derive(ToSchema)]
#[allow(dead_code)] // describes the answer
struct ReadBody {
    /// As it was asked for.
    path: String,
    /// The text. Of what is none, as much as can be shown.
    content: String,
    /// The exact bytes, where they are no text.
    base64: Option<String>,
    /// Its bytes.
    size: u64,
    /// When it changed last.
    modified: Timestamp,
    /// Names this state of it.
    etag: String,
}

/// Reads a file. If it changes while it is sent, the answer breaks off. One of more than 16 MiB is refused: `GET /v1/sessions/{id}/files/content` has no such bound.
#[utoipa::path(post, path = "/v1/sessions/files/read", tag = "editor", request_body = ReadRequest,
    responses(
        (status = 200, body = ReadBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it is no ordinary file"),
        (status = 412, body = ErrorBody, description = "it became shorter while it was read"),
        (status = 413, body = ErrorBody, description = "it is too large for JSON"),
))]
async fn read(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<ReadRequest>,
) -> Result<Response, ApiError> {
    let id = gateway.session_named(&who, Need::Read, &request.session_id).await?;
    let path = given(&request.path, request.encoding)?;
    let order = v1::ReadFileRequest { session_id: id.to_string(), path, ..v1::ReadFileRequest::default() };
    let reader = gateway.worker.read_file(order.clone()).await?;
    if reader.entry().size > MAX_READ_BYTES {
        return Err(too_large(reader.entry().size));
    }
    answer(&gateway, ReadAnswer::new(&gateway, order, request.path, reader)).await
}

fn too_large(size: u64) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "file_too_large",
        format!("the file is {size} bytes long: {MAX_READ_BYTES} are the most here"),
        "`GET /v1/sessions/{id}/files/content?path=` sends files of any size",
    )
}

/// A folder.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ListRequest {
    /// The id or the name of a session.
    session_id: String,
    /// In the workspace: the workspace itself if absent.
    #[serde(default, alias = "path")]
    directory: Option<String>,
    /// How `directory` is written, if not as text.
    #[serde(default)]
    encoding: Option<PathEncoding>,
}

/// What is in a folder; written by `Listing`.
#[derive(ToSchema)]
#[allow(dead_code)] // describes the answer
struct ListBody {
    /// As it was asked for.
    directory: String,
    /// In the order of their names.
    files: Vec<ListedFile>,
    /// There are more than are told.
    truncated: bool,
}

/// A thing in a folder.
#[derive(Debug, Serialize, ToSchema)]
struct ListedFile {
    /// Its name.
    name: String,
    /// The path to ask for.
    path: String,
    /// How both are written, if not as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<PathEncoding>,
    /// `file`, `directory`, `link` or `other`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Its bytes.
    size: u64,
    /// When it changed last.
    modified: Timestamp,
}

/// Lists a folder, the first 10,000 names of it.
#[utoipa::path(post, path = "/v1/sessions/files/list", tag = "editor", request_body = ListRequest,
    responses(
        (status = 200, body = ListBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it is no folder"),
))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<ListRequest>,
) -> Result<Response, ApiError> {
    let id = gateway.session_named(&who, Need::Read, &request.session_id).await?;
    let directory = request.directory.unwrap_or_else(|| "/".to_owned());
    let asked = given(&directory, request.encoding)?;
    let begin = format!("{{\"directory\":{},\"files\":[", serde_json::Value::from(directory));
    let request = v1::ListFilesRequest {
        session_id: id.to_string(),
        path: asked.clone(),
        ..v1::ListFilesRequest::default()
    };
    let show = move |entry: v1::FileEntry| serde_json::to_vec(&listed(&asked, &entry));
    let end = |next: Option<Bytes>| format!("],\"truncated\":{}}}", next.is_some());
    answer(&gateway, Listing::new(&gateway, request, MAX_LISTED, begin, show, end)).await
}

fn listed(folder: &[u8], entry: &v1::FileEntry) -> ListedFile {
    let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let (path, encoding) = path_text(&path_in(folder, name));
    let (text, _) = path_text(name);
    ListedFile {
        name: if encoding.is_some() { headwater_protocol::api::percent_encoded(name) } else { text },
        path,
        encoding,
        kind: match kind(entry) {
            FileType::File => "file",
            FileType::Folder => "directory",
            FileType::Link => "link",
            FileType::Other => "other",
        },
        size: entry.size,
        modified: Timestamp(entry.modified_at_ms),
    }
}

/// The path of something in a folder, written as the folder was.
fn path_in(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    let path = if folder == b"." || (folder.is_empty() && name.is_empty()) {
        name.to_vec()
    } else {
        [folder, b"/", name].concat()
    };
    // A folder of that name in the workspace, told as `/workspace`, would mean the workspace itself.
    if path == INSIDE.as_bytes() { [INSIDE.as_bytes(), b"/", name].concat() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_path_is_written_as_its_folder_was() {
        for (folder, path) in [
            ("/", "/x"),
            ("", "/x"),
            (".", "x"),
            ("/src", "/src/x"),
            ("/src/", "/src/x"),
            ("src", "src/x"),
            ("/workspace", "/workspace/x"),
        ] {
            assert_eq!(path_in(folder.as_bytes(), b"x"), path.as_bytes(), "{folder}");
        }
        assert_eq!(path_in(b"/", b"workspace"), b"/workspace/workspace");
    }
}
