//! Feeds: the executions of one conversation or one session in one stream, as they start, print and end.
//!
//! 1. [`Hub`] wakes the feeds of a conversation or session when an execution starts in it; the feeds read the
//!    new row from the store.
//! 2. [`Feed`] follows up to [`MAX_OPEN`] logs at once, each only as fast as its client reads.
//! 3. A [`Dialect`] turns events into frames: a pure step from a position in a log to the next one.
//! 4. A [`Cursor`] has all positions of a feed, so a feed can continue after it: each frame carries one as
//!    its SSE `id`.

mod cursor;
mod dialect;
mod ending;
mod feed_body;
mod followed;
mod hub;
mod max_buffer;
mod merge;
mod position;
mod result;
mod result_body;
mod subject;
mod text;
mod tool_calls;
mod tool_progress;

pub(crate) use self::dialect::Dialect;
pub(crate) use self::ending::Ending;
pub(crate) use self::feed_body::{feed_response, result_response};
pub(crate) use self::followed::Followed;
pub(crate) use self::hub::{Hub, Subscription, Topic};
pub(crate) use self::merge::{Feed, From};
pub(crate) use self::position::Position;
pub(crate) use self::result::{ToolResult, ToolResultBody};
#[cfg(test)]
pub(crate) use self::subject::tests::subject;
pub(crate) use self::subject::{
    INTERACTIVE_KEY, MAX_BUFFER_KEY, RUN_COMMAND, Subject, TOOL_ARGS_KEY, TOOL_KEY,
};
pub(crate) use self::tool_calls::ToolEvent;
pub(crate) use self::tool_progress::{ProgressType, ProgressUpdate, ToolProgress, updates};
