//! `list_executions`.

use std::fmt::Write as _;

use headwater_protocol::{Execution, now_ms};
use serde_json::{Value, json};

use super::find::{is_own, number_of, of_session, shown};
use super::report::exit_code;
use super::room::has_children;
use crate::agent::Agent;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::ListExecutions;

/// The ended commands in a list. Older ones stay readable by their session IDs.
const MAX_ENDED: usize = 50;

/// Calls `list_executions`.
pub(super) async fn list_executions(agent: &Agent, asked: &ListExecutions) -> Result<Outcome, ToolError> {
    let mut own = of_session(agent).await?;
    own.retain(|execution| is_own(agent, execution) && (is_running(execution) || !asked.running));
    own.sort_by_key(|execution| (!is_running(execution), std::cmp::Reverse(execution.started_at_ms)));
    let running = own.iter().filter(|execution| is_running(execution)).count();
    let older = own.len().saturating_sub(running + MAX_ENDED);
    own.truncate(running + MAX_ENDED);
    let mut text = String::new();
    for execution in &own {
        let _ = writeln!(text, "{}", line(execution));
    }
    if own.is_empty() {
        text.push_str("No commands. exec_command starts one.");
    }
    if older > 0 {
        let _ = write!(text, "[{older} older commands that have ended are not listed]");
    }
    let rows: Vec<Value> = own.iter().map(row).collect();
    let structured = Some(json!({"executions": rows, "older": older, "output": text}));
    Ok(Outcome { structured, ..Outcome::text(text) })
}

/// Whether it runs, or its children do.
fn is_running(execution: &Execution) -> bool {
    execution.state.verdict().is_none() || has_children(execution)
}

fn state(execution: &Execution) -> String {
    match execution.state.verdict() {
        Some(verdict) if has_children(execution) => {
            format!("exited with code {}, its children still run", exit_code(verdict))
        }
        Some(verdict) => format!("exited with code {}", exit_code(verdict)),
        None => "running".to_owned(),
    }
}

fn printed(execution: &Execution) -> u64 {
    execution.stdout_bytes + execution.stderr_bytes + execution.output_bytes
}

fn seconds(execution: &Execution) -> u64 {
    let ms = match execution.state.verdict() {
        Some(verdict) => verdict.duration_ms,
        None => now_ms().saturating_sub(execution.started_at_ms),
    };
    ms / 1000
}

fn line(execution: &Execution) -> String {
    let tty = if execution.spec.tty.is_some() { ", tty" } else { "" };
    format!(
        "session ID {}: {}, {} s, {} bytes printed{tty}: {}",
        number_of(execution.id),
        state(execution),
        seconds(execution),
        printed(execution),
        shown(&execution.spec.command),
    )
}

fn row(execution: &Execution) -> Value {
    json!({
        "session_id": number_of(execution.id), "execution_id": execution.id, "state": execution.state.name(),
        "exit_code": execution.state.verdict().map(exit_code), "command": shown(&execution.spec.command),
        "tty": execution.spec.tty.is_some(), "printed_bytes": printed(execution),
        "started_at_ms": execution.started_at_ms, "last_seq": execution.last_seq,
    })
}
