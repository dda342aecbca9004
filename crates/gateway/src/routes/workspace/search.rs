//! Looking through a workspace: `GET /v1/sessions/{id}/files/search`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use headwater_contract::v1::search_response::Told;
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

/// JSON lines.
const LINES: &str = "application/x-ndjson";
/// Matches unless told otherwise.
const LIMIT: u64 = 1000;
/// How long a search takes at most unless told otherwise.
const TIMEOUT_MS: u64 = 30_000;
/// One answer that is no stream has about so much.
const MAX_BYTES: usize = 16 << 20;

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// A glob for names, `*.py` for one; with a slash in it, for paths from `path` on: `src/**/test_*`.
    name: Option<String>,
    /// A regular expression for lines.
    content: Option<String>,
    /// The folder to look in; the workspace if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// How `path` is written, if it was told with an `encoding`.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// `A` and `a` are the same.
    ignore_case: Option<bool>,
    /// The most matches: 1000 if absent.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u64>,
    /// Also look at names that begin with a dot.
    hidden: Option<bool>,
    /// Leave out what `.gitignore` files say: true if absent.
    gitignore: Option<bool>,
    /// The longest that it takes: 30000 if absent.
    #[param(minimum = 1, maximum = 60_000)]
    timeout_ms: Option<u64>,
}

impl SearchQuery {
    fn request(self, session: SessionId, path: Option<Bytes>) -> Result<v1::SearchRequest, ApiError> {
        let within = |name: &str, value: Option<u64>, most: u64| match value {
            Some(value) if !(1..=most).contains(&value) => {
                Err(ApiError::invalid(format!("`{name}` is from 1 to {most}")))
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
            limit: self.limit.unwrap_or(LIMIT),
            timeout_ms: self.timeout_ms.unwrap_or(TIMEOUT_MS),
        })
    }
}

/// Looks through the workspace by name, by content, or by both.
///
/// With `content` the lines of files that match are told, with line and column from 1 (in bytes) and up to 400 bytes of the line;
/// binary files are passed over. Without it the files and folders whose names match are. Links are not followed. With
/// `Accept: application/x-ndjson` each match is a line of JSON as soon as it is found, and the last line is `{"summary": ...}`; a
/// client that goes away ends the search.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/search", tag = "trees",
    params(("id" = String, Path, description = "the session"), SearchQuery),
    responses(
        (status = 200, body = SearchBody), Common, NotFound,
        (status = 409, body = ErrorBody, description = "no folder, or it has ended"),
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
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == LINES)
}

/// A search that is written into one JSON answer while it goes on.
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
        match message.told {
            Some(Told::Summary(summary)) => self.end(parts, &bodies::summary(summary)),
            Some(Told::Match(found)) => {
                self.bytes += found.path.len() + found.text.len() + 100;
                if self.bytes > MAX_BYTES {
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

/// A line for each message, as fast as the client takes them.
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
            Ok(Some(message)) => match message.told {
                Some(Told::Match(found)) => serde_json::to_string(&bodies::found(&found)),
                Some(Told::Summary(summary)) => Ok(json!({"summary": bodies::summary(summary)}).to_string()),
                None => Ok("{}".to_owned()),
            },
            Err(error) => {
                let told = json!(ApiError::from(error).body()).to_string();
                return Some((Ok::<_, serde_json::Error>(told + "\n"), None));
            }
        };
        Some((json.map(|json| json + "\n"), Some((None, messages, open))))
    });
    ([(header::CONTENT_TYPE, LINES)], Body::from_stream(lines)).into_response()
}
