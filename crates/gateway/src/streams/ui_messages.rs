//! The AI SDK UI message stream: a view of a conversation's log for any front end of the AI SDK.
//!
//! 1. [`Encoder`] turns a conversation and the events that follow into chunks, without input and output.
//! 2. [`UiStream`] reads the log and the executions of running calls, and returns what the encoder says.
//! 3. [`ui_response`] sends it as server-sent events; the WebSocket of the chat sends it as frames.

mod body;
mod calls;
mod chunk;
mod command;
mod encoder;
mod outputs;
mod progress;
mod replay;
mod result;
mod stream;
#[cfg(test)]
mod tests;
mod texts;
mod user;

pub(crate) use self::body::ui_response;
pub(crate) use self::chunk::{Chunk, UserPart};
pub(crate) use self::progress::ProgressMode;
pub(crate) use self::stream::{Item, UiStream};
pub(crate) use self::user::{files_url, user_parts};
