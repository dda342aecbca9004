//! Finds executions by what a model calls them.

use headwater_contract::{ContractError, FaultKind};
use headwater_protocol::{CONVERSATION_METADATA, Command, Execution, ExecutionId};

use super::spec::AGENT_METADATA;
use crate::agent::Agent;
use crate::error::ToolError;
use crate::schema::ExecutionRef;

/// The smallest session ID: clients expect at least four digits.
const MIN_NUMBER: u64 = 1000;
/// A session ID has 31 bits: it fits the integers of every client.
const NUMBER_BITS: u128 = (1 << 31) - 1;
/// How much of a command is shown in lists and errors, in bytes.
const SHOWN_BYTES: usize = 80;
/// The running commands that an error lists.
const MAX_LISTED: usize = 8;

/// The session ID of an execution: a number that only depends on the id, so that it needs no table and survives
/// restarts.
pub fn number_of(id: ExecutionId) -> u64 {
    let number = u64::try_from(id.bits() & NUMBER_BITS).unwrap_or(0);
    if number < MIN_NUMBER { number + MIN_NUMBER } else { number }
}

/// The execution of the agent's session that a call names.
pub(super) async fn find(agent: &Agent, wanted: &ExecutionRef) -> Result<Execution, ToolError> {
    let id = match wanted {
        ExecutionRef::Id(id) => id.parse().ok(),
        ExecutionRef::Number(number) => match agent.memory().by_number(*number) {
            Some(id) => Some(id),
            None => by_number(agent, *number).await?,
        },
    };
    let Some(id) = id else { return Err(unknown(agent, wanted).await) };
    match agent.host().calls().retry(|client| client.execution(id)).await {
        // One of another session does not exist for this agent.
        Ok(execution) if is_of(agent, &execution).await? => Ok(execution),
        Err(ContractError::Fault(fault)) if fault.kind == FaultKind::Gone => Err(fault.into()),
        Err(error) if error.is_disconnected() => Err(error.into()),
        _ => Err(unknown(agent, wanted).await),
    }
}

async fn by_number(agent: &Agent, number: u64) -> Result<Option<ExecutionId>, ToolError> {
    let all = of_session(agent).await?;
    // If two have the same number, which is unlikely, the agent means the one that it started, and the newest.
    let found = all.iter().filter(|execution| number_of(execution.id) == number);
    let best = found.max_by_key(|execution| (is_own(agent, execution), execution.started_at_ms));
    Ok(best.map(|execution| execution.id))
}

/// Whether an execution runs in the agent's session, or in one of those for its commands with more rights.
async fn is_of(agent: &Agent, execution: &Execution) -> Result<bool, ToolError> {
    let id = agent.session();
    Ok(execution.session_id == id || agent.host().other_sessions(id).await?.contains(&execution.session_id))
}

/// All executions of the agent's session, and of those for its commands with more rights.
pub(super) async fn of_session(agent: &Agent) -> Result<Vec<Execution>, ToolError> {
    let mut all = Vec::new();
    let mut sessions = agent.host().other_sessions(agent.session()).await?;
    sessions.push(agent.session());
    for session in sessions {
        all.extend(agent.host().calls().retry(|client| client.executions_in_brief(session)).await?);
    }
    Ok(all)
}

/// Whether the agent started it, in this conversation.
pub(super) fn is_own(agent: &Agent, execution: &Execution) -> bool {
    let metadata = &execution.spec.metadata;
    let info = agent.info();
    metadata.get(AGENT_METADATA) == Some(&info.name)
        && metadata.get(CONVERSATION_METADATA) == info.metadata.get(CONVERSATION_METADATA)
}

async fn unknown(agent: &Agent, wanted: &ExecutionRef) -> ToolError {
    let all = of_session(agent).await.unwrap_or_default();
    let mut running: Vec<_> = all
        .iter()
        .filter(|execution| is_own(agent, execution) && execution.state.verdict().is_none())
        .collect();
    running.sort_by_key(|execution| std::cmp::Reverse(execution.started_at_ms));
    let listed: Vec<_> = running.iter().take(MAX_LISTED).map(|execution| label(execution)).collect();
    let hint = if listed.is_empty() {
        "None of your commands is running. list_executions lists those that have ended; exec_command starts one"
            .to_owned()
    } else {
        format!("Running: {}. list_executions lists all of them", listed.join(", "))
    };
    ToolError::new(format!("Unknown session ID {wanted}")).hint(hint)
}

/// The number and the command, for a sentence.
pub(super) fn label(execution: &Execution) -> String {
    format!("{} (`{}`)", number_of(execution.id), shown(&execution.spec.command))
}

/// The first line of a command, shortened.
pub(super) fn shown(command: &Command) -> String {
    let text = match command {
        // A shell that runs a script: the script is what the agent asked for.
        Command::Argv(argv) => match argv.as_slice() {
            [_, flag, script] if matches!(flag.as_str(), "-c" | "-lc") => script.clone(),
            _ => argv.join(" "),
        },
        Command::Shell(script) => script.clone(),
        Command::Code { language, code, .. } => format!("{language}: {code}"),
    };
    let line = text.trim().lines().next().unwrap_or_default();
    let short = line.get(..line.floor_char_boundary(SHOWN_BYTES)).unwrap_or_default();
    let is_whole = short.len() == text.trim().len();
    let clean: String = short.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect();
    if is_whole { clean } else { format!("{clean} …") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_has_four_to_ten_digits_and_depends_only_on_the_id() {
        let small: ExecutionId = format!("exe_{:032x}", 7).parse().unwrap();
        assert_eq!(number_of(small), 1007);
        for _ in 0..1000 {
            let id = ExecutionId::random();
            let number = number_of(id);
            assert!((1000..1 << 31).contains(&number) && number == number_of(id), "{number}");
        }
    }

    #[test]
    fn a_command_is_shown_by_its_first_line() {
        let script = |text: &str| Command::Argv(vec!["bash".into(), "-lc".into(), text.into()]);
        assert_eq!(shown(&script("make -j8")), "make -j8");
        assert_eq!(shown(&script("\n  cd x\nmake")), "cd x …");
        assert_eq!(shown(&Command::Argv(vec!["ls".into(), "-l".into()])), "ls -l");
        let long = shown(&script(&"é".repeat(100)));
        assert_eq!(long, format!("{} …", "é".repeat(40)));
    }
}
