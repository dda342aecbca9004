//! Encodes the events of an execution for its WebSocket: as binary frames, or each as JSON text.

use axum::extract::ws::Message;
use headwater_protocol::Event;
use headwater_protocol::api::write_event;

use super::Frames;
use crate::streams::socket::frames::{binary_event, binary_json, error_json, text};
use crate::streams::socket::notice::Notice;
use crate::streams::socket::outgoing::Encoder;

impl Encoder for Frames {
    fn is_text(&self) -> bool {
        *self == Self::Events
    }

    fn event(&self, event: &Event) -> Option<Message> {
        Some(match self {
            Self::Binary => Message::Binary(binary_event(event)),
            Self::Events => {
                let mut json = Vec::new();
                write_event(event, &mut json);
                text(json)
            }
        })
    }

    /// Only errors: the other notices are about screens, which an execution without a terminal does not have.
    fn notice(&self, notice: &Notice) -> Option<Message> {
        let Notice::Error(error) = notice else {
            return None;
        };
        let json = error_json(error);
        Some(match self {
            Self::Binary => Message::Binary(binary_json(&json)),
            Self::Events => text(json),
        })
    }
}
