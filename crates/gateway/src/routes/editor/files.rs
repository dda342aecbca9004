//! The editor's file routes: `POST /v1/sessions/files/{write,read,list}`, with the session's id or name in
//! the body.
//!
//! They use `directory` where the native API has `folder`, and carry a file's content in JSON.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use headwater_contract::v1;
use headwater_contract::v1::write_file_head::Place;
use headwater_protocol::api::{ErrorBody, ErrorCode, FileType, PathEncoding, Timestamp, path_text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery};
use crate::http::json_stream::answer;
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::routes::editor::file_response::FileResponse;
use crate::routes::files::list::Listing;
use crate::routes::files::path::given;
use crate::routes::files::{file_type, put};
use crate::state::Gateway;
use crate::workspace_path::WORKSPACE;

/// Larger files are not sent as JSON.
const MAX_READ_BYTES: u64 = 16 << 20;
/// Larger folders are listed in part.
const MAX_LISTED: usize = 10_000;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(write)).routes(routes!(read)).routes(routes!(list))
}

/// A file to write.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"session_id": "demo", "path": "/src/main.py", "content": "print('Hello')\n"})))]
#[serde(deny_unknown_fields)]
struct WriteRequest {
    /// The session's id or name.
    session_id: String,
    /// The path in the workspace: `/src/main.py` and `/workspace/src/main.py` are the same file.
    path: String,
    /// The content, if it is text.
    #[serde(default)]
    content: Option<String>,
    /// The content as base64, if it is not text.
    #[serde(default)]
    base64: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default)]
    encoding: Option<PathEncoding>,
}

/// The written file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WrittenFile)]
struct WriteBody {
    /// The path as requested.
    path: String,
    /// Always `success`.
    status: &'static str,
    /// The file's size in bytes.
    size: u64,
    /// When it was written.
    modified: Timestamp,
    /// Identifies this version of the file.
    etag: String,
}

/// Writes or replaces a file; missing parent folders are created.
#[utoipa::path(post, path = "/v1/sessions/files/write",
    operation_id = "writeTextFile", tag = "editor", request_body = WriteRequest,
    responses(
        (status = 200, body = WriteBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the path is not an ordinary file"),
        (status = 412, body = ErrorBody, description = "the file has changed meanwhile"),
        (status = 507, body = ErrorBody, description = "the host's disk is full"),
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
        (None, Some(base64)) => STANDARD
            .decode(base64)
            .map(Bytes::from)
            .map_err(|_| ApiError::invalid("`base64` is not valid base64"))?,
        _ => return Err(ApiError::invalid("exactly one of `content` and `base64` is required")),
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

/// A file to read.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"session_id": "demo", "path": "/src/main.py"})))]
#[serde(deny_unknown_fields)]
struct ReadRequest {
    /// The session's id or name.
    session_id: String,
    /// The path in the workspace: `/src/main.py` and `/workspace/src/main.py` are the same file.
    path: String,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default)]
    encoding: Option<PathEncoding>,
}

/// A file's content; written by `FileResponse`.
#[derive(ToSchema)]
#[schema(as = TextFile)]
#[allow(dead_code)] // only documents the response
struct ReadBody {
    /// The path as requested.
    path: String,
    /// The content as text. Invalid UTF-8 is replaced by U+FFFD.
    content: String,
    /// The exact bytes, if they are not valid UTF-8.
    base64: Option<String>,
    /// The file's size in bytes.
    size: u64,
    /// When it was last modified.
    modified: Timestamp,
    /// Identifies this version of the file.
    etag: String,
}

/// Reads a file.
///
/// If the file changes while it is sent, the response breaks off. Files of more than 16 MiB are refused; `GET
/// /v1/sessions/{id}/files/content` has no such limit.
#[utoipa::path(post, path = "/v1/sessions/files/read",
    operation_id = "readTextFile", tag = "editor", request_body = ReadRequest,
    responses(
        (status = 200, body = ReadBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it is not an ordinary file"),
        (status = 412, body = ErrorBody, description = "it was truncated while it was read"),
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
    let file = v1::ReadFileRequest { session_id: id.to_string(), path, ..v1::ReadFileRequest::default() };
    let reader = gateway.worker.read_file(file.clone()).await?;
    if reader.entry().size > MAX_READ_BYTES {
        return Err(too_large(reader.entry().size));
    }
    answer(&gateway, FileResponse::new(&gateway, file, request.path, reader)).await
}

fn too_large(size: u64) -> ApiError {
    ApiError::new(
        ErrorCode::FileTooLarge,
        format!("the file has {size} bytes; at most {MAX_READ_BYTES} can be sent as JSON"),
        "`GET /v1/sessions/{id}/files/content?path=` sends files of any size",
    )
}

/// A folder to list.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"session_id": "demo", "directory": "/src"})))]
#[serde(deny_unknown_fields)]
struct ListRequest {
    /// The session's id or name.
    session_id: String,
    /// The path in the workspace: the workspace itself if absent.
    #[serde(default, alias = "path")]
    directory: Option<String>,
    /// The encoding of `directory`, if it is not plain text.
    #[serde(default)]
    encoding: Option<PathEncoding>,
}

/// The entries of a folder; written by `Listing`.
#[derive(ToSchema)]
#[schema(as = DirectoryListing)]
#[allow(dead_code)] // only documents the response
struct ListBody {
    /// The path as requested.
    directory: String,
    /// The entries, in order of their names.
    files: Vec<ListedFile>,
    /// Whether there are more entries.
    truncated: bool,
}

/// An entry of a folder.
#[derive(Debug, Serialize, ToSchema)]
struct ListedFile {
    /// The entry's name.
    name: String,
    /// The path for requests about this entry.
    path: String,
    /// The encoding of `name` and `path`, if they are not plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<PathEncoding>,
    /// `file`, `directory`, `link` or `other`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The size in bytes.
    size: u64,
    /// When it was last modified.
    modified: Timestamp,
}

/// Lists a folder, at most 10,000 entries.
#[utoipa::path(post, path = "/v1/sessions/files/list",
    operation_id = "listDirectory", tag = "editor", request_body = ListRequest,
    responses(
        (status = 200, body = ListBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it is not a folder"),
))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<ListRequest>,
) -> Result<Response, ApiError> {
    let id = gateway.session_named(&who, Need::Read, &request.session_id).await?;
    let directory = request.directory.unwrap_or_else(|| "/".to_owned());
    let folder = given(&directory, request.encoding)?;
    let begin = format!("{{\"directory\":{},\"files\":[", serde_json::Value::from(directory));
    let request = v1::ListFilesRequest {
        session_id: id.to_string(),
        path: folder.clone(),
        ..v1::ListFilesRequest::default()
    };
    let show = move |entry: v1::FileEntry| serde_json::to_vec(&listed(&folder, &entry));
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
        kind: match file_type(entry.kind()) {
            FileType::File => "file",
            FileType::Folder => "directory",
            FileType::Link => "link",
            FileType::Other => "other",
        },
        size: entry.size,
        modified: Timestamp(entry.modified_at_ms),
    }
}

/// The path of an entry of a folder, in the folder's spelling.
fn path_in(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    let path = if folder == b"." || (folder.is_empty() && name.is_empty()) {
        name.to_vec()
    } else {
        [folder, b"/", name].concat()
    };
    // The path `/workspace` would mean the workspace itself, not the folder of that name in it.
    if path == WORKSPACE.as_bytes() { [WORKSPACE.as_bytes(), b"/", name].concat() } else { path }
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
