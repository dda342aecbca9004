//! `kill` and `resize`.

use std::fmt::Write as _;
use std::time::Duration;

use headwater_protocol::{Execution, ExecutionState, TtySize};
use serde_json::json;
use tokio::time::Instant;

use super::find::{find, number_of};
use super::report::{end_note, exit_code};
use crate::agent::Agent;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::{Kill, Resize, Signal};

/// How long `kill` waits for the end after SIGTERM and the grace period of 5 s.
const END_PATIENCE: Duration = Duration::from_secs(8);
/// How long it waits for the effect of a signal that usually ends a program.
const SIGNAL_PATIENCE: Duration = Duration::from_secs(1);
/// How often it checks whether children are gone that no longer hold the output: nothing reports their end.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

const fn number(signal: Signal) -> i32 {
    match signal {
        Signal::Hup => 1,
        Signal::Int => 2,
        Signal::Quit => 3,
        Signal::Kill => 9,
        Signal::Usr1 => 10,
        Signal::Usr2 => 12,
        Signal::Term => 15,
    }
}

/// Calls `kill`.
pub(super) async fn kill(agent: &Agent, asked: &Kill) -> Result<Outcome, ToolError> {
    let execution = find(agent, &asked.session_id).await?;
    let (client, id) = (agent.host().calls(), execution.id);
    agent.memory().cursor(id); // a use
    if matches!(execution.state, ExecutionState::Closed { .. }) {
        return end_daemons(agent, &execution, asked.signal).await;
    }
    let patience = match (asked.signal, asked.tree) {
        (None, true) => {
            client.retry(|client| client.cancel(id, None)).await?;
            END_PATIENCE
        }
        (signal, tree) => {
            let signal = signal.unwrap_or(Signal::Term);
            client.signal(id, number(signal), tree).await?;
            if matches!(signal, Signal::Usr1 | Signal::Usr2) { Duration::ZERO } else { SIGNAL_PATIENCE }
        }
    };
    // The whole tree is gone when nothing can print any more.
    let is_tree = asked.tree;
    let execution = agent.host().streams().retry(|client| client.wait(id, patience, is_tree)).await?;
    let what = match execution.state {
        ExecutionState::Closed { .. } => "has ended, with all its children",
        ExecutionState::Exited { .. } => "has ended; its children may still run",
        _ if asked.signal.is_some() => "got the signal and still runs",
        _ => "still runs; send KILL to end it at once",
    };
    if execution.state.verdict().is_some() {
        agent.memory().killed(id);
    }
    Ok(outcome(&execution, what))
}

/// Ends processes that outlived their command and no longer hold its output, for example a server that was
/// started with `nohup`.
async fn end_daemons(
    agent: &Agent,
    execution: &Execution,
    signal: Option<Signal>,
) -> Result<Outcome, ToolError> {
    let (client, id) = (agent.host().calls(), execution.id);
    if client.retry(|client| client.processes(id)).await?.is_empty() {
        return Ok(outcome(execution, "had ended before"));
    }
    let grace = match signal {
        None | Some(Signal::Term) => None,
        Some(Signal::Kill) => Some(Duration::ZERO),
        Some(_) => {
            let error = ToolError::new("the command has ended; its children can only get TERM or KILL");
            return Err(error.hint("Call kill without a signal to end them"));
        }
    };
    client.retry(|client| client.cancel(id, grace)).await?;
    let end = Instant::now() + END_PATIENCE;
    while !client.retry(|client| client.processes(id)).await?.is_empty() {
        if Instant::now() > end {
            return Ok(outcome(execution, "had ended before; its children still run, send KILL to end them"));
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
    Ok(outcome(execution, "had ended before; its children that still ran have ended now"))
}

fn outcome(execution: &Execution, what: &str) -> Outcome {
    let (number, verdict) = (number_of(execution.id), execution.state.verdict());
    let mut text = format!("Session {number} {what}.");
    if let Some(verdict) = verdict {
        let _ = write!(text, "\nProcess exited with code {}", exit_code(verdict));
        if let Some(note) = end_note(verdict) {
            let _ = write!(text, "\n[{note}]");
        }
    }
    text.push_str("\nIts output is kept: write_stdin returns what is new, read_output all of it.");
    let structured = json!({
        "session_id": number, "execution_id": execution.id, "state": execution.state.name(),
        "exit_code": verdict.map(exit_code), "output": text,
    });
    Outcome { text, structured: Some(structured), executions: vec![execution.id], ..Outcome::default() }
}

/// Calls `resize`.
pub(super) async fn resize(agent: &Agent, asked: &Resize) -> Result<Outcome, ToolError> {
    let execution = find(agent, &asked.session_id).await?;
    let (id, number) = (execution.id, number_of(execution.id));
    if execution.spec.tty.is_none() {
        let error = ToolError::new(format!("session {number} has no terminal"));
        return Err(error.hint("Start the command with tty=true to give it one"));
    }
    let size = TtySize { rows: asked.rows, cols: asked.cols };
    agent.memory().cursor(id); // a use
    agent.host().calls().retry(|client| client.resize(id, size)).await?;
    let text =
        format!("The terminal of session {number} has {} rows and {} columns.", asked.rows, asked.cols);
    Ok(Outcome { executions: vec![id], ..Outcome::text(text) })
}
