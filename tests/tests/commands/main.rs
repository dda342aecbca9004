//! The tools for commands, as an agent calls them, on a real worker.

mod approvals;
mod control;
mod exec;
mod faults;
mod output;
mod shell;
mod stdin;
mod terminal;
mod wait;

use std::sync::Arc;

use anyhow::{Context, Result};
use headwater_contract::Client;
use headwater_protocol::{ExecutionId, SessionSpec};
use headwater_tests::TestWorker;
use headwater_tools::policy::SharedPolicy;
use headwater_tools::schema::Call;
use headwater_tools::{Agent, AgentInfo, LocalHost, Outcome, Request};
use serde_json::{Value, json};

/// A worker, a session and an agent in it.
struct Desk {
    worker: TestWorker,
    client: Client,
    agent: Agent,
}

impl Desk {
    async fn new() -> Result<Self> {
        Self::with(SharedPolicy::default()).await
    }

    /// With a policy of approvals.
    async fn with(policy: SharedPolicy) -> Result<Self> {
        let worker = TestWorker::small().await?;
        let client = worker.client().await?;
        let session = client.create_session(None, &SessionSpec::default()).await?;
        let host = LocalHost::connect(client.socket()).await?;
        let info = AgentInfo { name: "tester".into(), policy, ..AgentInfo::default() };
        Ok(Self { worker, client, agent: Agent::new(Arc::new(host), session, info) })
    }

    /// A new agent of the same name in the same session: it remembers nothing.
    async fn reborn(&self) -> Result<Agent> {
        let session = self.client.session(self.agent.session()).await?;
        let host = LocalHost::connect(self.client.socket()).await?;
        let info = AgentInfo { name: "tester".into(), ..AgentInfo::default() };
        Ok(Agent::new(Arc::new(host), session, info))
    }

    /// Calls a tool that must not fail.
    async fn call(&self, tool: &str, arguments: Value) -> Result<Reply> {
        call(&self.agent, tool, arguments).await
    }

    /// The text of a call that must fail.
    async fn refused(&self, tool: &str, arguments: Value) -> Result<String> {
        let outcome = self.agent.call(request(tool, arguments)?, None).await;
        anyhow::ensure!(outcome.is_error, "{tool} did not fail: {}", outcome.text);
        Ok(outcome.text)
    }

    /// Starts a command that prints `up` first, and waits for that.
    async fn begin(&self, cmd: &str) -> Result<Reply> {
        let reply = self.call("exec_command", until_up(cmd)).await?;
        anyhow::ensure!(reply.text().contains("up"), "{}", reply.text());
        Ok(reply)
    }

    /// Everything that is new of a command when it has ended.
    async fn rest(&self, number: u64) -> Result<Reply> {
        self.call("wait", json!({"session_ids": [number]})).await
    }
}

/// The arguments of a command that prints `up` when it is ready.
fn until_up(cmd: &str) -> Value {
    json!({"cmd": cmd, "yield_time_ms": 30_000, "wait_for": {"match": "^up"}})
}

fn request(tool: &str, arguments: Value) -> Result<Request> {
    Ok(Request { call: Call::parse(tool, arguments)?, tool_call_id: Some("call_1".into()), approved: None })
}

async fn call(agent: &Agent, tool: &str, arguments: Value) -> Result<Reply> {
    let outcome = agent.call(request(tool, arguments)?, None).await;
    anyhow::ensure!(!outcome.is_error, "{tool} failed: {}", outcome.text);
    Ok(Reply(outcome))
}

/// The result of a call.
#[derive(Debug)]
struct Reply(Outcome);

impl Reply {
    fn text(&self) -> &str {
        &self.0.text
    }

    fn json(&self) -> &Value {
        self.0.structured.as_ref().expect("a structured result")
    }

    /// The text after `Output:`.
    fn output(&self) -> &str {
        self.text().split_once("Output:\n").map_or("", |(_, output)| output)
    }

    /// The output without the notes after it.
    fn printed(&self) -> &str {
        let output = if self.output().starts_with('[') { "" } else { self.output() };
        output.find("\n[").map_or(output, |at| &output[..=at])
    }

    fn exit_code(&self) -> Option<i64> {
        self.json()["exit_code"].as_i64()
    }

    /// The session ID of a command that still runs.
    fn number(&self) -> Result<u64> {
        self.json()["session_id"].as_u64().with_context(|| format!("it has ended: {}", self.text()))
    }

    fn execution(&self) -> ExecutionId {
        self.0.executions[0]
    }

    /// The number after a word in the text.
    fn number_after(&self, word: &str) -> Result<u64> {
        let (_, rest) = self.text().rsplit_once(word).with_context(|| self.text().to_owned())?;
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        Ok(digits.parse()?)
    }
}
