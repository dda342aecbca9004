//! `shell` and `shell_command`: run a command to its end.

use std::time::Duration;

use headwater_protocol::{ExecutionId, ExitDetail, Reason, StartSpec, Verdict};
use serde_json::json;
use tokio::time::Instant;

use super::condition::Conditions;
use super::exec::{END_PATIENCE, check_no_workdir, limited};
use super::find::number_of;
use super::reading::{Found, Reading, View};
use super::report::{end_note, exit_code, notes_of, start_error, with_notes};
use super::spec::{Display, complete, working_directory};
use super::start::{Script, Started, start, start_script};
use super::{Context, inline_patch};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::output::{Budget, Rendered};
use crate::schema::{OnDisconnect, Shell, ShellCommand, ShellEnd, ShellResult};

/// The part of each stream that a result shows, in bytes: models know this size.
pub(super) const STREAM_BYTES: u64 = 12_000;

const PLAIN: Display = Display { terminal: false, colours: false };

/// Calls `shell`.
pub(super) async fn shell(context: &Context<'_>, asked: &Shell) -> Result<Outcome, ToolError> {
    if let Some(patch) = inline_patch::of_program(&asked.command) {
        check_no_workdir(asked.workdir.as_deref())?;
        return context.agent.call_files(&patch).await;
    }
    let begin = Instant::now();
    let spec = spec(context, asked.command.clone(), asked.workdir.as_deref(), asked.timeout_ms);
    let started = start(context, spec, OnDisconnect::Keep).await?;
    to_its_end(context, started, begin, asked.workdir.as_deref(), asked.timeout_ms).await
}

/// Calls `shell_command`.
pub(super) async fn shell_command(context: &Context<'_>, asked: &ShellCommand) -> Result<Outcome, ToolError> {
    if let Some(patch) = inline_patch::of_script(&asked.command) {
        check_no_workdir(asked.workdir.as_deref())?;
        return context.agent.call_files(&patch).await;
    }
    let begin = Instant::now();
    let script = Script { text: &asked.command, shell: None, login: asked.login };
    let spec = |argv| spec(context, argv, asked.workdir.as_deref(), asked.timeout_ms);
    let started = start_script(context, script, spec, OnDisconnect::Keep).await?;
    to_its_end(context, started, begin, asked.workdir.as_deref(), asked.timeout_ms).await
}

fn spec(context: &Context<'_>, argv: Vec<String>, workdir: Option<&str>, timeout_ms: u64) -> StartSpec {
    let spec = StartSpec { cwd: workdir.map(str::to_owned), ..limited(StartSpec::argv(argv), timeout_ms) };
    complete(context, spec, PLAIN)
}

pub(super) async fn to_its_end(
    context: &Context<'_>,
    started: Started,
    begin: Instant,
    workdir: Option<&str>,
    timeout_ms: u64,
) -> Result<Outcome, ToolError> {
    let (agent, Started { execution, mut notes, .. }) = (context.agent, started);
    let view = View { budget: Budget::bytes(STREAM_BYTES), keep_ansi: false, errors_apart: true };
    let mut reading = Reading::new(agent, &execution, view, Conditions::default());
    reading.follow(context, begin + Duration::from_millis(timeout_ms) + END_PATIENCE).await?;
    let number = number_of(execution.id);
    let Some(verdict) = reading.verdict.clone() else {
        let message = format!("the end of the command was not reported in time; it is session ID {number}");
        return Err(ToolError::new(message).hint("Call wait with this session ID"));
    };
    let found = reading.finish(agent);
    if let Some(error) = start_error(&verdict) {
        return Err(error);
    }
    let end = end_of(&verdict, timeout_ms);
    let mut own = notes_of(&found, number);
    own.extend(left_out(&found, number, &execution.id.to_string()));
    if let ShellEnd::ExitCode(_) = end {
        own.extend(end_note(&verdict));
    }
    own.append(&mut notes);
    let result = ShellResult {
        workdir: working_directory(agent, workdir),
        end,
        stdout: found.output.body(),
        stderr: found.errors.as_ref().map(Rendered::body).unwrap_or_default(),
    };
    Ok(outcome(execution.id, &result, &own))
}

fn outcome(id: ExecutionId, result: &ShellResult, notes: &[String]) -> Outcome {
    let text = with_notes(result.to_string(), notes);
    let code = match result.end {
        ShellEnd::ExitCode(code) => Some(code),
        ShellEnd::TimeoutMs(_) => None,
    };
    let structured = json!({
        "execution_id": id, "session_id": number_of(id), "workdir": result.workdir,
        "exit_code": code, "timed_out": code.is_none(),
        "stdout": result.stdout, "stderr": result.stderr, "output": text,
    });
    Outcome { text, structured: Some(structured), executions: vec![id], ..Outcome::default() }
}

/// How the command ended.
fn end_of(verdict: &Verdict, timeout_ms: u64) -> ShellEnd {
    match (verdict.reason, &verdict.detail) {
        (Reason::TimedOut, Some(ExitDetail::TimedOut { after_ms })) => ShellEnd::TimeoutMs(*after_ms),
        (Reason::TimedOut, None) => ShellEnd::TimeoutMs(timeout_ms),
        _ => ShellEnd::ExitCode(exit_code(verdict)),
    }
}

/// Where the parts can be read that the result leaves out.
pub(super) fn left_out(found: &Found, number: u64, id: &str) -> Vec<String> {
    let streams = [("stdout", Some(&found.output)), ("stderr", found.errors.as_ref())];
    let cut = streams.iter().filter_map(|(name, text)| Some((name, text.as_ref()?.left_out?)));
    cut.map(|(name, left_out)| {
        let (bytes, position) = (left_out.size.bytes, left_out.arguments());
        format!(
            "{name}: {bytes} bytes left out; execution {id} has them: read_output with session_id {number}, \
             stream {name}, {position}"
        )
    })
    .collect()
}
