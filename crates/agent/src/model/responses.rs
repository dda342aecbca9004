//! `OpenAI` Responses. Nothing is stored at the provider: reasoning travels in encrypted form.

mod decode;
mod request;

pub(super) use self::decode::ResponsesDecoder;
pub(super) use self::request::body;
