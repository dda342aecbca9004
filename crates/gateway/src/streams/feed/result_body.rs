//! The JSON of a tool result, with the output, which is read from the log while it is sent.
//!
//! The output is not collected: a result of many megabytes that the client does not read holds one piece in
//! memory.

use std::sync::Arc;

use headwater_contract::{FollowOptions, Follower};
use headwater_protocol::{EventKind, ExecutionId, Stream, Utf8Carry};

use super::max_buffer::{Shown, hides, note};
use super::result::ToolResult;
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::state::Gateway;

/// The maximum number of bytes of each output in a result. `output_url` returns the whole output.
const MAX_BYTES: u64 = 16 << 20;

/// A result that is sent in pieces.
pub(crate) struct ResultBody {
    gateway: Arc<Gateway>,
    result: ToolResult,
    stage: Stage,
    is_truncated: bool,
}

enum Stage {
    Head,
    Output(Output),
    Tail,
    Over,
}

/// The state of reading stdout or stderr.
struct Output {
    is_error: bool,
    follower: Option<Box<Follower>>,
    carry: Utf8Carry,
    bytes: u64,
    /// The `maxBuffer` that was exceeded: the note about it is next.
    exceeded: Option<u64>,
    /// Whether nothing more of this output is shown.
    is_over: bool,
    /// Whether the output so far is empty or ends with a line break.
    is_line_start: bool,
}

impl Output {
    const fn new(is_error: bool) -> Self {
        Self {
            is_error,
            follower: None,
            carry: Utf8Carry::EMPTY,
            bytes: 0,
            exceeded: None,
            is_over: false,
            is_line_start: true,
        }
    }

    fn streams(&self) -> Vec<Stream> {
        if self.is_error { vec![Stream::Stderr] } else { vec![Stream::Stdout, Stream::Output] }
    }
}

impl ResultBody {
    /// Begins to send this result.
    pub(crate) const fn new(gateway: Arc<Gateway>, result: ToolResult) -> Self {
        Self { gateway, result, stage: Stage::Head, is_truncated: false }
    }

    /// The next piece of JSON, without a line break; none at the end. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ApiError> {
        match &mut self.stage {
            Stage::Head => {
                self.stage = Stage::Output(Output::new(false));
                Ok(Some(self.result.head()))
            }
            Stage::Output(output) => {
                let printed = self.result.ending.printed[usize::from(output.is_error)];
                let piece = match self.result.execution {
                    Some(id) => read(&self.gateway, id, output, (printed, self.result.max_buffer)).await?,
                    None => None,
                };
                Ok(Some(match piece {
                    Some(bytes) => self.printed(&bytes),
                    None => self.output_ends(),
                }))
            }
            Stage::Tail => {
                self.stage = Stage::Over;
                Ok(Some(self.result.tail(self.is_truncated)))
            }
            Stage::Over => Ok(None),
        }
    }

    /// Converts bytes or a gap to the content of a JSON string.
    fn printed(&mut self, piece: &Piece) -> String {
        let Stage::Output(output) = &mut self.stage else {
            return String::new();
        };
        let text = match piece {
            Piece::Bytes(bytes) => {
                output.bytes += bytes.len() as u64;
                let (text, carry) = output.carry.decode(bytes);
                output.carry = carry;
                text
            }
            Piece::Missing { bytes, why } => {
                self.is_truncated = true;
                let lost = std::mem::take(&mut output.carry).lost();
                format!("{lost}\n[SYSTEM: {bytes} bytes {why}.]\n")
            }
            Piece::Exceeded(limit) => {
                self.is_truncated = true;
                // The rest of a character that the limit divides.
                output.carry = Utf8Carry::EMPTY;
                note(*limit)
            }
        };
        if let Some(last) = text.as_bytes().last() {
            output.is_line_start = *last == b'\n';
        }
        escaped(&text)
    }

    /// Ends the current output and begins the next one.
    fn output_ends(&mut self) -> String {
        let Stage::Output(output) = &mut self.stage else {
            return String::new();
        };
        let mut text = output.carry.lost().to_owned();
        if !output.is_error {
            self.stage = Stage::Output(Output::new(true));
            return escaped(&text) + "\",\"stderr\":\"";
        }
        if let Some(line) = self.result.ending.last_line() {
            if !(text.is_empty() && output.is_line_start) {
                text.push('\n');
            }
            text += &line;
        }
        self.stage = Stage::Tail;
        escaped(&text)
    }
}

/// Escapes a text as the content of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::json!(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

enum Piece {
    Bytes(bytes::Bytes),
    Missing {
        bytes: u64,
        why: &'static str,
    },
    /// The rest exceeds the call's `maxBuffer`.
    Exceeded(u64),
}

/// The next piece of an output; none at its end.
async fn read(
    gateway: &Gateway,
    id: ExecutionId,
    output: &mut Output,
    (printed, max_buffer): (u64, Option<u64>),
) -> Result<Option<Piece>, ApiError> {
    if let Some(limit) = output.exceeded.take() {
        output.is_over = true;
        return Ok(Some(Piece::Exceeded(limit)));
    }
    if output.is_over {
        return Ok(None);
    }
    if output.follower.is_none() {
        let options = FollowOptions { streams: output.streams(), no_wait: true, ..FollowOptions::default() };
        match gateway.worker.follow(id, options).await {
            Ok(follower) => output.follower = Some(Box::new(follower)),
            // The log was removed: only the verdict is left.
            Err(error) if is_missing(&error) => {
                output.is_over = true;
                return Ok((printed > 0).then_some(Piece::Missing { bytes: printed, why: NOT_KEPT }));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let Some(follower) = &mut output.follower else {
        return Ok(None);
    };
    while let Some(event) = follower.next().await? {
        match event.kind {
            EventKind::Output { offset, bytes, .. } => {
                let shown = Shown::of(max_buffer, offset, bytes.len());
                let left = usize::try_from(MAX_BYTES.saturating_sub(output.bytes)).unwrap_or(usize::MAX);
                if shown.bytes > left {
                    // The note replaces the event that exceeds the limit, so it is the last output.
                    output.is_over = true;
                    return Ok(Some(Piece::Missing { bytes: MAX_BYTES, why: TOO_LONG }));
                }
                output.exceeded = shown.exceeded;
                return Ok(Some(Piece::Bytes(bytes.slice(..shown.bytes))));
            }
            EventKind::Gap { from_byte, to_byte, .. } if !hides(max_buffer, from_byte) => {
                let bytes = to_byte.saturating_sub(from_byte);
                return Ok(Some(Piece::Missing { bytes, why: NOT_KEPT }));
            }
            EventKind::Exited(_) => return Ok(None),
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Closed => {}
        }
    }
    Ok(None)
}

const NOT_KEPT: &str = "are no longer kept";
const TOO_LONG: &str = "are the maximum of a result; `output_url` returns the whole output";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_inside_a_string_is_escaped() {
        assert_eq!(escaped("a\"b\n\u{1}"), "a\\\"b\\n\\u0001");
    }
}
