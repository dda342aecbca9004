//! Terminals of a session: executions of a login shell on a dedicated terminal, found by name. Exactly one
//! runs for each name, even if two clients request it at once or this process is killed while it creates one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{ContractError, SizeChange};
use headwater_protocol::{
    Command, Execution, ExecutionId, ExecutionState, Seq, SessionId, StartSpec, Stdin, TtySize,
};
use sha2::{Digest, Sha256};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::executions::start::ExecutionSpec;
use crate::http::idempotency::RequestKey;
use crate::state::Gateway;

/// The metadata key that marks an execution as a terminal. Its value is the terminal's name.
pub(crate) const TERMINAL: &str = "headwater.terminal";
/// The metadata key of executions that an editor started: viewers of the session's terminals get their output.
pub(crate) const EDITOR: &str = "headwater.editor";
/// The name of the default terminal.
pub(crate) const MAIN: &str = "main";
/// The maximum length of a name, in characters.
const MAX_NAME: usize = 64;
/// SIGHUP: shells pass it on to their children and exit.
const HANGUP: i32 = 1;
/// How long a deletion waits for the terminal to end before it returns.
const ENDING: Duration = Duration::from_secs(10);

/// The terminal to create if none of this name runs.
#[derive(Debug, Clone)]
pub(crate) struct TerminalSpec {
    pub(crate) name: String,
    pub(crate) size: TtySize,
    /// A shell command to run instead of a login shell.
    pub(crate) command: Option<String>,
}

/// A terminal, and whether this request created it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) execution: Execution,
    pub(crate) is_new: bool,
}

/// Refuses names that are not valid for a terminal.
pub(crate) fn check_name(name: &str) -> Result<(), ApiError> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_valid) {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME).collect();
    let error = ApiError::invalid(format!("`{shown}` is not a valid name for a terminal"));
    Err(error.hint("use 1 to 64 letters, digits, dots, underscores and hyphens"))
}

/// The name of the terminal, if the execution is a terminal.
pub(crate) fn name_of(execution: &Execution) -> Option<&str> {
    execution.spec.metadata.get(TERMINAL).map(String::as_str)
}

pub(crate) const fn is_running(execution: &Execution) -> bool {
    matches!(execution.state, ExecutionState::Running { .. })
}

impl Gateway {
    /// Returns the running terminal of this name, or creates it.
    pub(crate) async fn open_terminal(
        self: &Arc<Self>,
        who: &Identity,
        session: SessionId,
        terminal: TerminalSpec,
    ) -> Result<Opened, ApiError> {
        check_name(&terminal.name)?;
        self.auth.may_use_session(who, Need::Read, session).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        // Detached, so that a client that disconnects does not release the lock before the terminal is
        // created.
        self.background.detached(async move { gateway.find_or_create(&who, session, terminal).await }).await
    }

    async fn find_or_create(
        self: &Arc<Self>,
        who: &Identity,
        session: SessionId,
        terminal: TerminalSpec,
    ) -> Result<Opened, ApiError> {
        let _lock = self.terminal_locks.lock((session, terminal.name.clone())).await;
        let last = self.terminals(session).await?.remove(&terminal.name);
        let before = match last {
            Some(execution) if is_running(&execution) => return Ok(Opened { execution, is_new: false }),
            last => last.map(|execution| execution.id),
        };
        let execution = self.create_terminal(who, session, &terminal, before).await?;
        if execution.state.verdict().is_none() {
            return Ok(Opened { execution, is_new: true });
        }
        // The key belongs to a terminal that has ended and that the worker no longer lists.
        let execution = self.create_terminal(who, session, &terminal, Some(ExecutionId::random())).await?;
        Ok(Opened { execution, is_new: true })
    }

    /// Starts a terminal under an idempotency key that contains the id of the previous one, so that
    /// concurrent requests, even to different gateway processes, get the same terminal.
    async fn create_terminal(
        self: &Arc<Self>,
        who: &Identity,
        session: SessionId,
        terminal: &TerminalSpec,
        before: Option<ExecutionId>,
    ) -> Result<Execution, ApiError> {
        // Contains spaces: a key from a client cannot.
        let after = before.map_or_else(|| "none".to_owned(), |id| id.to_string());
        let key = format!("terminal {session} {} {after}", terminal.name);
        let request_key = RequestKey { hash: Sha256::digest(&key).into(), key: Some(key) };
        let execution = ExecutionSpec { session: Some(session), spec: spec(terminal), request_key };
        self.starts.start(who, execution).await
    }

    /// The newest terminal of each name that the worker knows.
    pub(crate) async fn terminals(
        &self,
        session: SessionId,
    ) -> Result<BTreeMap<String, Execution>, ContractError> {
        let mut all = self.worker.executions(Some(session), false).await?;
        // A running terminal wins over an ended one, whatever their start times are.
        all.sort_by_key(|one| (is_running(one), one.started_at_ms));
        let named = all.into_iter().filter_map(|one| Some((name_of(&one)?.to_owned(), one)));
        Ok(named.collect())
    }

    /// The terminal of this name, running or not.
    pub(crate) async fn terminal(&self, session: SessionId, name: &str) -> Result<Execution, ApiError> {
        let found = self.terminals(session).await?.remove(name);
        found.ok_or_else(|| {
            let hint = format!("`GET /v1/sessions/{session}/terminals` lists the terminals");
            ApiError::not_found("terminal", name).hint(hint)
        })
    }

    /// The changes of a terminal's size. If the worker does not know them, its initial size.
    pub(crate) async fn sizes(&self, execution: &Execution) -> Result<Vec<SizeChange>, ContractError> {
        let id = execution.id;
        match self.worker.sizes(id).await {
            Ok(sizes) if !sizes.is_empty() => Ok(sizes),
            Err(error) if error.is_disconnected() => Err(error),
            Ok(_) | Err(_) => {
                let size = execution.spec.tty.unwrap_or_default();
                Ok(vec![SizeChange { at_ms: 0, after: Seq(0), size }])
            }
        }
    }

    /// The current size of a terminal, or its last one.
    pub(crate) async fn terminal_size(&self, execution: &Execution) -> Result<TtySize, ContractError> {
        let sizes = self.sizes(execution).await?;
        Ok(sizes.last().map_or_else(|| execution.spec.tty.unwrap_or_default(), |change| change.size))
    }

    /// Ends a terminal: sends SIGHUP, then cancels what still runs.
    pub(crate) async fn end_terminal(
        self: &Arc<Self>,
        who: &Identity,
        session: SessionId,
        name: &str,
    ) -> Result<(), ApiError> {
        self.auth.may_use_session(who, Need::Write, session).await?;
        let execution = self.terminal(session, name).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background
            .detached(async move {
                gateway.hang_up(execution.id).await?;
                gateway.audit.record(&who, "terminal.delete", execution.id.to_string(), String::new());
                Ok(())
            })
            .await
    }

    async fn hang_up(&self, id: ExecutionId) -> Result<(), ContractError> {
        // An error is fine here: the terminal may have ended already.
        let _ = self.worker.once().signal(id, HANGUP, true).await;
        self.worker.cancel(id, None).await?;
        self.worker.wait(id, ENDING, false).await?;
        Ok(())
    }
}

/// The execution of a terminal: a login shell, or the requested command.
fn spec(terminal: &TerminalSpec) -> StartSpec {
    let command = match &terminal.command {
        Some(line) => Command::Shell(line.clone()),
        None => Command::Argv(vec!["/bin/bash".into(), "-l".into()]),
    };
    let mut spec = StartSpec::new(command);
    spec.tty = Some(terminal.size);
    spec.stdin = Stdin::Open;
    spec.metadata.insert(TERMINAL.to_owned(), terminal.name.clone());
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for good in ["main", "a", "build-2", "x.y_z", &"n".repeat(64)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", "a\n", "..\u{0}", &"n".repeat(65)] {
            assert_eq!(check_name(bad).map_err(|error| error.status.as_u16()), Err(400), "{bad:?}");
        }
    }
}
