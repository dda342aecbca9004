//! Files of a workspace, one at a time (`/v1/sessions/{id}/files...`).
//!
//! Paths travel to the worker as bytes. Only the worker interprets them and opens files.

mod change;
mod content;
pub(crate) mod list;
pub(crate) mod path;
pub(crate) mod put;

use std::sync::Arc;

use headwater_contract::v1;
use headwater_protocol::api::{FileBody, FileType, Timestamp, path_text};
use utoipa_axum::router::OpenApiRouter;

use crate::error::ApiError;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .merge(content::routes())
        .merge(list::routes())
        .merge(change::routes())
        .merge(crate::routes::editor::files::routes())
}

/// A file, link or folder of a workspace, as the API returns it.
fn file_body(entry: v1::FileEntry) -> FileBody {
    let (path, encoding) = path_text(&entry.path);
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    FileBody {
        name,
        path,
        encoding,
        kind: file_type(entry.kind()),
        size: entry.size,
        mode: format!("{:03o}", entry.mode),
        modified_at: Timestamp(entry.modified_at_ms),
        etag: quoted(&entry.etag),
        target: entry.target.map(|target| String::from_utf8_lossy(&target).into_owned()),
    }
}

/// The type of a file in the API. A kind that this gateway does not know is `other`.
pub(crate) const fn file_type(kind: v1::FileKind) -> FileType {
    match kind {
        v1::FileKind::File => FileType::File,
        v1::FileKind::Folder => FileType::Folder,
        v1::FileKind::Link => FileType::Link,
        v1::FileKind::Other | v1::FileKind::Unspecified => FileType::Other,
    }
}

/// An entity tag with the quotes that HTTP requires.
pub(crate) fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}

/// The error for a response of the worker that lacks the changed file.
fn lacks_file() -> ApiError {
    ApiError::internal(&"the worker's response lacks the changed file")
}
