//! `read_output`: reads the log of a command again, from any position. It changes nothing.

use headwater_contract::FollowOptions;
use headwater_protocol::{Execution, ExecutionState, Seq, Stream};
use serde_json::json;

use super::Context;
use super::find::{find, number_of};
use super::matcher::compile;
use super::read_page::{Filled, Page, PageOptions, Place};
use super::report::{exit_code, with_notes};
use super::room::has_children;
use crate::agent::Agent;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::{OutputStream, ReadOutput};

/// The smallest page: it has room for a character and some text.
const MIN_BYTES: u64 = 64;
/// The largest page.
const MAX_BYTES: u64 = 1 << 20;

/// Calls `read_output`.
pub(super) async fn read_output(context: &Context<'_>, asked: &ReadOutput) -> Result<Outcome, ToolError> {
    let agent = context.agent;
    let pattern = asked.grep.as_deref().map(|pattern| compile("grep", pattern)).transpose()?;
    let execution = find(agent, &asked.session_id).await?;
    if asked.after_seq > execution.last_seq.0 {
        let message = format!("after_seq {} is past the end of the output", asked.after_seq);
        let last = execution.last_seq;
        return Err(ToolError::new(message).hint(format!("The last position is {last}; 0 is the beginning")));
    }
    let max = asked.max_bytes.clamp(MIN_BYTES, MAX_BYTES);
    let options = PageOptions {
        max_bytes: usize::try_from(max).unwrap_or(usize::MAX),
        pattern,
        keep_ansi: asked.ansi,
        secrets: agent.secrets().clone(),
    };
    let place = Place { after: Seq(asked.after_seq), skip: asked.skip_bytes };
    let filled = fill(agent, &execution, asked.stream, Page::new(place, options)).await?;
    Ok(outcome(&execution, &filled))
}

/// Fills a page with what the log has now.
async fn fill(
    agent: &Agent,
    execution: &Execution,
    stream: Option<OutputStream>,
    mut page: Page,
) -> Result<Filled, ToolError> {
    let id = execution.id;
    let options = FollowOptions {
        after: page.after(),
        until_closed: true,
        no_wait: true,
        streams: streams(execution, stream),
        ..FollowOptions::default()
    };
    let mut follower = agent.host().streams().retry(|client| client.follow(id, options.clone())).await?;
    while let Some(event) = follower.next().await? {
        if !page.take(&event) {
            break;
        }
    }
    Ok(page.finish(matches!(execution.state, ExecutionState::Closed { .. })))
}

/// The streams to read. Merged output counts as standard output.
fn streams(execution: &Execution, asked: Option<OutputStream>) -> Vec<Stream> {
    let is_merged = execution.spec.merge_output || execution.spec.tty.is_some();
    match asked {
        None => Vec::new(),
        Some(OutputStream::Stdout) if is_merged => vec![Stream::Output],
        Some(OutputStream::Stdout) => vec![Stream::Stdout],
        Some(OutputStream::Stderr) => vec![Stream::Stderr],
    }
}

fn outcome(execution: &Execution, filled: &Filled) -> Outcome {
    let number = number_of(execution.id);
    let verdict = execution.state.verdict();
    let mut notes = Vec::new();
    if filled.missing_bytes > 0 {
        notes.push(format!("{} bytes are no longer kept: the log reached its limit", filled.missing_bytes));
    }
    if let Some((matching, all)) = filled.lines {
        notes.push(format!("{matching} of {all} lines match"));
    }
    let skip =
        if filled.next.skip > 0 { format!(", skip_bytes {}", filled.next.skip) } else { String::new() };
    let next = format!("session_id {number}, after_seq {}{skip}", filled.next.after);
    notes.push(match verdict {
        _ if filled.is_full => format!("more follows: read_output with {next}"),
        Some(verdict) if has_children(execution) => format!(
            "end so far; exited with code {}, its children still run: later read_output with {next}",
            exit_code(verdict)
        ),
        Some(verdict) => format!("end of the output; exited with code {}", exit_code(verdict)),
        None => format!("end so far, the command still runs; later: read_output with {next}"),
    });
    let text = with_notes(filled.text.clone(), &notes);
    let structured = json!({
        "session_id": number, "execution_id": execution.id, "after_seq": filled.next.after,
        "skip_bytes": filled.next.skip, "more": filled.is_full, "running": verdict.is_none(),
        "exit_code": verdict.map(exit_code), "output": text,
    });
    Outcome { text, structured: Some(structured), executions: vec![execution.id], ..Outcome::default() }
}
