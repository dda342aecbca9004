//! The frames of `WebSocketChatTransport`.

use headwater_protocol::conversation::ConversationId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::request::ChatRequest;
use crate::error::ApiError;
use crate::http::extract;
use crate::streams::ui_messages::{Chunk, ProgressMode};

/// The longest id of a request.
const MAX_ID_BYTES: usize = 128;

/// A frame of the client, as it is on the wire.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Wire {
    Send {
        request_id: String,
        /// What the app adds.
        #[serde(default)]
        body: Map<String, Value>,
        #[serde(flatten)]
        rest: Map<String, Value>,
    },
    Resume {
        request_id: String,
        id: ConversationId,
        #[serde(default)]
        last_sequence: Option<u64>,
        #[serde(default)]
        body: ResumeBody,
    },
    Abort {
        request_id: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResumeBody {
    progress: ProgressMode,
}

/// A frame of the client.
#[derive(Debug)]
pub(super) enum ClientFrame {
    /// A response is wanted. Its chunks are numbered from `sequence` on.
    Begin { request_id: String, work: Work, sequence: u64 },
    /// No more of a response is wanted.
    Abort { request_id: String },
}

/// What a client wants.
#[derive(Debug)]
pub(super) enum Work {
    Send(Box<ChatRequest>),
    Resume(ConversationId, ProgressMode),
}

/// Parses a frame.
pub(super) fn parse(text: &[u8]) -> Result<ClientFrame, ApiError> {
    let frame = match extract::parse(text)? {
        Wire::Abort { request_id } => ClientFrame::Abort { request_id },
        Wire::Resume { request_id, id, last_sequence, body } => {
            let work = Work::Resume(id, body.progress);
            // A response is always replayed as a whole, and its chunks are not the same as the first time. The client begins
            // again at `start`; its numbers go on.
            let sequence = last_sequence.map_or(0, |last| last.saturating_add(1));
            ClientFrame::Begin { request_id, work, sequence }
        }
        Wire::Send { request_id, mut body, rest } => {
            body.extend(rest.into_iter().filter(|(name, _)| FIELDS.contains(&name.as_str())));
            let request = serde_path_to_error::deserialize(Value::Object(body));
            let request = request.map_err(|error| ApiError::invalid(error.to_string()))?;
            ClientFrame::Begin { request_id, work: Work::Send(Box::new(request)), sequence: 0 }
        }
    };
    let (ClientFrame::Begin { request_id, .. } | ClientFrame::Abort { request_id }) = &frame;
    if request_id.len() > MAX_ID_BYTES {
        return Err(ApiError::invalid(format!("`requestId` may have at most {MAX_ID_BYTES} bytes")));
    }
    Ok(frame)
}

/// The fields of a frame that belong to the request.
const FIELDS: [&str; 4] = ["id", "trigger", "messageId", "messages"];

/// The id of a request that cannot be parsed, so that its client learns why.
pub(super) fn request_id(text: &[u8]) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Id {
        request_id: String,
    }
    let Id { request_id } = serde_json::from_slice(text).unwrap_or_default();
    if request_id.len() > MAX_ID_BYTES { String::new() } else { request_id }
}

/// A frame of the server.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum ServerFrame<'a> {
    /// A response begins.
    Start { request_id: &'a str },
    /// Its next chunk.
    Chunk { request_id: &'a str, sequence: u64, chunk: &'a Chunk },
    /// It is complete.
    End { request_id: &'a str },
    /// The request was refused.
    Error { request_id: &'a str, error_text: String },
    /// There is no response to resume.
    NoActive { request_id: &'a str },
}

impl ServerFrame<'_> {
    pub(super) const fn request_id(&self) -> &str {
        match self {
            Self::Start { request_id }
            | Self::Chunk { request_id, .. }
            | Self::End { request_id }
            | Self::Error { request_id, .. }
            | Self::NoActive { request_id } => request_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(frame: &Value) -> Result<ClientFrame, ApiError> {
        parse(frame.to_string().as_bytes())
    }

    #[test]
    fn a_frame_of_the_transport_is_the_request_of_the_route() {
        let frame = json!({
            "type": "send", "requestId": "r", "id": "c", "trigger": "submit-message", "headers": {"a": "b"},
            "messages": [{"id": "m", "role": "user", "parts": []}], "metadata": null,
            "body": {"model": "big", "progress": "none", "id": "other", "mine": 1},
        });
        let Ok(ClientFrame::Begin { work: Work::Send(request), sequence: 0, .. }) = parsed(&frame) else {
            panic!()
        };
        assert_eq!((request.id.as_str(), request.model.as_deref()), ("c", Some("big")));
        assert_eq!((request.progress, request.messages.len()), (ProgressMode::None, 1));
    }

    #[test]
    fn a_resumed_response_is_numbered_after_the_last_chunk_of_the_client() {
        for (last, first) in [(json!(null), 0), (json!(6), 7)] {
            let frame = json!({"type": "resume", "requestId": "r", "id": "c", "lastSequence": last, "headers": {}, "body": {}});
            let Ok(ClientFrame::Begin { sequence, .. }) = parsed(&frame) else { panic!() };
            assert_eq!(sequence, first);
        }
    }

    #[test]
    fn a_bad_frame_is_refused_to_its_request() {
        for frame in [
            json!({"type": "odd", "requestId": "r"}),
            json!({"type": "send", "requestId": "r", "id": "../", "messages": []}),
            json!({"type": "send", "requestId": "r", "id": "c", "messages": {}}),
            json!({"type": "resume", "requestId": "r", "id": "c", "lastSequence": -1}),
        ] {
            assert_eq!(parsed(&frame).unwrap_err().status, 400, "{frame}");
            assert_eq!(request_id(frame.to_string().as_bytes()), "r");
        }
        let long = json!({"type": "abort", "requestId": "r".repeat(129)});
        assert_eq!(parsed(&long).unwrap_err().status, 400);
        assert_eq!(request_id(b"\xff"), "");
    }
}
