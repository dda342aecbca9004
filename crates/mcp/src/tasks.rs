//! Tasks. A task is an execution: its id is the execution's, and its state is the worker's, so that it
//! survives this server and needs no store.

mod legacy;

use std::time::Duration;

use headwater_contract::FollowOptions;
use headwater_protocol::{EventKind, Execution, ExecutionId, Reason, Seq};
use headwater_tools::schema::Call;
use headwater_tools::{Agent, Outcome, Request};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::resources::{execution, failed};
use crate::tools::{cancelled, result};

pub(crate) use legacy::legacy;

/// How long a call may take before it becomes a task, for clients that declare them: most commands end
/// earlier, and their result comes with the first answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How often a client should ask.
const POLL: Duration = Duration::from_secs(1);
/// How long one call to the worker waits for an end.
const WAIT: Duration = Duration::from_secs(30);
/// How long the end of a cancelled program is awaited: its grace period and some more.
const CANCEL_WAIT: Duration = Duration::from_secs(12);
/// The most output in the result of a task, in bytes; `read_output` has the rest.
const RESULT_BYTES: u64 = 64 << 10;

/// Whether a call waits for the end of a program, so that it can be a task. `exec_command` returns before
/// that and leaves the program running, unless it is asked to wait.
pub(crate) fn can_be_task(call: &Call) -> bool {
    match call {
        Call::Shell(_) | Call::ShellCommand(_) | Call::RunCode(_) => true,
        Call::ExecCommand(call) => call.wait_for.as_ref().is_some_and(|until| until.exit),
        _ => false,
    }
}

/// The execution that is a task of this agent.
pub(crate) async fn find(agent: &Agent, task: &str) -> Result<Execution, ErrorData> {
    let unknown = || ErrorData::invalid_params(format!("the task {task:?} does not exist"), None);
    let id = task.parse().map_err(|_| unknown())?;
    execution(agent, id).await.map_err(|_| unknown())
}

/// The state of a task.
pub(crate) async fn task(agent: &Agent, execution: &Execution) -> Result<Task, ErrorData> {
    let status = status(execution);
    let updated = if status.is_terminal() { ended_at(agent, execution).await? } else { now() };
    let bytes = execution.stdout_bytes + execution.stderr_bytes + execution.output_bytes;
    let message = match execution.state.verdict() {
        None => format!("{}, {bytes} bytes of output", execution.state.name()),
        Some(verdict) => match (verdict.code, verdict.signal) {
            (Some(code), _) => format!("exit code {code}, {bytes} bytes of output"),
            (None, Some(signal)) => {
                format!("{} (signal {signal}), {bytes} bytes of output", verdict.reason.name())
            }
            (None, None) => format!("{}, {bytes} bytes of output", verdict.reason.name()),
        },
    };
    let created = i64::try_from(execution.started_at_ms).unwrap_or(i64::MAX);
    let poll = u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX);
    Ok(Task::new(execution.id.to_string(), status, rfc3339(created), rfc3339(updated))
        .with_status_message(message)
        .with_poll_interval_ms(poll))
}

/// The state of a task with its result.
pub(crate) async fn detailed(agent: &Agent, execution: &Execution) -> Result<DetailedTask, ErrorData> {
    let task = task(agent, execution).await?;
    let payload = match task.status {
        TaskStatus::Cancelled => TaskPayload::Cancelled,
        TaskStatus::Completed => TaskPayload::Completed { result: fields(&outcome(agent, execution).await?) },
        _ => TaskPayload::Working,
    };
    Ok(DetailedTask::new(task, payload))
}

fn fields(result: &CallToolResult) -> JsonObject {
    match serde_json::to_value(result) {
        Ok(Value::Object(fields)) => fields,
        _ => JsonObject::new(),
    }
}

fn status(execution: &Execution) -> TaskStatus {
    match execution.state.verdict() {
        None => TaskStatus::Working,
        Some(verdict) if verdict.reason == Reason::Cancelled => TaskStatus::Cancelled,
        Some(_) => TaskStatus::Completed,
    }
}

/// The result of a call whose execution has ended: what it printed, from the log.
pub(crate) async fn outcome(agent: &Agent, execution: &Execution) -> Result<CallToolResult, ErrorData> {
    let arguments = json!({"session_id": execution.id.to_string(), "max_bytes": RESULT_BYTES});
    let call = Call::parse("read_output", arguments);
    let call = call.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut read = agent.call(Request { call, tool_call_id: None, approved: None }, None).await;
    let ended = ended_at(agent, execution).await?;
    #[expect(clippy::cast_precision_loss, reason = "a duration in milliseconds")]
    let seconds = (ended - i64::try_from(execution.started_at_ms).unwrap_or(ended)).max(0) as f64 / 1000.0;
    let mut structured = json!({"wall_time_seconds": seconds});
    if let Some(code) = execution.state.verdict().and_then(|verdict| verdict.code) {
        structured["exit_code"] = json!(code);
    }
    if !read.is_error {
        read = Outcome { structured: Some(structured), ..read };
    }
    // With the fields that tools that start programs promise, whichever of them it was.
    Ok(result("exec_command", read))
}

/// The end of an execution, in milliseconds since 1970.
async fn ended_at(agent: &Agent, execution: &Execution) -> Result<i64, ErrorData> {
    /// `exited` is among the last events: only output of children and `closed` come after it.
    const LAST_EVENTS: u64 = 64;
    let after = Seq(execution.last_seq.0.saturating_sub(LAST_EVENTS));
    let options = FollowOptions { after, no_wait: true, until_closed: true, ..FollowOptions::default() };
    let Ok(mut follower) = agent.host().streams().follow(execution.id, options).await else {
        // The log was removed; its start is the best that is known.
        return Ok(i64::try_from(execution.started_at_ms).unwrap_or(i64::MAX));
    };
    let mut at = execution.started_at_ms;
    while let Some(event) = follower.next().await.map_err(failed)? {
        at = event.at_ms;
        if matches!(event.kind, EventKind::Exited(_)) {
            break;
        }
    }
    Ok(i64::try_from(at).unwrap_or(i64::MAX))
}

/// Waits until a task has ended.
pub(crate) async fn ended(
    agent: &Agent,
    id: ExecutionId,
    context: &RequestContext<RoleServer>,
) -> Result<Execution, ErrorData> {
    loop {
        let waited = agent.host().streams().retry(|client| client.wait(id, WAIT, false));
        let execution = tokio::select! {
            () = context.ct.cancelled() => return Err(cancelled()),
            waited = waited => waited.map_err(failed)?,
        };
        if execution.state.verdict().is_some() {
            return Ok(execution);
        }
    }
}

/// Ends the program of a task, and returns it once it has ended.
pub(crate) async fn cancel(agent: &Agent, execution: &Execution) -> Result<Execution, ErrorData> {
    let id = execution.id;
    let client = agent.host().calls();
    client.retry(|client| client.cancel(id, None)).await.map_err(failed)?;
    client.retry(|client| client.wait(id, CANCEL_WAIT, false)).await.map_err(failed)
}

fn now() -> i64 {
    i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

fn rfc3339(ms: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000);
    time.ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(1_792_000_000_123), "2026-10-14T17:46:40.123Z");
    }

    #[test]
    fn a_call_that_leaves_its_program_running_is_no_task() {
        let call = |name: &str, arguments| can_be_task(&Call::parse(name, arguments).unwrap());
        assert!(!call("exec_command", json!({"cmd": "x"})));
        assert!(!call("exec_command", json!({"cmd": "x", "wait_for": {"port": 80}})));
        assert!(call("exec_command", json!({"cmd": "x", "wait_for": {"exit": true}})));
        assert!(call("shell", json!({"command": ["x"]})));
        assert!(!call("read_file", json!({"file_path": "x"})));
    }
}
