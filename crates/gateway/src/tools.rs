//! Tools for agents, in sessions of this server: the host that they run on, the agents that call them, and the
//! history of their calls.

mod agents;
mod history;
mod host;
pub(crate) mod rules;
mod shorten;

use std::sync::Arc;

use headwater_protocol::Session;
use headwater_store::Store;
use headwater_tools::policy::SharedPolicy;
use headwater_tools::{Agent, AgentInfo};

use self::agents::Agents;
pub(crate) use self::agents::Caller;
pub(crate) use self::history::{History, Recording};
use self::host::ToolHost;
pub(crate) use self::host::tool_error;
use self::rules::SessionKeeper;
use crate::audit::Audit;
use crate::auth::Identity;
use crate::executions::start::Starts;
use crate::worker::Worker;

/// The tools that work on files. Tokens need a scope of files for them, and of executions for all others.
pub(crate) const FILE_TOOLS: [&str; 7] =
    ["apply_patch", "edit_file", "write_file", "read_file", "list_dir", "grep_files", "view_image"];

/// What calls of tools share.
#[derive(Debug)]
pub(crate) struct Tools {
    worker: Arc<Worker>,
    starts: Arc<Starts>,
    store: Arc<dyn Store>,
    audit: Arc<Audit>,
    agents: Agents,
    pub(crate) history: Arc<History>,
}

impl Tools {
    /// Tools that start programs with `starts` and record their calls in `history`. Rules are kept in `store`.
    pub(crate) fn new(
        worker: Arc<Worker>,
        starts: Arc<Starts>,
        (store, audit): (Arc<dyn Store>, Arc<Audit>),
        history: History,
    ) -> Self {
        Self { worker, starts, store, audit, agents: Agents::default(), history: Arc::new(history) }
    }

    /// The agent of a caller in a session. `origin` is the address by which the caller knows this server.
    pub(crate) fn agent(&self, who: &Identity, origin: &str, session: Session, caller: &Caller) -> Agent {
        self.agents.get((who, origin), session.id, caller, |info| {
            let (worker, starts) = (Arc::clone(&self.worker), Arc::clone(&self.starts));
            let host = Arc::new(ToolHost::new(worker, starts, who.clone(), origin));
            let (store, audit) = (Arc::clone(&self.store), Arc::clone(&self.audit));
            let keeper = SessionKeeper::new(store, audit, session.id, who.clone());
            let policy = SharedPolicy::kept_by(caller.approvals, Arc::new(keeper));
            let info = AgentInfo { policy, ..info };
            (Agent::new(Arc::clone(&host) as _, session, info), host)
        })
    }
}

#[cfg(test)]
mod tests {
    use headwater_tools::schema::TOOLS;

    use super::*;

    #[test]
    fn every_tool_belongs_to_files_or_to_executions() {
        let commands = [
            "exec_command",
            "write_stdin",
            "shell",
            "shell_command",
            "run_code",
            "wait",
            "read_output",
            "list_executions",
            "kill",
            "resize",
        ];
        let known = TOOLS.iter().all(|tool| commands.contains(&tool.name) != FILE_TOOLS.contains(&tool.name));
        assert!(known && TOOLS.len() == commands.len() + FILE_TOOLS.len());
    }
}
