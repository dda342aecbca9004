//! Results as models know them.

use headwater_protocol::{Execution, ExecutionId, ExitDetail, Reason, Verdict};
use serde_json::Value;
use tokio::time::Instant;

use super::endings;
use super::find::number_of;
use super::reading::{Found, Reading};
use super::room::MAX_LIVE;
use crate::agent::Agent;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::ExecResult;

/// The exit code of a command whose end nobody saw.
const UNKNOWN_CODE: i32 = -1;

/// The exit code as shells report it.
pub(super) fn exit_code(verdict: &Verdict) -> i32 {
    verdict.exit_status().unwrap_or(UNKNOWN_CODE)
}

/// How a command ended, if the exit code alone does not say it.
pub(super) fn end_note(verdict: &Verdict) -> Option<String> {
    let known = match (verdict.reason, verdict.signal) {
        (Reason::Exited, _) => None,
        (Reason::Signalled, Some(signal)) => Some(format!("ended by signal {signal}")),
        (Reason::Cancelled, _) => Some("the command was ended".to_owned()),
        (Reason::Lost, _) => {
            Some("the end of the command was not observed; its exit code is unknown".to_owned())
        }
        (reason, _) => Some(format!("ended: {}", reason.name())),
    };
    match (known, &verdict.message) {
        (Some(_), Some(message)) if verdict.reason == Reason::TimedOut => Some(message.clone()),
        (Some(known), Some(message)) => Some(format!("{known}: {message}")),
        (known, message) => known.or_else(|| message.clone()),
    }
}

/// What is still to be said about a command that has exited: what its children do, and why it was ended.
fn exit_notes(agent: &Agent, id: ExecutionId, has_children: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if has_children {
        let number = number_of(id);
        notes.push(format!(
            "its children still run and can print: wait or read_output with session_id {number} follow them, kill ends them"
        ));
    }
    if agent.memory().was_let_go(id) {
        notes.push(format!("it was ended to make room: the limit is {MAX_LIVE} live commands"));
    }
    notes
}

/// The error of a command that could not be started.
pub(super) fn start_error(verdict: &Verdict) -> Option<ToolError> {
    if verdict.reason != Reason::SetupFailed {
        return None;
    }
    let message = verdict.message.clone().unwrap_or_else(|| "the command could not be started".to_owned());
    let error = ToolError::new(message);
    Some(match &verdict.detail {
        Some(ExitDetail::BadWorkingDirectory { .. }) => error.hint(
            "Set workdir to a directory that exists, absolute or relative to the workspace, or leave it out; \
             list_dir shows what exists",
        ),
        Some(ExitDetail::CommandNotFound { .. } | ExitDetail::InterpreterNotFound { .. }) => {
            error.hint("Check the name of the program, or install it first")
        }
        Some(ExitDetail::ArgumentsTooLong) => error.hint("Write the long part to a file with write_file"),
        Some(ExitDetail::NoResources) => error.hint("End commands that you no longer need with kill"),
        _ => error,
    })
}

/// Appends notes, each in brackets on its own line.
pub(super) fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push('[');
        text.push_str(note);
        text.push(']');
    }
    text
}

/// Identifies one result, for people who compare transcripts.
fn chunk_id() -> String {
    format!("{:06x}", ExecutionId::random().bits() & 0xff_ffff)
}

/// A reading as a result, with these notes. Fails if the command could not be started.
pub(super) fn result(
    agent: &Agent,
    reading: Reading,
    begin: Instant,
    mut notes: Vec<String>,
) -> Result<ExecResult, ToolError> {
    let (id, number) = (reading.id, number_of(reading.id));
    let (verdict, met) = (reading.verdict.clone(), reading.met.clone());
    let has_children = reading.has_children();
    let found = reading.finish(agent);
    if let Some(error) = verdict.as_ref().and_then(start_error) {
        return Err(error);
    }
    let mut own = notes_of(&found, number);
    own.extend(met.and_then(|met| met.note(agent.secrets())));
    match &verdict {
        Some(verdict) => {
            own.extend(end_note(verdict));
            own.extend(exit_notes(agent, id, has_children));
            if found.is_repeated {
                let again = format!("read_output with session_id {number} reads all of its output again");
                own.push(format!("no new output; {again}"));
            }
        }
        None => own.extend(agent.host().live_page(id).map(|page| format!("live: {page}"))),
    }
    own.append(&mut notes);
    let text = found.output.text_with(&format!("session_id {number}, "));
    Ok(ExecResult {
        chunk_id: Some(chunk_id()),
        wall_time_seconds: begin.elapsed().as_secs_f64(),
        exit_code: verdict.as_ref().map(exit_code),
        session_id: verdict.is_none().then_some(number),
        original_token_count: Some(found.output.total.tokens()),
        output: with_notes(text, &own),
    })
}

/// What is to be said about the output itself.
pub(super) fn notes_of(found: &Found, number: u64) -> Vec<String> {
    let missing = (found.missing_bytes > 0).then(|| {
        format!(
            "{} bytes of session {number} are no longer kept: the log reached its limit",
            found.missing_bytes
        )
    });
    missing.into_iter().collect()
}

/// The outcome of a call about one execution: the text that models know, and the same as JSON. If the command
/// still runs, its end will be reported.
pub(super) fn outcome(
    agent: &Agent,
    execution: &Execution,
    reading: Reading,
    begin: Instant,
    notes: Vec<String>,
) -> Result<Outcome, ToolError> {
    let result = &result(agent, reading, begin, notes)?;
    if result.session_id.is_some() {
        endings::watch(agent, execution);
    }
    let text = result.to_string();
    Ok(Outcome {
        // Some clients show only the structured part, so its output is the whole text.
        structured: structured(result, &text),
        text,
        executions: vec![execution.id],
        ..Outcome::default()
    })
}

/// A result as JSON, with the text for the model as its output.
pub(super) fn structured(result: &ExecResult, text: &str) -> Option<Value> {
    let mut value = serde_json::to_value(result).ok()?;
    if let Some(output) = value.get_mut("output") {
        *output = Value::String(text.to_owned());
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_the_exit_code_does_not_explain_is_explained() {
        let of = |reason, message: Option<&str>| {
            let verdict = Verdict { message: message.map(str::to_owned), ..Verdict::new(reason) };
            (exit_code(&verdict), end_note(&verdict))
        };
        let exited = Verdict { code: Some(3), ..Verdict::new(Reason::Exited) };
        assert_eq!((exit_code(&exited), end_note(&exited)), (3, None));
        let killed = Verdict { signal: Some(9), ..Verdict::new(Reason::Signalled) };
        assert_eq!((exit_code(&killed), end_note(&killed)), (137, Some("ended by signal 9".to_owned())));
        let (code, note) = of(Reason::TimedOut, Some("timed out after 1 s"));
        assert_eq!((code, note.as_deref()), (UNKNOWN_CODE, Some("timed out after 1 s")));
        assert!(of(Reason::Lost, None).1.unwrap().contains("not observed"));
    }

    #[test]
    fn notes_are_in_brackets_on_their_own_lines() {
        let notes = ["one".to_owned(), "two".to_owned()];
        assert_eq!(with_notes(String::new(), &notes), "[one]\n[two]");
        assert_eq!(with_notes("text".into(), &notes), "text\n[one]\n[two]");
        assert_eq!(with_notes("text\n".into(), &[]), "text\n");
    }
}
