//! Searching a workspace: `GET /v1/sessions/{id}/files/search`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use headwater_contract::v1::search_response::Item;
use headwater_contract::{Messages, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, PathEncoding, SearchBody, SearchSummaryBody};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::json_stream::{Parts, Source, answer};
use crate::http::openapi::{Common, NotFound};
use crate::routes::files::path::{QueryPath, encoding};
use crate::routes::workspace::bodies;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// The content type of JSON lines.
const JSON_LINES_TYPE: &str = "application/x-ndjson";
/// The default number of matches.
const DEFAULT_LIMIT: u64 = 1000;
/// The default timeout of a search.
const DEFAULT_TIMEOUT_MS: u64 = 30_000;
/// The approximate size limit of a response that is not a stream.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// What to search for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// A glob for names, such as `*.py`, or, if it contains a slash, for paths below `path`: `src/**/test_*`.
    name: Option<String>,
    /// A regular expression for lines.
    content: Option<String>,
    /// The folder to search; the workspace if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// Match upper and lower case letters alike.
    ignore_case: Option<bool>,
    /// The maximum number of matches: 1000 if absent.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u64>,
    /// Include names that begin with a dot.
    hidden: Option<bool>,
    /// Skip files that `.gitignore` excludes: true if absent.
    gitignore: Option<bool>,
    /// The timeout in milliseconds: 30000 if absent.
    #[param(minimum = 1, maximum = 60_000)]
    timeout_ms: Option<u64>,
}

impl SearchQuery {
    fn request(self, session: SessionId, path: Option<Bytes>) -> Result<v1::SearchRequest, ApiError> {
        let within = |name: &str, value: Option<u64>, most: u64| match value {
            Some(value) if !(1..=most).contains(&value) => {
                Err(ApiError::invalid(format!("`{name}` must be from 1 to {most}")))
            }
            _ => Ok(()),
        };
        within("limit", self.limit, 10_000)?;
        within("timeout_ms", self.timeout_ms, 60_000)?;
        Ok(v1::SearchRequest {
            session_id: session.to_string(),
            path: path.unwrap_or_default(),
            name: self.name,
            content: self.content,
            ignore_case: self.ignore_case == Some(true),
            hidden: self.hidden == Some(true),
            gitignore: self.gitignore != Some(false),
            limit: self.limit.unwrap_or(DEFAULT_LIMIT),
            timeout_ms: self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
            ..v1::SearchRequest::default()
        })
    }
}

/// Searches the workspace by name, by content, or by both.
///
/// With `content`, the matching lines of files are returned, with line and column from 1 (in bytes) and up to
/// 400 bytes of the line; binary files are skipped. Otherwise the files and folders with matching names are
/// returned. Links are not followed. With `Accept: application/x-ndjson` each match is sent as a line of JSON
/// as soon as it is found, and the last line is `{"summary": ...}`; the search ends if the client
/// disconnects.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/search", operation_id = "searchFiles", tag = "trees",
    params(("id" = String, Path, description = "the session"), SearchQuery),
    responses(
        (status = 200, body = SearchBody), Common, NotFound,
        (status = 409, body = ErrorBody, description = "not a folder, or the session has ended"),
))]
pub(crate) async fn search(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    QueryPath(path): QueryPath,
    Query(query): Query<SearchQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, session).await?;
    let request = query.request(session, path)?;
    let mut messages = gateway.worker.search_tree(request).await?;
    let first = messages.next().await?;
    if wants_lines(&headers) {
        return Ok(lines(&gateway, first, messages));
    }
    answer(&gateway, Found::new(first, messages)).await
}

fn wants_lines(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == JSON_LINES_TYPE)
}

/// A search that is written into one JSON response while it runs.
struct Found {
    next: Option<v1::SearchResponse>,
    messages: Messages<v1::SearchResponse>,
    matches: u64,
    bytes: usize,
}

impl Found {
    fn new(first: Option<v1::SearchResponse>, messages: Messages<v1::SearchResponse>) -> Self {
        Self { next: first, messages, matches: 0, bytes: 0 }
    }

    fn end(&self, parts: &mut Parts, summary: &SearchSummaryBody) -> Result<bool, ApiError> {
        parts.json(if self.matches == 0 { "{\"items\":[],\"summary\":" } else { "],\"summary\":" });
        parts.value(summary)?;
        parts.json("}");
        Ok(false)
    }
}

impl Source for Found {
    async fn more(&mut self, parts: &mut Parts) -> Result<bool, ApiError> {
        let message = match self.next.take() {
            Some(message) => Some(message),
            None => self.messages.next().await?,
        };
        let message = message.ok_or_else(|| ApiError::internal(&"a search ended without a summary"))?;
        match message.item {
            Some(Item::Summary(summary)) => self.end(parts, &bodies::summary(summary)),
            Some(Item::Match(found)) => {
                self.bytes += found.path.len() + found.text.len() + 100;
                if self.bytes > MAX_RESPONSE_BYTES {
                    let (matches, stopped) = (self.matches, Some("limit".to_owned()));
                    return self.end(parts, &SearchSummaryBody { matches, files: 0, skipped: 0, stopped });
                }
                parts.json(if self.matches == 0 { "{\"items\":[" } else { "," });
                parts.value(&bodies::found(&found))?;
                self.matches += 1;
                Ok(true)
            }
            None => Ok(true),
        }
    }
}

/// A line for each message, as fast as the client reads them.
fn lines(
    gateway: &Arc<Gateway>,
    first: Option<v1::SearchResponse>,
    messages: Messages<v1::SearchResponse>,
) -> Response {
    let open = OpenStream::new(gateway, "search");
    let lines = unfold(Some((first, messages, open)), async |state| {
        let (first, mut messages, open) = state?;
        let message = match first {
            Some(message) => Ok(Some(message)),
            None => messages.next().await,
        };
        let json = match message {
            Ok(None) => return None,
            Ok(Some(message)) => match message.item {
                Some(Item::Match(found)) => serde_json::to_string(&bodies::found(&found)),
                Some(Item::Summary(summary)) => Ok(json!({"summary": bodies::summary(summary)}).to_string()),
                None => Ok("{}".to_owned()),
            },
            Err(error) => {
                let line = json!(ApiError::from(error).body()).to_string();
                return Some((Ok::<_, serde_json::Error>(line + "\n"), None));
            }
        };
        Some((json.map(|json| json + "\n"), Some((None, messages, open))))
    });
    ([(header::CONTENT_TYPE, JSON_LINES_TYPE)], Body::from_stream(lines)).into_response()
}
