//! `code_execution` and `runCommand`: code to its end, with all that it printed.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use headwater_contract::FollowOptions;
use headwater_protocol::{Command, EventKind, ExecutionId, StartSpec, Stdin, Stream};
use serde_json::json;
use tokio::time::Instant;

use super::Context;
use super::condition::Conditions;
use super::exec::END_PATIENCE;
use super::find::number_of;
use super::reading::{Found, Reading, View};
use super::report::{notes_of, with_notes};
use super::shell::{STREAM_BYTES, left_out};
use super::spec::{Display, complete};
use super::start::{Started, start_any};
use crate::agent::Agent;
use crate::code::{CodeEnd, language_of, runtime_names, timeout_ms};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::output::{Budget, End, Options, Output, Rendered};
use crate::schema::{CodeExecution, RunCommand};

/// The part of each stream that the result for programs has, in bytes. The log of the execution has all of it.
const WHOLE_BYTES: u64 = 256 << 10;

/// Calls `code_execution`.
pub(super) async fn code_execution(
    context: &Context<'_>,
    asked: &CodeExecution,
) -> Result<Outcome, ToolError> {
    let language = language_of(&asked.runtime).ok_or_else(|| {
        ToolError::new(format!("`{}` is not a runtime", asked.runtime))
            .hint(format!("Use one of {}", runtime_names()))
    })?;
    let command = Command::Code {
        language: language.to_owned(),
        code: asked.code.clone(),
        file: asked.save_to_file.clone(),
        args: Vec::new(),
    };
    let stdin = asked.stdin.clone().map_or(Stdin::None, |text| Stdin::Given(Bytes::from(text)));
    run(context, StartSpec { cwd: asked.cwd.clone(), stdin, ..StartSpec::new(command) }, asked.timeout).await
}

/// Calls `runCommand`.
pub(super) async fn run_command(context: &Context<'_>, asked: &RunCommand) -> Result<Outcome, ToolError> {
    let cwd = asked.working_directory.clone();
    run(context, StartSpec { cwd, ..StartSpec::code("bash", asked.command.clone()) }, asked.timeout).await
}

async fn run(context: &Context<'_>, mut spec: StartSpec, timeout: Option<f64>) -> Result<Outcome, ToolError> {
    spec.timeout_ms = Some(timeout_ms(timeout).map_err(ToolError::new)?);
    let spec = complete(context, spec, Display { terminal: false, colours: false });
    let started = start_any(context, spec).await?;
    result(context, started, timeout).await
}

/// Waits for a program that was started.
pub(super) async fn result(
    context: &Context<'_>,
    started: Started,
    timeout: Option<f64>,
) -> Result<Outcome, ToolError> {
    let (agent, Started { execution, mut notes, .. }) = (context.agent, started);
    let limit = Duration::from_millis(timeout_ms(timeout).map_err(ToolError::new)?);
    let view = View { budget: Budget::bytes(STREAM_BYTES), keep_ansi: false, errors_apart: true };
    let mut reading = Reading::new(agent, &execution, view, Conditions::default());
    reading.follow(context, Instant::now() + limit + END_PATIENCE).await?;
    let number = number_of(execution.id);
    let Some(verdict) = reading.verdict.clone() else {
        let message = format!("the end of the program was not reported in time; it is session ID {number}");
        return Err(ToolError::new(message).hint("Call wait with this session ID"));
    };
    let found = reading.finish(agent);
    notes.extend(notes_of(&found, number));
    notes.extend(left_out(&found, number, &execution.id.to_string()));
    let whole = whole(agent, execution.id, &found).await;
    Ok(outcome(execution.id, &CodeEnd::of(&verdict), &found, whole, &notes))
}

/// All that a program has printed, for programs.
struct Whole {
    stdout: String,
    stderr: String,
    is_truncated: bool,
}

async fn whole(agent: &Agent, id: ExecutionId, found: &Found) -> Whole {
    let errors = found.errors.as_ref();
    let is_cut = found.output.left_out.is_some() || errors.is_some_and(|errors| errors.left_out.is_some());
    let shown = || Whole {
        stdout: found.output.body(),
        stderr: errors.map(Rendered::body).unwrap_or_default(),
        is_truncated: is_cut || found.missing_bytes > 0,
    };
    if !is_cut {
        return shown();
    }
    // If the log cannot be read any more, what the model reads is what there is.
    read(agent, id).await.unwrap_or_else(shown)
}

async fn read(agent: &Agent, id: ExecutionId) -> Option<Whole> {
    let options = || Options {
        budget: Budget::bytes(WHOLE_BYTES),
        keep_ansi: false,
        secrets: Arc::clone(agent.secrets()),
        start_offset: 0,
    };
    let (mut stdout, mut stderr) = (Output::new(&options()), Output::new(&options()));
    let follow = FollowOptions { until_closed: true, no_wait: true, ..FollowOptions::default() };
    let streams = agent.host().streams();
    let mut follower = streams.retry(|client| client.follow(id, follow.clone())).await.ok()?;
    let mut is_truncated = false;
    while let Some(event) = follower.next().await.ok()? {
        match event.kind {
            EventKind::Output { stream, bytes, .. } => {
                let output = if stream == Stream::Stderr { &mut stderr } else { &mut stdout };
                output.push(stream, event.seq, &bytes);
            }
            EventKind::Gap { .. } => is_truncated = true,
            _ => {}
        }
    }
    let (stdout, stderr) = (stdout.finish(End::Closed).0, stderr.finish(End::Closed).0);
    is_truncated |= stdout.left_out.is_some() || stderr.left_out.is_some();
    Some(Whole { stdout: stdout.body(), stderr: stderr.body(), is_truncated })
}

fn outcome(id: ExecutionId, end: &CodeEnd, found: &Found, whole: Whole, notes: &[String]) -> Outcome {
    let Whole { stdout, stderr, is_truncated } = whole;
    let last_line = end.last_line();
    let with_last = |mut text: String| {
        if let Some(line) = &last_line {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
        text
    };
    let mut text = format!("Exit code: {}", end.exit_code);
    // Writing to a string cannot fail.
    if let Some(error) = end.error.as_ref().filter(|_| last_line.is_none()) {
        let _ = write!(text, "\nError: {error}");
    }
    let errors = with_last(found.errors.as_ref().map(Rendered::body).unwrap_or_default());
    for (name, printed) in [("Stdout", found.output.body()), ("Stderr", errors)] {
        if !printed.is_empty() {
            let _ = write!(text, "\n{name}:\n{printed}");
        }
    }
    let structured = json!({
        "stdout": stdout, "stderr": with_last(stderr), "exit_code": end.exit_code, "error": end.error,
        "success": end.success, "truncated": is_truncated, "execution_id": id, "session_id": number_of(id),
    });
    Outcome {
        text: with_notes(text, notes),
        is_error: matches!(end.exit_code, CodeEnd::NOT_FOUND | CodeEnd::NOT_SET_UP),
        structured: Some(structured),
        executions: vec![id],
        ..Outcome::default()
    }
}
