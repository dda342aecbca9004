//! `wait`: waits for commands without polling.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use headwater_protocol::Execution;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::condition::{Conditions, Met};
use super::find::{find, label};
use super::reading::{Reading, View};
use super::{Context, earlier, endings, report};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::output::Budget;
use crate::schema::Wait;

/// Calls `wait`.
pub(super) async fn wait(context: &Context<'_>, asked: &Wait) -> Result<Outcome, ToolError> {
    let begin = Instant::now();
    let deadline = begin + Duration::from_millis(asked.wait_ms());
    let executions = find_all(context, asked).await?;
    let budget = Budget::tokens(asked.max_output_tokens / executions.len().max(1) as u64);
    let view = View { budget, keep_ansi: false, errors_apart: false };
    let mut readings = Vec::new();
    for execution in &executions {
        let conditions = Conditions::new(Some(&asked.until))?;
        readings.push(Reading::new(context.agent, execution, view, conditions));
    }
    follow_all(context, &mut readings, asked.any, deadline).await?;
    if let ([execution], 1) = (executions.as_slice(), readings.len())
        && let Some(reading) = readings.pop()
    {
        let notes = notes(context, &reading, asked, false).await;
        return report::outcome(context.agent, execution, reading, begin, notes);
    }
    Ok(several(context, asked, &executions, readings, begin).await)
}

/// The executions that the call names, each once.
async fn find_all(context: &Context<'_>, asked: &Wait) -> Result<Vec<Execution>, ToolError> {
    let mut all: Vec<Execution> = Vec::new();
    for wanted in &asked.session_ids {
        let execution = find(context.agent, wanted).await?;
        if all.iter().all(|known| known.id != execution.id) {
            all.push(execution);
        }
    }
    Ok(all)
}

/// Follows all of them until all are ready, or one is.
async fn follow_all(
    context: &Context<'_>,
    readings: &mut [Reading],
    any: bool,
    deadline: Instant,
) -> Result<(), ToolError> {
    let mut pending: FuturesUnordered<_> =
        readings.iter_mut().map(|reading| reading.follow(context, deadline)).collect();
    while let Some(followed) = pending.next().await {
        followed?;
        if any {
            break;
        }
    }
    Ok(())
}

/// The note for a command that the call waited for in vain.
fn time_note(reading: &Reading, asked: &Wait) -> Option<String> {
    let is_over = reading.met.is_none() && !reading.has_ended() && !asked.any;
    is_over.then(|| format!("still running after {} ms; call wait again to wait longer", asked.wait_ms()))
}

/// What a result says about a command that the call waited for in vain.
async fn notes(context: &Context<'_>, reading: &Reading, asked: &Wait, is_other_ready: bool) -> Vec<String> {
    let mut notes: Vec<String> = time_note(reading, asked).into_iter().collect();
    let is_in_vain = matches!(reading.met, None | Some(Met::Exit)) && !is_other_ready;
    if let Some(pattern) = asked.until.pattern.as_deref().filter(|_| is_in_vain) {
        notes.extend(earlier::note(context, reading.id, pattern, reading.shown).await);
    }
    notes
}

/// The results of several executions in one text.
async fn several(
    context: &Context<'_>,
    asked: &Wait,
    executions: &[Execution],
    readings: Vec<Reading>,
    begin: Instant,
) -> Outcome {
    let agent = context.agent;
    let (mut parts, mut results) = (Vec::new(), Vec::new());
    let ready = readings.iter().filter(|reading| reading.met.is_some()).count();
    parts.push(format!("{ready} of {} are ready", readings.len()));
    for (execution, reading) in executions.iter().zip(readings) {
        let is_ready = reading.met.is_some();
        let notes = notes(context, &reading, asked, asked.any && ready > 0).await;
        let part = match report::result(agent, reading, begin, notes) {
            Ok(result) => {
                if result.session_id.is_some() {
                    endings::watch(agent, execution);
                }
                let text = result.to_string();
                let mut value = report::structured(&result, &text).unwrap_or_default();
                if let Value::Object(fields) = &mut value {
                    fields.insert("execution_id".to_owned(), json!(execution.id));
                    fields.insert("ready".to_owned(), json!(is_ready));
                }
                results.push(value);
                text
            }
            Err(error) => error.to_string(),
        };
        parts.push(format!("Session ID {}\n{part}", label(execution)));
    }
    let text = parts.join("\n\n");
    Outcome {
        structured: Some(json!({"results": results, "output": text})),
        text,
        executions: executions.iter().map(|execution| execution.id).collect(),
        ..Outcome::default()
    }
}
