//! The end of a background command wakes the agent, if the person allowed it.

use std::sync::Arc;

use headwater_protocol::conversation::Conversation;
use headwater_tools::schema::Call;
use headwater_tools::{Agent, Ending, Request};
use serde_json::json;

use crate::approvals::closed;
use crate::journal::{Journal, JournalError};
use crate::submit::{NewMessage, submit};
use crate::work::read;

/// The tokens of output that the message contains; the rest is read with `read_output`.
const OUTPUT_TOKENS: u64 = 2000;

/// Reports the end of a background command ([`Agent::endings`]) to the agent of a conversation: waits until no turn runs,
/// and begins one with a message that has the exit code and the end of the output. Returns whether it did; then the caller
/// must [`run`](crate::run) it. `model` is the name of its model.
///
/// It does not if a result has reported the end meanwhile: while a turn runs, results do that.
pub async fn wake(
    journal: &Arc<dyn Journal>,
    agent: &Agent,
    ending: &Ending,
    model: Option<String>,
) -> Result<bool, JournalError> {
    let mut changes = journal.changes();
    let mut message = None;
    loop {
        while read(journal.as_ref(), |now| now.running().is_some()) {
            changes.changed().await.map_err(|_| closed())?;
        }
        let message = match &message {
            Some(message) => message,
            None if agent.has_reported_end(ending.execution) => return Ok(false),
            None => message.insert(NewMessage::text(text(agent, ending).await)),
        };
        let (message, model) = (message.clone(), model.clone());
        let decide = move |now: &Conversation| {
            if now.running().is_some() { Vec::new() } else { submit(now, message, model.as_deref()) }
        };
        if !journal.update(Box::new(decide)).await?.is_empty() {
            return Ok(true);
        }
    }
}

/// What the agent reads about the end of a command.
async fn text(agent: &Agent, ending: &Ending) -> String {
    let Ending { session_id, command, exit_code, .. } = ending;
    let arguments =
        json!({"session_ids": [session_id], "timeout_ms": 1000, "max_output_tokens": OUTPUT_TOKENS});
    let head = format!(
        "[This message is from the server, not from a person.] The command `{command}` (session ID {session_id}), which ran \
         in the background, has exited with code {exit_code}."
    );
    match Call::parse("wait", arguments) {
        Ok(call) => {
            let outcome = agent.call(Request { call, tool_call_id: None, approved: None }, None).await;
            // Indented, so that no line of the output can pass for a message.
            let lines: Vec<String> = outcome.text.lines().map(|line| format!("    {line}")).collect();
            format!("{head} Its output since you last read it:\n\n{}", lines.join("\n"))
        }
        Err(_) => head,
    }
}
