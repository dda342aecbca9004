//! JSON responses that are written in pieces: the next piece is built when the client has received the
//! previous one.
//!
//! Escaping can make a text six times as long, so long texts are escaped in pieces, too.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::Serialize;

use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// A response that is complete before it reaches this many bytes is sent as a whole.
const SHORT: usize = 64 << 10;
/// The number of bytes of a text that are escaped at once, and the approximate size up to which items are
/// combined.
const PIECE: usize = 16 << 10;

/// A part of a JSON document.
enum Part {
    /// JSON that is sent as it is.
    Json(Vec<u8>),
    /// The content of a string that is not escaped yet, and the position where the rest of it begins.
    Text(String, usize),
}

/// The parts of a document that are built and not sent yet.
#[derive(Default)]
pub(crate) struct Parts(VecDeque<Part>);

impl Parts {
    /// Adds JSON as it is.
    pub(crate) fn json(&mut self, json: impl AsRef<[u8]>) {
        if let Some(Part::Json(last)) = self.0.back_mut() {
            last.extend_from_slice(json.as_ref());
        } else {
            self.0.push_back(Part::Json(json.as_ref().to_vec()));
        }
    }

    /// Adds a value as JSON.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> Result<(), ApiError> {
        let json = serde_json::to_vec(value).map_err(|error| ApiError::internal(&error))?;
        self.json(json);
        Ok(())
    }

    /// Adds the fields of an object, without its braces.
    pub(crate) fn fields(&mut self, value: &impl Serialize) -> Result<(), ApiError> {
        let json = serde_json::to_vec(value).map_err(|error| ApiError::internal(&error))?;
        self.json(json.strip_prefix(b"{").and_then(|json| json.strip_suffix(b"}")).unwrap_or(&json));
        Ok(())
    }

    /// Adds the content of a string.
    pub(crate) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.0.push_back(Part::Text(text, 0));
        }
    }

    /// The approximate length: texts count with their length before escaping.
    fn len(&self) -> usize {
        let lengths = self.0.iter().map(|part| match part {
            Part::Json(json) => json.len(),
            Part::Text(text, from) => text.len() - from,
        });
        lengths.sum()
    }

    /// Removes and returns the next piece.
    fn next(&mut self) -> Option<Bytes> {
        match self.0.pop_front()? {
            Part::Json(json) => Some(json.into()),
            Part::Text(text, from) => {
                let to = text.floor_char_boundary(from + PIECE);
                let piece = escaped(text.get(from..to).unwrap_or_default());
                if to < text.len() {
                    self.0.push_front(Part::Text(text, to));
                }
                Some(piece)
            }
        }
    }
}

/// Escapes a text as the content of a JSON string.
fn escaped(text: &str) -> Bytes {
    let json = Bytes::from(serde_json::Value::from(text).to_string());
    json.slice(1..json.len() - 1)
}

/// Builds a document in parts.
pub(crate) trait Source: Send + 'static {
    /// Adds the next parts. Returns false if the document is complete.
    fn more(&mut self, parts: &mut Parts) -> impl Future<Output = Result<bool, ApiError>> + Send;
}

struct Writing<S> {
    source: S,
    parts: Parts,
    is_over: bool,
    open: OpenStream,
}

/// Responds with the document of a source. An error before anything is sent becomes an error response; a
/// later error aborts the response.
pub(crate) async fn answer<S: Source>(gateway: &Arc<Gateway>, mut source: S) -> Result<Response, ApiError> {
    let (mut parts, mut is_over) = (Parts::default(), false);
    while !is_over && parts.len() < SHORT {
        is_over = !source.more(&mut parts).await?;
    }
    let json = [(header::CONTENT_TYPE, "application/json")];
    if is_over && parts.len() < SHORT {
        let pieces = std::iter::from_fn(|| parts.next());
        let whole: Vec<u8> = pieces.flatten().collect();
        return Ok((json, whole).into_response());
    }
    let writing = Writing { source, parts, is_over, open: OpenStream::new(gateway, "json") };
    let pieces = unfold(Some(writing), async |writing| {
        let mut writing = writing?;
        match piece(&mut writing).await {
            Ok(bytes) => {
                let bytes = bytes?;
                writing.open.sent(bytes.len());
                Some((Ok(bytes), Some(writing)))
            }
            Err(error) => {
                tracing::warn!(error = %error.message, "response aborted");
                Some((Err(std::io::Error::other(error.message.into_owned())), None))
            }
        }
    });
    Ok((json, Body::from_stream(pieces)).into_response())
}

async fn piece<S: Source>(writing: &mut Writing<S>) -> Result<Option<Bytes>, ApiError> {
    while !writing.is_over && writing.parts.len() < PIECE {
        writing.is_over = !writing.source.more(&mut writing.parts).await?;
    }
    Ok(writing.parts.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_escaped_in_pieces_is_the_same_text() {
        let text: String = (0..20_000).map(|n| ["\u{1}", "ä", "\"", "\\", "x", "\u{1F600}"][n % 6]).collect();
        let mut parts = Parts::default();
        parts.json("[\"");
        parts.text(text.clone());
        parts.json("\"]");
        let pieces: Vec<Bytes> = std::iter::from_fn(|| parts.next()).collect();
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.len() <= 6 * PIECE), "{}", pieces.len());
        let whole: Vec<String> = serde_json::from_slice(&pieces.concat()).unwrap();
        assert_eq!(whole, [text]);
    }

    #[test]
    fn the_fields_of_an_object_are_added_without_its_braces() {
        let mut parts = Parts::default();
        parts.json("{\"a\":1,");
        parts.fields(&serde_json::json!({"b": 2})).unwrap();
        parts.json("}");
        assert_eq!(parts.next().unwrap(), "{\"a\":1,\"b\":2}");
    }
}
