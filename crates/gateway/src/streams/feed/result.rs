//! The result of a tool call: its verdict in the tool's format. [`ResultBody`](super::result_body::ResultBody)
//! adds the output.

use headwater_protocol::api::Timestamp;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ending::Ending;
use super::subject::Subject;
use super::tool_calls::Form;

/// A result without its output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResult {
    pub(super) execution: Option<ExecutionId>,
    tool_call_id: String,
    tool_name: String,
    thread_id: Option<String>,
    timestamp: Timestamp,
    pub(super) max_buffer: Option<u64>,
    pub(super) ending: Ending,
    form: Form,
}

/// The result of a tool call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolResultBody {
    /// Always `TOOL_RESULT`.
    pub(crate) r#type: String,
    /// The id of the call.
    pub(crate) tool_call_id: String,
    /// The tool: `code_execution`, `run_command`, `runCommand`, `build` or `change_packages`.
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
    /// The standard output (or the output of the terminal) as text. After `maxBuffer`, or 16 MiB, a note replaces the
    /// rest.
    pub(crate) stdout: String,
    /// The standard error, with the same limit. After a timeout, and for the exit codes -100 and -101, it ends with a
    /// line that says why.
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
            max_buffer: subject.max_buffer,
            ending,
            form: Form::Flat,
        }
    }

    /// The same as an event in this form.
    pub(super) fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Creates the result of an execution with this verdict.
    pub(crate) fn ended(subject: &Subject, verdict: &Verdict) -> Self {
        let end = Event { seq: Seq(0), at_ms: verdict.duration_ms, kind: EventKind::Closed };
        Self::new(subject, subject.time_of(&end), Ending::of(verdict))
    }

    /// The beginning of the JSON object, up to the content of `stdout`.
    pub(super) fn head(&self) -> String {
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
        if self.form == Form::Payload {
            let (thread, at) = (serde_json::json!(self.thread_id), serde_json::json!(self.timestamp));
            let envelope =
                format!("{{\"type\":\"TOOL_RESULT\",\"thread_id\":{thread},\"timestamp\":{at},\"payload\":");
            text.insert_str(0, &envelope);
        }
        text + &format!(",\"result\":{{\"exit_code\":{exit_code},\"error\":{error},\"stdout\":\"")
    }

    /// The end of the JSON object, after the content of `stderr`.
    pub(super) fn tail(&self, is_truncated: bool) -> String {
        let url = self.execution.map(|id| format!("/v1/executions/{id}/output"));
        let end = if self.form == Form::Payload { "}" } else { "" };
        format!("\",\"truncated\":{is_truncated},\"output_url\":{}}}}}{end}", serde_json::json!(url))
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{ExitDetail, Reason, StartSpec};

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
    fn a_result_as_an_event_has_its_fields_in_the_payload() {
        let result =
            ToolResult::ended(&subject(StartSpec::shell("x")), &verdict(Reason::Exited, Some(0), None, None));
        let json = |result: ToolResult| -> serde_json::Value {
            serde_json::from_str(&(result.head() + "a\",\"stderr\":\"" + &result.tail(false))).unwrap()
        };
        let (event, flat) = (json(result.clone().in_form(Form::Payload)), json(result));
        assert_eq!((&event["type"], &event["payload"]), (&serde_json::json!("TOOL_RESULT"), &flat));
        assert_eq!((&event["thread_id"], &event["timestamp"]), (&flat["thread_id"], &flat["timestamp"]));
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
}
