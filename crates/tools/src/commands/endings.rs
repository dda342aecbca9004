//! Reports the end of commands that ran on after a call, without polling by the agent.

use std::time::Duration;

use headwater_protocol::{Execution, ExecutionId};
use serde_json::Value;

use super::find::{number_of, shown};
use super::report::{exit_code, with_notes};
use crate::agent::Agent;
use crate::outcome::Outcome;

/// How long one call waits for an end. After it the task checks whether the agent still exists.
const WAIT: Duration = Duration::from_mins(1);

/// The end of a command that ran on after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The execution.
    pub execution: ExecutionId,
    /// Its session ID.
    pub session_id: u64,
    /// Its command, shortened.
    pub command: String,
    /// Its exit code; -1 if nobody saw the end.
    pub exit_code: i32,
}

impl Ending {
    fn note(&self) -> String {
        let Self { session_id, command, exit_code, .. } = self;
        format!(
            "meanwhile session {session_id} (`{command}`) has exited with code {exit_code}; write_stdin with \
             this session_id returns its output"
        )
    }
}

/// Awaits the end of a command that runs on.
pub(crate) fn watch(agent: &Agent, execution: &Execution) {
    let id = execution.id;
    if !agent.memory().begin_watching(id) {
        return;
    }
    let (weak, client) = (agent.downgrade(), agent.host().streams().clone());
    let command = shown(&execution.spec.command);
    tokio::spawn(async move {
        loop {
            let found = client.retry(|client| client.wait(id, WAIT, false)).await;
            let Some(agent) = weak.upgrade() else { return };
            let verdict = match &found {
                Ok(execution) => execution.state.verdict(),
                Err(_) => return agent.memory().end_watching(id, None),
            };
            if let Some(verdict) = verdict {
                let (session_id, exit_code) = (number_of(id), exit_code(verdict));
                let ending = Ending { execution: id, session_id, command, exit_code };
                return agent.memory().end_watching(id, Some(ending));
            }
        }
    });
}

/// Adds the ends that no result has reported to this one.
pub(crate) fn add_endings(agent: &Agent, outcome: &mut Outcome) {
    let endings = agent.memory().take_endings();
    let others = endings.iter().filter(|ending| !outcome.executions.contains(&ending.execution));
    let notes: Vec<String> = others.map(Ending::note).collect();
    if notes.is_empty() {
        return;
    }
    outcome.text = with_notes(std::mem::take(&mut outcome.text), &notes);
    if let Some(Value::String(output)) = outcome.structured.as_mut().and_then(|value| value.get_mut("output"))
    {
        output.clone_from(&outcome.text);
    }
}
