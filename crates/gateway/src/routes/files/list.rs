//! Looking at files: `GET /v1/sessions/{id}/files` and `.../files/stat`.

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

/// Entries that are asked of the worker at a time: they are held until the client has taken them.
const PART: u32 = 256;
/// The most on a page.
const MAX_LISTED: u32 = 1000;
/// As deep as the worker goes.
const MAX_DEPTH: u32 = 128;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(stat))
}

/// Which folder, and how much of it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The folder: the workspace itself if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// How `path` is written, if it was told with an `encoding`.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// 1 is what is in the folder, 2 what is in its folders, too. 1 if absent.
    #[param(minimum = 1, maximum = 128)]
    depth: Option<u32>,
    /// The most on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists what is in a folder, in the order of the names' bytes, a folder before what is in it.
///
/// The pages of a folder that changes meanwhile miss nothing that was there all the time, and repeat nothing.
#[utoipa::path(get, path = "/v1/sessions/{id}/files", tag = "files",
    params(("id" = String, Path, description = "the session"), ListQuery),
    responses(
        (status = 200, body = PageBody<FileBody>), Common, NotFound,
        (status = 409, body = ErrorBody, description = "it is no folder"),
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

/// A folder that is listed into an answer: a part of it at a time, the next when the client has taken the one before.
pub(crate) struct Listing<Show, End> {
    gateway: Arc<Gateway>,
    request: v1::ListFilesRequest,
    /// So many more may be listed.
    left: usize,
    /// What the answer begins with, until it was written.
    begin: String,
    /// What comes before the next entry.
    between: &'static str,
    entries: VecDeque<v1::FileEntry>,
    /// Nothing comes after these entries.
    is_last: bool,
    show: Show,
    end: End,
}

impl<Show, End> Listing<Show, End> {
    /// At most `most` entries, between `begin` and what `end` makes of the place where the next page goes on.
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
        self.request.limit = u32::try_from(self.left).unwrap_or(u32::MAX).min(PART);
        let told = self.gateway.worker.list_files(self.request.clone()).await?;
        parts.json(std::mem::take(&mut self.begin));
        self.left = self.left.saturating_sub(told.entries.len());
        self.is_last = told.next.is_none() || self.left == 0;
        (self.entries, self.request.after) = (told.entries.into(), told.next);
        Ok(true)
    }
}

/// The path that a cursor stands for.
fn after(cursor: &str) -> Result<Bytes, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok().filter(|bytes| !bytes.is_empty());
    bytes
        .map(Bytes::from)
        .ok_or_else(|| ApiError::invalid("`cursor` is not one").hint("use `next_cursor` of the page before"))
}

/// Which file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatQuery {
    /// What to look at: the workspace itself if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// How `path` is written, if it was told with an `encoding`.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
}

/// Tells what lies at a path. A link is told as the link: nothing is followed or opened.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/stat", tag = "files",
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
