//! Raw output: `GET /v1/executions/{id}/output`.

mod output_body;
mod range;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_contract::{ContractError, FollowOptions, KeptOutput, OutputSelector};
use headwater_protocol::api::{ErrorBody, ErrorCode};
use headwater_protocol::{ExecutionId, Seq, Stream};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::output_body::{Gap, OutputBody};
pub(crate) use self::range::{Part, is_known, part};
use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::http::response_memory::Pulled;
use crate::serve::Live;
use crate::state::Gateway;

/// How much of an output is examined to decide whether it is text.
const SNIFF_BYTES: u64 = 1024;
/// Names the bytes that are no longer kept.
const GAP_HEADER: HeaderName = HeaderName::from_static("x-headwater-gap");

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(output))
}

/// Selects bytes of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Which {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A terminal's output, or both streams of a program that was started with them merged.
    Output,
    /// All bytes, in the order in which they were written.
    #[default]
    Merged,
}

impl Which {
    const fn stream(self) -> Option<Stream> {
        match self {
            Self::Stdout => Some(Stream::Stdout),
            Self::Stderr => Some(Stream::Stderr),
            Self::Output => Some(Stream::Output),
            Self::Merged => None,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OutputQuery {
    /// Selects bytes of the output: `merged` (all, in the order in which they were written) if absent.
    #[param(inline)]
    stream: Option<Which>,
    /// Continue with new output until no writer is left. Has neither ranges nor a length.
    follow: Option<bool>,
    /// With `follow`: receive every byte, as in `GET /v1/executions/{id}/events`. Requires write access to
    /// the session.
    lossless: Option<bool>,
}

/// Returns the raw output of an execution: exactly the bytes that it wrote, as far as they are kept.
///
/// Supports ranges, including ranges of `merged`. Bytes that are no longer kept because of the output limit
/// are left out: the body has the bytes before the gap, directly followed by the bytes after it. The header
/// `X-Headwater-Gap: <first byte>-<first byte after>` has the gap in bytes of the output; ranges and lengths
/// refer to the body. A range with bytes from both sides of the gap is refused (416, `range_crosses_gap`). If
/// bytes of a running program are dropped while they are sent, the response breaks off; with `follow` and
/// `lossless` none are dropped.
#[utoipa::path(get, path = "/v1/executions/{id}/output", operation_id = "getExecutionOutput", tag = "streams",
    params(
        ("id" = String, Path, description = "the execution"), OutputQuery,
        ("Range" = Option<String>, Header, description = "one range of bytes"),
        ("If-Range" = Option<String>, Header, description = "apply `Range` only if this `ETag` is current"),
        ("If-None-Match" = Option<String>, Header, description = "an `ETag` that the client has"),
    ),
    responses(
        (status = 200, description = "all bytes", content((Vec<u8> = "application/octet-stream"), (String = "text/plain"))),
        (status = 206, description = "the range", content((Vec<u8> = "application/octet-stream"), (String = "text/plain"))),
        (status = 304, description = "not modified"), Common, NotFound,
        (status = 410, body = ErrorBody, description = "the log was removed"),
        (status = 416, description = "the range has no bytes, or crosses the gap", body = ErrorBody),
))]
async fn output(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Query(query): Query<OutputQuery>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let lossless = query.lossless == Some(true) && query.follow == Some(true);
    gateway.auth.may_follow(&who, id, lossless).await?;
    let which = query.stream.unwrap_or_default();
    let output = OutputSelector { id, stream: which.stream() };
    let kept = gateway.worker.kept(output).await;
    let kept = match kept {
        Ok(kept) => kept,
        Err(error) => return Err(gateway.recorder.unreadable(id, error).await),
    };
    let mut response = Headers(HeaderMap::new());
    response.put(header::CONTENT_DISPOSITION, "inline");
    if let Some((from, to)) = kept.gap {
        response.put(GAP_HEADER, &format!("{from}-{to}"));
    }
    if query.follow == Some(true) {
        return live(&gateway, output, &kept, response, lossless).await;
    }
    let etag = etag(which, &kept);
    response.put(header::ETAG, &etag);
    response.put(header::ACCEPT_RANGES, "bytes");
    if is_known(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, response.0).into_response());
    }
    let (status, from, to) = match part(&method, &headers, &etag, kept.len()) {
        Part::Whole => (StatusCode::OK, 0, kept.len()),
        Part::Range(from, to) if crosses_gap(&kept, from, to) => return Ok(across_gap(response, &kept)),
        Part::Range(from, to) => {
            response.put(header::CONTENT_RANGE, &format!("bytes {from}-{}/{}", to - 1, kept.len()));
            (StatusCode::PARTIAL_CONTENT, from, to)
        }
        Part::Nothing => return Ok(unsatisfiable(response, kept.len())),
    };
    response.put(header::CONTENT_TYPE, content_type(&gateway, output, &kept).await?);
    response.put(header::CONTENT_LENGTH, &(to - from).to_string());
    let body = OutputBody::kept(&gateway, output, kept.ranges(from, to));
    Ok((status, response.0, Extension(Pulled), Body::new(body)).into_response())
}

async fn live(
    gateway: &Arc<Gateway>,
    output: OutputSelector,
    kept: &KeptOutput,
    mut response: Headers,
    lossless: bool,
) -> Result<Response, ApiError> {
    response.put(header::CACHE_CONTROL, "no-store");
    response.put(HeaderName::from_static("x-accel-buffering"), "no");
    response.put(header::ACCEPT_RANGES, "none");
    response.put(header::CONTENT_TYPE, content_type(gateway, output, kept).await?);
    let options = FollowOptions {
        after: Seq(0),
        until_closed: true,
        streams: output.stream.into_iter().collect(),
        lossless,
        ..FollowOptions::default()
    };
    let follower = gateway.worker.follow(output.id, options).await?;
    let stated = if kept.gap.is_some() { gaps(gateway, output).await? } else { Vec::new() };
    let body = OutputBody::live(gateway, follower, stated);
    Ok((response.0, Extension(Live), Body::new(body)).into_response())
}

/// The gap of each selected stream.
async fn gaps(gateway: &Gateway, output: OutputSelector) -> Result<Vec<Gap>, ContractError> {
    let mut gaps = Vec::new();
    for stream in Stream::ALL {
        if output.stream.is_some_and(|only| only != stream) {
            continue;
        }
        let kept = gateway.worker.kept(OutputSelector { stream: Some(stream), ..output }).await?;
        gaps.extend(kept.gap.map(|(from_byte, to_byte)| Gap { stream, from_byte, to_byte }));
    }
    Ok(gaps)
}

/// A strong entity tag: the same tag means the same bytes.
fn etag(which: Which, kept: &KeptOutput) -> String {
    let name = which.stream().map_or("merged", Stream::name);
    let (from, to) = kept.gap.unwrap_or_default();
    format!("\"{name}-{:x}-{from:x}-{to:x}\"", kept.end)
}

fn unsatisfiable(mut response: Headers, length: u64) -> Response {
    response.put(header::CONTENT_RANGE, &format!("bytes */{length}"));
    let error = ApiError::new(
        ErrorCode::RangeNotSatisfiable,
        format!("the range is outside the {length} bytes of the output"),
        "the header `Content-Range` has the length",
    );
    (response.0, error).into_response()
}

/// Whether a range has kept bytes from before and from after the gap.
fn crosses_gap(kept: &KeptOutput, from: u64, to: u64) -> bool {
    kept.gap.is_some_and(|(gap, _)| from < gap && gap < to)
}

/// Refuses such a range: its bytes are not contiguous.
fn across_gap(mut response: Headers, kept: &KeptOutput) -> Response {
    let (length, (from, to)) = (kept.len(), kept.gap.unwrap_or_default());
    response.put(header::CONTENT_RANGE, &format!("bytes */{length}"));
    let error = ApiError::new(
        ErrorCode::RangeCrossesGap,
        format!("the range crosses the gap: the bytes `{from}` to `{to}` of the output are no longer kept"),
        format!("request `bytes=0-{}` and for `bytes={from}-{}`, or for everything", from - 1, length - 1),
    );
    (response.0, error).into_response()
}

/// Text, if the beginning is text.
async fn content_type(
    gateway: &Gateway,
    output: OutputSelector,
    kept: &KeptOutput,
) -> Result<&'static str, ContractError> {
    let mut begin = Vec::new();
    for (from, to) in kept.ranges(0, kept.len().min(SNIFF_BYTES)) {
        let mut reader = gateway.worker.read(output, from, to);
        while let Some(bytes) = reader.next().await? {
            begin.extend_from_slice(&bytes);
        }
    }
    let is_cut = kept.len() > SNIFF_BYTES;
    Ok(if is_text(&begin, is_cut) { "text/plain; charset=utf-8" } else { "application/octet-stream" })
}

/// Whether bytes are UTF-8 without a NUL. A cut at the end may split the last character.
fn is_text(bytes: &[u8], is_cut: bool) -> bool {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => is_cut && error.error_len().is_none(),
    };
    whole && !bytes.contains(&0)
}

/// The headers of a response.
struct Headers(HeaderMap);

impl Headers {
    fn put(&mut self, name: HeaderName, value: &str) {
        // All values are created here, of letters and digits.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_begins_as_text() {
        assert!(is_text(b"", false) && is_text("a€\n".as_bytes(), false));
        assert!(is_text(&[b'a', 0xE2, 0x82], true) && !is_text(&[b'a', 0xE2, 0x82], false));
        assert!(!is_text(b"a\0b", true) && !is_text(&[0xFF, 0xFE], true));
    }

    #[test]
    fn a_tag_changes_with_the_bytes_and_only_with_them() {
        let kept = KeptOutput { end: 10, gap: None, closed: false, last_seq: Seq(3) };
        let tag = etag(Which::Stdout, &kept);
        assert_eq!(tag, etag(Which::Stdout, &KeptOutput { closed: true, last_seq: Seq(5), ..kept }));
        assert_ne!(tag, etag(Which::Stderr, &kept));
        assert_ne!(tag, etag(Which::Stdout, &KeptOutput { end: 11, ..kept }));
        assert_ne!(tag, etag(Which::Stdout, &KeptOutput { gap: Some((1, 2)), ..kept }));
    }
}
