//! The AI SDK UI message stream: a view of a conversation's log for any front end of the AI SDK.
//!
//! 1. [`Encoder`] turns a conversation and the events that follow into chunks, without input and output.
//! 2. `UiStream` reads the log and the executions of running calls, and sends what the encoder says.

mod calls;
mod chunk;
mod encoder;
mod progress;
mod replay;
mod result;
#[cfg(test)]
mod tests;
mod texts;
mod user;

pub(crate) use self::chunk::Chunk;
pub(crate) use self::encoder::{Encoder, Output, Scope, Waiting};
