//! Listing files: `GET /v1/sessions/{id}/files` and `.../files/stat`.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use headwater_contract::v1;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, FileBody, PageBody, PathEncoding};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::file_body;
use super::path::{QueryPath, encoding};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::json_stream::{Parts, Source, answer};
use crate::http::openapi::{Common, NotFound};
use crate::state::Gateway;

/// The number of entries requested from the worker at a time. They stay in memory until the client has read
/// them.
const ENTRIES_PER_CALL: u32 = 256;
/// The maximum number of entries on a page.
const MAX_LISTED: u32 = 1000;
/// The maximum depth that the worker supports.
const MAX_DEPTH: u32 = 128;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(stat))
}

/// Selects entries of a folder.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The path of the folder: the workspace itself if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// The number of levels: 1 lists the folder, 2 also its direct subfolders. 1 if absent.
    #[param(minimum = 1, maximum = 128)]
    depth: Option<u32>,
    /// The maximum number of entries on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the entries of a folder in byte order of their names, a folder before its entries.
///
/// If the folder changes between pages, entries that exist throughout are listed exactly once.
#[utoipa::path(get, path = "/v1/sessions/{id}/files", operation_id = "listFiles", tag = "files",
    params(("id" = String, Path, description = "the session"), ListQuery),
    responses(
        (status = 200, body = PageBody<FileBody>), Common, NotFound,
        (status = 409, body = ErrorBody, description = "it is not a folder"),
))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    path: QueryPath,
    Query(query): Query<ListQuery>,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let (depth, limit) = (query.depth.unwrap_or(1), query.limit.unwrap_or(100));
    for (name, value, most) in [("depth", depth, MAX_DEPTH), ("limit", limit, MAX_LISTED)] {
        if !(1..=most).contains(&value) {
            return Err(ApiError::invalid(format!("`{name}` is `{value}`: it must be from 1 to {most}")));
        }
    }
    let request = v1::ListFilesRequest {
        session_id: id.to_string(),
        path: path.0.unwrap_or_default(),
        depth,
        limit: 0,
        after: query.cursor.as_deref().map(after).transpose()?,
    };
    let show = |entry| serde_json::to_vec(&file_body(entry));
    let end = |next: Option<Bytes>| {
        let next = next.map(|next| URL_SAFE_NO_PAD.encode(next));
        format!("],\"next_cursor\":{}}}", serde_json::Value::from(next))
    };
    let begin = "{\"items\":[".to_owned();
    answer(&gateway, Listing::new(&gateway, request, limit as usize, begin, show, end)).await
}

/// A folder that is listed into a response, in parts: the next part is read once the client has read the one
/// before.
pub(crate) struct Listing<Show, End> {
    gateway: Arc<Gateway>,
    request: v1::ListFilesRequest,
    /// The number of entries that may still be listed.
    left: usize,
    /// The beginning of the response, until it was written.
    begin: String,
    /// The separator before the next entry.
    between: &'static str,
    entries: VecDeque<v1::FileEntry>,
    /// Whether these entries are the last ones.
    is_last: bool,
    show: Show,
    end: End,
}

impl<Show, End> Listing<Show, End> {
    /// A listing of at most `most` entries, between `begin` and the text that `end` returns for the position
    /// of the next page.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        request: v1::ListFilesRequest,
        most: usize,
        begin: String,
        show: Show,
        end: End,
    ) -> Self {
        let gateway = Arc::clone(gateway);
        let (entries, between) = (VecDeque::new(), "");
        Self { gateway, request, left: most, begin, between, entries, is_last: false, show, end }
    }
}

impl<Show, End> Source for Listing<Show, End>
where
    Show: Fn(v1::FileEntry) -> serde_json::Result<Vec<u8>> + Send + 'static,
    End: Fn(Option<Bytes>) -> String + Send + 'static,
{
    async fn more(&mut self, parts: &mut Parts) -> Result<bool, ApiError> {
        if let Some(entry) = self.entries.pop_front() {
            parts.json(std::mem::replace(&mut self.between, ","));
            parts.json((self.show)(entry).map_err(|error| ApiError::internal(&error))?);
            return Ok(true);
        }
        if self.is_last {
            parts.json((self.end)(self.request.after.take()));
            return Ok(false);
        }
        self.request.limit = u32::try_from(self.left).unwrap_or(u32::MAX).min(ENTRIES_PER_CALL);
        let listed = self.gateway.worker.list_files(self.request.clone()).await?;
        parts.json(std::mem::take(&mut self.begin));
        self.left = self.left.saturating_sub(listed.entries.len());
        self.is_last = listed.next.is_none() || self.left == 0;
        (self.entries, self.request.after) = (listed.entries.into(), listed.next);
        Ok(true)
    }
}

/// The path that a cursor stands for.
fn after(cursor: &str) -> Result<Bytes, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok().filter(|bytes| !bytes.is_empty());
    bytes.map(Bytes::from).ok_or_else(|| {
        ApiError::invalid("`cursor` is not valid").hint("use `next_cursor` of the previous page")
    })
}

/// Selects a file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatQuery {
    /// The path: the workspace itself if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
}

/// Returns the file, folder or link at a path. A link is returned as such: nothing is followed or opened.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/stat", operation_id = "getFile", tag = "files",
    params(("id" = String, Path, description = "the session"), StatQuery),
    responses(
        (status = 200, body = FileBody), Common, NotFound,
        (status = 409, body = ErrorBody, description = "the path goes through a link"),
))]
async fn stat(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    path: QueryPath,
    _: Query<StatQuery>,
) -> Result<JsonBody<FileBody>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let entry = gateway.worker.stat_file(id, path.0.unwrap_or_default()).await?;
    Ok(JsonBody(file_body(entry)))
}
