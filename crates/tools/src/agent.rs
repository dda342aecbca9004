//! An agent: calls tools in one session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use headwater_protocol::{Execution, ExecutionId, Session, SessionId};
use tokio::sync::{broadcast, watch};

use crate::commands::{self, Ending, Memory};
use crate::error::ToolError;
use crate::files::{self, Files};
use crate::host::Host;
use crate::outcome::{Outcome, Progress};
use crate::output::Secrets;
use crate::policy::SharedPolicy;
use crate::schema::Call;
use crate::secrets::secrets_of;

/// An agent and the session that it works in. Cheap to clone; clones share what the agent has read.
#[derive(Debug, Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

/// An agent that is gone when all its clones are.
#[derive(Debug, Clone)]
pub(crate) struct WeakAgent(Weak<Inner>);

/// Who calls.
#[derive(Debug, Clone, Default)]
pub struct AgentInfo {
    /// The name of the agent or its client, for example `claude-code`.
    pub name: String,
    /// Metadata for everything that the agent starts, for example the conversation.
    pub metadata: BTreeMap<String, String>,
    /// Which commands need a person's consent.
    pub policy: SharedPolicy,
}

struct Inner {
    host: Arc<dyn Host>,
    session: Session,
    info: AgentInfo,
    secrets: Arc<Secrets>,
    memory: Memory,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("session", &self.session.id)
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// One call of a tool.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tool and its arguments.
    pub call: Call,
    /// The id that the caller gave the call.
    pub tool_call_id: Option<String>,
    /// The fingerprint of the command that a person has allowed for this call, and for no other.
    pub approved: Option<String>,
}

impl Agent {
    /// An agent in this session.
    pub fn new(host: Arc<dyn Host>, session: Session, info: AgentInfo) -> Self {
        let secrets = secrets_of(&session);
        Self { inner: Arc::new(Inner { host, session, info, secrets, memory: Memory::default() }) }
    }

    /// Which of its commands need a person's consent.
    pub fn policy(&self) -> &SharedPolicy {
        &self.inner.info.policy
    }

    /// The session that it works in.
    pub fn session(&self) -> SessionId {
        self.inner.session.id
    }

    /// Where its tools run.
    pub fn host(&self) -> &dyn Host {
        self.inner.host.as_ref()
    }

    /// Calls a tool. If the future is dropped, the waiting ends; the program ends only if the call asked for it
    /// (`on_disconnect`). While it waits, `live` gets the newest output.
    pub async fn call(&self, request: Request, live: Option<watch::Sender<Progress>>) -> Outcome {
        let result = if is_command(&request.call) {
            commands::call(self, &request, live).await
        } else {
            self.call_files(&request.call).await
        };
        let mut outcome = result.unwrap_or_else(Outcome::from);
        commands::add_endings(self, &mut outcome);
        outcome
    }

    /// The result of a call whose program was started before, for example by a server that was restarted since: the program
    /// is awaited, and not started again.
    pub async fn resume(
        &self,
        request: Request,
        execution: ExecutionId,
        live: Option<watch::Sender<Progress>>,
    ) -> Outcome {
        let result = commands::resume(self, &request, execution, live).await;
        let mut outcome = result.unwrap_or_else(Outcome::from);
        commands::add_endings(self, &mut outcome);
        outcome
    }

    /// Calls a tool for files.
    pub(crate) async fn call_files(&self, call: &Call) -> Result<Outcome, ToolError> {
        let files = Files::new(self.host(), self.session());
        let unknown = || Err(ToolError::new(format!("{} is not a tool for files", call.name())));
        let outcome = files::call(&files, call).await.unwrap_or_else(unknown)?;
        Ok(Outcome { text: self.secrets().mask(&outcome.text), ..outcome })
    }

    /// Commands that end after a call has returned: each is sent once. The next result says it too.
    pub fn endings(&self) -> broadcast::Receiver<Ending> {
        self.inner.memory.endings()
    }

    /// Awaits the end of a command that runs on after its call, for [`endings`](Self::endings): one that a server that was
    /// restarted since has started.
    pub fn await_end(&self, execution: &Execution) {
        commands::await_end(self, execution);
    }

    /// The host, for tasks that outlive a call.
    pub(crate) fn shared_host(&self) -> Arc<dyn Host> {
        Arc::clone(&self.inner.host)
    }

    /// Whether a result has reported the end of an execution.
    pub fn has_reported_end(&self, execution: ExecutionId) -> bool {
        self.inner.memory.knows_end(execution)
    }

    /// The path of the workspace, as programs see it.
    pub fn workspace(&self) -> String {
        commands::working_directory(self, None)
    }

    /// The session as it was when the agent began.
    pub fn session_info(&self) -> &Session {
        &self.inner.session
    }

    pub(crate) fn info(&self) -> &AgentInfo {
        &self.inner.info
    }

    /// The values that no text for a model may contain.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.inner.secrets
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    pub(crate) fn downgrade(&self) -> WeakAgent {
        WeakAgent(Arc::downgrade(&self.inner))
    }
}

impl WeakAgent {
    pub(crate) fn upgrade(&self) -> Option<Agent> {
        self.0.upgrade().map(|inner| Agent { inner })
    }
}

/// Whether a tool runs or follows commands. The others read and write files.
fn is_command(call: &Call) -> bool {
    match call {
        Call::ExecCommand(_)
        | Call::WriteStdin(_)
        | Call::Shell(_)
        | Call::ShellCommand(_)
        | Call::RunCode(_)
        | Call::CodeExecution(_)
        | Call::RunCommand(_)
        | Call::Wait(_)
        | Call::ReadOutput(_)
        | Call::ListExecutions(_)
        | Call::Kill(_)
        | Call::Resize(_) => true,
        Call::ApplyPatch(_)
        | Call::EditFile(_)
        | Call::WriteFile(_)
        | Call::ReadFile(_)
        | Call::ListDir(_)
        | Call::GrepFiles(_)
        | Call::ViewImage(_) => false,
    }
}
