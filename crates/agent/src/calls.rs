//! The tool calls of an answer: independent ones run at the same time, and each ends in the log as soon as it has a result.

use std::time::{Duration, Instant};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, TryStreamExt};
use headwater_protocol::conversation::{Attachment, ConversationEvent, ToolCall, ToolCallState, ToolOutput};
use headwater_protocol::{ExecutionId, SessionId};
use headwater_tools::Outcome;
use serde_json::Value;

use crate::journal::JournalError;
use crate::place::RecordedCall;
use crate::work::Work;

/// Calls that run at the same time.
const MAX_PARALLEL: usize = 16;

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) state: ToolCallState,
    pub(crate) output: ToolOutput,
    pub(crate) executions: Vec<ExecutionId>,
    /// The session that it worked in: only such calls are recorded.
    pub(crate) session: Option<SessionId>,
}

impl Done {
    /// A result that is a text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let output = ToolOutput { text: text.into(), ..ToolOutput::default() };
        Self { state: ToolCallState::Succeeded, output, executions: Vec::new(), session: None }
    }

    /// A result with the same for programs.
    pub(crate) fn json(value: Value) -> Self {
        let mut done = Self::text(value.to_string());
        done.output.structured = Some(value);
        done
    }

    /// A failure. The text says what to do next.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { state: ToolCallState::Failed, ..Self::text(text) }.error()
    }

    /// A call that was interrupted.
    pub(crate) fn stopped(text: impl Into<String>) -> Self {
        Self { state: ToolCallState::Stopped, ..Self::text(text) }.error()
    }

    /// A call that a person refused.
    pub(crate) fn denied(reason: Option<&str>) -> Self {
        let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let text = format!(
            "The person refused this{why}. Do not try to do the same in another way; ask them how to go on, or continue \
             without it."
        );
        Self { state: ToolCallState::Denied, ..Self::text(text) }.error()
    }

    /// The result of a tool in the session.
    pub(crate) fn of(outcome: Outcome, session: SessionId) -> Self {
        let has_failed = outcome.is_error || program_failed(outcome.structured.as_ref());
        let state = if has_failed { ToolCallState::Failed } else { ToolCallState::Succeeded };
        let Outcome { text, is_error, structured, executions, image, .. } = outcome;
        // Where it is, the arguments of the call say.
        let image = image.map(|image| Attachment {
            name: String::new(),
            path: String::new(),
            media_type: image.media_type.to_owned(),
            size_bytes: image.bytes.len() as u64,
        });
        let output = ToolOutput { text, is_error, structured, image };
        Self { state, output, executions, session: Some(session) }
    }

    fn error(mut self) -> Self {
        self.output.is_error = true;
        self
    }
}

/// Whether the program of a call ended with an error.
fn program_failed(structured: Option<&Value>) -> bool {
    let field = |name| structured.and_then(|value| value.get(name));
    let code = field("exit_code").and_then(Value::as_i64);
    code.is_some_and(|code| code != 0) || field("timed_out").and_then(Value::as_bool) == Some(true)
}

/// Runs the calls that have no result. Those that change files run alone, in the order of the answer: one may need what
/// another one has written.
pub(crate) async fn run_open(work: &Work) -> Result<(), JournalError> {
    let calls = work.open_calls();
    for group in groups(calls, |call| work.tools.is_exclusive(&call.tool)) {
        let running: FuturesUnordered<_> =
            group.into_iter().map(|call| run_one(work, call).boxed()).collect();
        running.try_collect::<()>().await?;
    }
    Ok(())
}

/// Runs the calls that have no result one after the other.
pub(crate) async fn run_in_order(work: &Work) -> Result<(), JournalError> {
    for call in work.open_calls() {
        run_one(work, call).await?;
    }
    Ok(())
}

/// Ends the calls that have no result because the answer that they belong to is not complete.
pub(crate) async fn abandon_open(work: &Work) -> Result<(), JournalError> {
    for call in work.open_calls() {
        let done = Done::stopped("The answer of the model broke off, so this call did not run.");
        end(work, call, done, Duration::ZERO).await?;
    }
    Ok(())
}

fn groups(calls: Vec<ToolCall>, is_exclusive: impl Fn(&ToolCall) -> bool) -> Vec<Vec<ToolCall>> {
    let mut groups: Vec<Vec<ToolCall>> = Vec::new();
    let mut is_open = false;
    for call in calls {
        let alone = is_exclusive(&call);
        match groups.last_mut().filter(|group| is_open && !alone && group.len() < MAX_PARALLEL) {
            Some(group) => group.push(call),
            None => groups.push(vec![call]),
        }
        is_open = !alone;
    }
    groups
}

async fn run_one(work: &Work, call: ToolCall) -> Result<(), JournalError> {
    let begin = Instant::now();
    // A command that a restart left running is looked for even then: it must be ended.
    let is_running = call.state == ToolCallState::Running;
    let done = if work.is_stopped() && !is_running {
        Done::stopped("The turn was stopped before this call began.")
    } else {
        work.tools.call(work, &call).await?
    };
    end(work, call, done, begin.elapsed()).await
}

async fn end(work: &Work, call: ToolCall, done: Done, took: Duration) -> Result<(), JournalError> {
    let Done { state, output, executions, session } = done;
    let ended = ConversationEvent::ToolCallEnded {
        tool_call_id: call.tool_call_id.clone(),
        state,
        output: output.clone(),
        execution_ids: executions.clone(),
    };
    work.append(vec![ended]).await?;
    if session.is_some() {
        let record = RecordedCall {
            session,
            tool_call_id: call.tool_call_id,
            tool: call.tool,
            input: call.input.unwrap_or_default(),
            output,
            executions,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        work.context.place.record(record).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_that_change_files_run_alone_and_in_order() {
        let calls = ["r", "r", "W", "r", "W", "W", "r", "r"].into_iter().enumerate();
        let calls: Vec<_> = calls.map(|(n, tool)| ToolCall::new(n.to_string(), tool)).collect();
        let ids = |groups: Vec<Vec<ToolCall>>| -> Vec<String> {
            groups.iter().map(|group| group.iter().map(|call| call.tool_call_id.as_str()).collect()).collect()
        };
        assert_eq!(ids(groups(calls, |call| call.tool == "W")), ["01", "2", "3", "4", "5", "67"]);
        assert!(groups(Vec::new(), |_| true).is_empty());
    }

    #[test]
    fn a_program_that_fails_makes_its_call_fail_without_being_an_error_of_the_tool() {
        let done = |structured| {
            Done::of(Outcome { structured: Some(structured), ..Outcome::text("x") }, SessionId::random())
        };
        assert_eq!(done(json!({"exit_code": 0})).state, ToolCallState::Succeeded);
        assert_eq!(done(json!({"exit_code": null})).state, ToolCallState::Succeeded);
        let failed = done(json!({"exit_code": 3}));
        assert_eq!((failed.state, failed.output.is_error), (ToolCallState::Failed, false));
        assert_eq!(done(json!({"exit_code": null, "timed_out": true})).state, ToolCallState::Failed);
    }
}
