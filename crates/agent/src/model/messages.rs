//! Anthropic messages.

mod decode;
mod request;

pub(super) use self::decode::MessagesDecoder;
pub(super) use self::request::body;
