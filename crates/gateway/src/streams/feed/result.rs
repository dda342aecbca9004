//! The result of a tool call: its verdict in the tool's format, and its output, which is read from the log
//! while it is sent.
//!
//! The output is not collected: a result of many megabytes that the client does not read holds one piece in
//! memory.

use std::sync::Arc;

use headwater_contract::{FollowOptions, Follower};
use headwater_protocol::api::Timestamp;
use headwater_protocol::{
    Event, EventKind, ExecutionId, ExitDetail, LimitKind, Reason, Seq, Stream, Verdict,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::subject::Subject;
use super::text::Carry;
use super::tool_calls::Source;
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::state::Gateway;

/// The maximum number of bytes of each output in a result. `output_url` returns the whole output.
const MAX_BYTES: u64 = 16 << 20;

/// Exit codes of programs that did not exit by themselves.
const TIMED_OUT: i32 = -99;
const NOT_FOUND: i32 = -100;
const NOT_SET_UP: i32 = -101;

/// How a tool call ended, in the tool's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    exit_code: i32,
    success: bool,
    error: Option<String>,
    source: Option<Source>,
    /// How many bytes were printed to stdout and to stderr, including bytes that are no longer kept.
    printed: [u64; 2],
}

impl Ending {
    /// Converts a verdict.
    pub(crate) fn of(verdict: &Verdict) -> Self {
        let message = || verdict.message.clone();
        let code = || verdict.exit_status().unwrap_or(NOT_SET_UP);
        let (exit_code, error, source) = match verdict.reason {
            Reason::Exited => (code(), message(), None),
            Reason::Signalled => {
                let killed = || verdict.signal.map(|signal| format!("killed by signal {signal}"));
                (code(), message().or_else(killed), None)
            }
            Reason::TimedOut => (TIMED_OUT, Some(timed_out(verdict)), Some(Source::Timeout)),
            Reason::Cancelled => (code(), Some("cancelled".into()), None),
            Reason::SetupFailed => return Self::not_started(verdict),
            Reason::Oom | Reason::OutputLimit | Reason::DiskLimit | Reason::Lost => {
                let error = message().unwrap_or_else(|| verdict.reason.name().replace('_', " "));
                (code(), Some(error), Some(Source::Error))
            }
        };
        let success = verdict.reason == Reason::Exited && exit_code == 0;
        let printed = [verdict.stdout_bytes + verdict.output_bytes, verdict.stderr_bytes];
        Self { exit_code, success, error, source, printed }
    }

    /// Converts the verdict of a program that did not start.
    fn not_started(verdict: &Verdict) -> Self {
        match &verdict.detail {
            Some(ExitDetail::CommandNotFound { name } | ExitDetail::InterpreterNotFound { name }) => {
                Self::missing(name)
            }
            _ => Self::failed(NOT_SET_UP, verdict.message.clone().unwrap_or_default()),
        }
    }

    /// The ending for a command or runtime that does not exist.
    pub(crate) fn missing(name: &str) -> Self {
        Self::failed(NOT_FOUND, format!("Command or runtime not found: {name}"))
    }

    const fn failed(exit_code: i32, error: String) -> Self {
        Self { exit_code, success: false, error: Some(error), source: Some(Source::Error), printed: [0; 2] }
    }

    /// The server's message in the output, and its source.
    pub(crate) fn server_text(&self) -> Option<(Source, &str)> {
        self.source.zip(self.error.as_deref())
    }

    /// The line that is appended to stderr after a timeout.
    fn system_line(&self) -> Option<String> {
        let timeout = self.server_text().filter(|(source, _)| *source == Source::Timeout);
        timeout.map(|(_, text)| format!("[SYSTEM: {text}]"))
    }
}

/// Describes which limit was exceeded. Without a detail (from an older worker), names the duration.
fn timed_out(verdict: &Verdict) -> String {
    let after_ms = match verdict.detail {
        Some(ExitDetail::Limit { which: LimitKind::CpuMs, limit }) => {
            let seconds = in_seconds(limit);
            return format!("Execution timed out: used more than {seconds} s of cpu time.");
        }
        Some(ExitDetail::TimedOut { after_ms }) => after_ms,
        _ => verdict.duration_ms,
    };
    format!("Execution timed out after {} seconds.", in_seconds(after_ms))
}

fn in_seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A result without its output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResult {
    execution: Option<ExecutionId>,
    tool_call_id: String,
    tool_name: String,
    thread_id: Option<String>,
    timestamp: Timestamp,
    ending: Ending,
}

/// The result of a tool call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolResultBody {
    /// `TOOL_RESULT`.
    pub(crate) r#type: String,
    /// The id of the call.
    pub(crate) tool_call_id: String,
    /// The tool: `code_execution` or `run_command`.
    pub(crate) tool_name: String,
    /// Whether the program exited with 0.
    pub(crate) success: bool,
    /// The conversation, if the call belongs to one.
    pub(crate) thread_id: Option<String>,
    /// When the call ended.
    pub(crate) timestamp: Timestamp,
    /// The id of the execution; absent if none was created.
    pub(crate) execution_id: Option<String>,
    /// The output and exit code.
    pub(crate) result: ToolOutput,
}

/// The output and exit code of a tool call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolOutput {
    /// The exit code of the program; 128 plus the signal's number if a signal ended it; -99 after a timeout;
    /// -100 if the command or runtime does not exist; -101 if the program could not be started for another
    /// reason, or its end is unknown.
    pub(crate) exit_code: i32,
    /// A description of the error, if the exit code does not say enough.
    pub(crate) error: Option<String>,
    /// The standard output (or the output of the terminal) as text. After 16 MiB, a note replaces the rest.
    pub(crate) stdout: String,
    /// The standard error, with the same limit. After a timeout, it ends with a line that says so.
    pub(crate) stderr: String,
    /// Whether a part of the output is missing here.
    pub(crate) truncated: bool,
    /// The URL of the whole output, as far as it is kept.
    pub(crate) output_url: Option<String>,
}

/// The first fields of a [`ToolResultBody`].
#[derive(Serialize)]
struct Head<'a> {
    r#type: &'static str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    success: bool,
    thread_id: Option<&'a str>,
    timestamp: Timestamp,
    execution_id: Option<String>,
}

impl ToolResult {
    /// Creates the result of an execution.
    pub(crate) fn new(subject: &Subject, timestamp: Timestamp, ending: Ending) -> Self {
        Self {
            execution: subject.id,
            tool_call_id: subject.call_id.clone(),
            tool_name: subject.tool_name.clone(),
            thread_id: subject.conversation_id.clone(),
            timestamp,
            ending,
        }
    }

    /// Creates the result of an execution with this verdict.
    pub(crate) fn ended(subject: &Subject, verdict: &Verdict) -> Self {
        let end = Event { seq: Seq(0), at_ms: verdict.duration_ms, kind: EventKind::Closed };
        Self::new(subject, subject.time_of(&end), Ending::of(verdict))
    }

    /// The beginning of the JSON object, up to the content of `stdout`.
    fn head(&self) -> String {
        let Ending { exit_code, success, error, .. } = &self.ending;
        let head = Head {
            r#type: "TOOL_RESULT",
            tool_call_id: &self.tool_call_id,
            tool_name: &self.tool_name,
            success: *success,
            thread_id: self.thread_id.as_deref(),
            timestamp: self.timestamp,
            execution_id: self.execution.map(|id| id.to_string()),
        };
        // Serialising plain data does not fail.
        let mut text = serde_json::to_string(&head).unwrap_or_default();
        text.pop();
        let error = serde_json::json!(error);
        text + &format!(",\"result\":{{\"exit_code\":{exit_code},\"error\":{error},\"stdout\":\"")
    }

    /// The end of the JSON object, after the content of `stderr`.
    fn tail(&self, is_truncated: bool) -> String {
        let url = self.execution.map(|id| format!("/v1/executions/{id}/output"));
        format!("\",\"truncated\":{is_truncated},\"output_url\":{}}}}}", serde_json::json!(url))
    }
}

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
    carry: Carry,
    bytes: u64,
    /// Whether nothing more of this output is shown.
    is_over: bool,
    /// Whether the output so far is empty or ends with a line break.
    is_line_start: bool,
}

impl Output {
    const fn new(is_error: bool) -> Self {
        Self { is_error, follower: None, carry: Carry::EMPTY, bytes: 0, is_over: false, is_line_start: true }
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
                    Some(id) => read(&self.gateway, id, output, printed).await?,
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
        if let Some(line) = self.result.ending.system_line() {
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
    Missing { bytes: u64, why: &'static str },
}

/// The next piece of an output; none at its end.
async fn read(
    gateway: &Gateway,
    id: ExecutionId,
    output: &mut Output,
    printed: u64,
) -> Result<Option<Piece>, ApiError> {
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
            EventKind::Output { bytes, .. } => {
                let left = usize::try_from(MAX_BYTES.saturating_sub(output.bytes)).unwrap_or(usize::MAX);
                if bytes.len() > left {
                    // The note replaces the event that exceeds the limit, so it is the last output.
                    output.is_over = true;
                    return Ok(Some(Piece::Missing { bytes: MAX_BYTES, why: TOO_LONG }));
                }
                return Ok(Some(Piece::Bytes(bytes)));
            }
            EventKind::Gap { from_byte, to_byte, .. } => {
                let bytes = to_byte.saturating_sub(from_byte);
                return Ok(Some(Piece::Missing { bytes, why: NOT_KEPT }));
            }
            EventKind::Exited(_) => return Ok(None),
            EventKind::Started { .. } | EventKind::Closed => {}
        }
    }
    Ok(None)
}

const NOT_KEPT: &str = "are no longer kept";
const TOO_LONG: &str = "are the maximum of a result; `output_url` returns the whole output";

#[cfg(test)]
mod tests {
    use headwater_protocol::StartSpec;

    use super::super::subject::tests::subject;
    use super::*;

    fn verdict(reason: Reason, code: Option<i32>, signal: Option<i32>, message: Option<&str>) -> Verdict {
        let detail = (reason == Reason::TimedOut).then_some(ExitDetail::TimedOut { after_ms: 5000 });
        Verdict {
            code,
            signal,
            message: message.map(Into::into),
            detail,
            duration_ms: 1500,
            ..Verdict::new(reason)
        }
    }

    fn body(verdict: &Verdict) -> ToolResultBody {
        let result = ToolResult::ended(&subject(StartSpec::shell("x")), verdict);
        let json = result.head() + "a\",\"stderr\":\"" + &result.tail(false);
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn every_end_has_its_exit_code_and_its_words() {
        let timeout = "Execution timed out after 5 seconds.";
        for (reason, code, signal, message, expected) in [
            (Reason::Exited, Some(0), None, None, (0, true, None)),
            (Reason::Exited, Some(3), None, None, (3, false, None)),
            (Reason::Signalled, None, Some(11), None, (139, false, Some("killed by signal 11"))),
            (Reason::TimedOut, None, Some(15), Some("words"), (-99, false, Some(timeout))),
            (Reason::TimedOut, Some(0), None, None, (-99, false, Some(timeout))),
            (Reason::Cancelled, Some(0), None, None, (0, false, Some("cancelled"))),
            (Reason::Cancelled, None, Some(15), None, (143, false, Some("cancelled"))),
            (Reason::Oom, None, Some(9), Some("too much"), (137, false, Some("too much"))),
            (Reason::Lost, None, None, None, (-101, false, Some("lost"))),
            (Reason::SetupFailed, None, None, Some("bad `x`"), (-101, false, Some("bad `x`"))),
        ] {
            let body = body(&verdict(reason, code, signal, message));
            let got = (body.result.exit_code, body.success, body.result.error.as_deref());
            assert_eq!(got, expected, "{reason:?}");
        }
        for detail in [ExitDetail::command_not_found("x"), ExitDetail::interpreter_not_found("x")] {
            let missing = Verdict { detail: Some(detail), ..Verdict::new(Reason::SetupFailed) };
            let body = body(&missing);
            assert_eq!(body.result.exit_code, -100);
            assert_eq!(body.result.error.as_deref(), Some("Command or runtime not found: x"));
        }
    }

    #[test]
    fn the_words_of_a_verdict_decide_nothing() {
        for words in ["command not found: `x`", "the interpreter that `x` asks for is missing"] {
            let body = body(&verdict(Reason::SetupFailed, None, None, Some(words)));
            assert_eq!((body.result.exit_code, body.result.error.as_deref()), (-101, Some(words)));
        }
    }

    #[test]
    fn a_result_names_its_call_and_where_all_of_its_output_is() {
        let body = body(&verdict(Reason::Exited, Some(0), None, None));
        assert_eq!((body.tool_call_id.as_str(), body.thread_id.as_deref()), ("call", Some("talk")));
        assert_eq!((body.r#type.as_str(), body.tool_name.as_str()), ("TOOL_RESULT", "code_execution"));
        let url = format!("/v1/executions/{}/output", body.execution_id.unwrap());
        assert_eq!((body.result.output_url, body.result.stdout.as_str()), (Some(url), "a"));
        assert_eq!(body.timestamp, Timestamp(2_500));
    }

    #[test]
    fn a_timeout_is_reported_in_seconds() {
        let text = |detail| {
            let verdict = Verdict { detail, duration_ms: 1500, ..Verdict::new(Reason::TimedOut) };
            timed_out(&verdict)
        };
        let wall = ExitDetail::TimedOut { after_ms: 700 };
        assert_eq!(text(Some(wall)), "Execution timed out after 0.7 seconds.");
        assert_eq!(text(None), "Execution timed out after 1.5 seconds.");
        let cpu = ExitDetail::Limit { which: LimitKind::CpuMs, limit: 1000 };
        assert_eq!(text(Some(cpu)), "Execution timed out: used more than 1 s of cpu time.");
    }

    #[test]
    fn text_inside_a_string_is_escaped() {
        assert_eq!(escaped("a\"b\n\u{1}"), "a\\\"b\\n\\u0001");
    }
}
