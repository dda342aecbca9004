//! The file tools of agents, against a real worker.

mod attacks;
mod changes;
mod killed;
mod limits;
mod patches;
mod reading;
mod shared;
mod writing;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use headwater_contract::Client;
use headwater_protocol::{Execution, SessionId, SessionSpec, StartSpec};
use headwater_tests::TestWorker;
use headwater_tools::schema::Call;
use headwater_tools::{Agent, AgentInfo, Host, Outcome, Request, ToolError};
use serde_json::{Value, json};

/// A worker as the place where tools run.
#[derive(Debug)]
struct WorkerHost(Client);

#[async_trait]
impl Host for WorkerHost {
    fn calls(&self) -> &Client {
        &self.0
    }

    async fn start(&self, session: SessionId, spec: StartSpec) -> Result<Execution, ToolError> {
        Ok(self.0.start(session, None, &spec).await?)
    }
}

/// An agent in a session of a worker.
struct Ground {
    worker: TestWorker,
    session: SessionId,
    agent: Agent,
}

impl Ground {
    async fn new() -> Result<Self> {
        Self::with(&SessionSpec::default()).await
    }

    async fn with(spec: &SessionSpec) -> Result<Self> {
        let worker = TestWorker::small().await?;
        let session = worker.client().await?.create_session(None, spec).await?;
        let agent = agent(&worker, session.id).await?;
        Ok(Self { worker, session: session.id, agent })
    }

    /// A path of the workspace on the host.
    fn at(&self, path: &str) -> PathBuf {
        self.worker.workspace(self.session).join(path)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        call(&self.agent, tool, arguments).await
    }

    /// The text of a call that succeeds.
    async fn text(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(!outcome.is_error, "{tool}: {}", outcome.text);
        outcome.text
    }

    /// The text of a call that fails.
    async fn error(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments.clone()).await;
        assert!(outcome.is_error, "{tool} {arguments}: {}", outcome.text);
        outcome.text
    }

    /// Writes a file by the tool, so that it belongs to the session.
    async fn write(&self, path: &str, content: &str) {
        self.text("write_file", json!({"file_path": path, "content": content})).await;
    }

    /// Writes bytes that need not be text.
    async fn write_bytes(&self, path: &str, bytes: &[u8]) {
        self.write(path, "").await;
        fs::write(self.at(path), bytes).unwrap();
    }

    async fn patch(&self, lines: &str) -> Outcome {
        self.call("apply_patch", json!({ "input": patch(lines) })).await
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Runs a command in the session.
    async fn run(&self, command: &str) -> Result<()> {
        let done = self.worker.run_in(self.session, &StartSpec::shell(command)).await?;
        anyhow::ensure!(done.verdict().code == Some(0), "{command}: {}", done.text());
        Ok(())
    }
}

/// A patch of these sections.
fn patch(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}\n*** End Patch")
}

async fn agent(worker: &TestWorker, session: SessionId) -> Result<Agent> {
    let client = worker.client().await?;
    let session = client.session(session).await?;
    Ok(Agent::new(Arc::new(WorkerHost(client)), session, AgentInfo::default()))
}

async fn call(agent: &Agent, tool: &str, arguments: Value) -> Outcome {
    match Call::parse(tool, arguments) {
        Ok(call) => agent.call(Request { call, tool_call_id: None, approved: None }, None).await,
        Err(error) => ToolError::from(error).into(),
    }
}
