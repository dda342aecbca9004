//! Our tools: at the worker, without a server, and through the API.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use headwater_protocol::SessionSpec;
use headwater_tools::schema::Call;
use headwater_tools::{Agent, AgentInfo, LocalHost, Request};
use serde_json::Value;

use crate::bench_worker::BenchWorker;
use crate::gateway::http::Http;

/// An agent in a session of a worker, as in `headwater mcp`.
#[derive(Debug)]
pub struct LocalTools {
    agent: Agent,
    _lab: BenchWorker,
}

impl LocalTools {
    /// Starts a worker and creates a session.
    pub async fn start() -> Result<Self> {
        let lab = BenchWorker::with_pool(1).await?;
        let session = lab.client.create_session(None, &SessionSpec::default()).await?;
        let host = Arc::new(LocalHost::new(lab.client.clone()));
        Ok(Self { agent: Agent::new(host, session, AgentInfo::default()), _lab: lab })
    }

    /// Calls a tool; returns the text for the model.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<String> {
        let call = Call::parse(tool, arguments.clone())?;
        let outcome = self.agent.call(Request { call, tool_call_id: None, approved: None }, None).await;
        ensure!(!outcome.is_error, "{tool}: {}", outcome.text);
        Ok(outcome.text)
    }
}

/// Calls a tool in a session through the API; returns the text for the model.
pub async fn call(http: &mut Http, session: &str, tool: &str, arguments: &Value) -> Result<String> {
    let path = format!("/v1/tools/{tool}?session={session}");
    let mut answer = http.call("POST", &path, &arguments.to_string(), 200).await?;
    ensure!(answer["is_error"] == false, "{tool}: {answer}");
    match answer["content"].take() {
        Value::String(text) => Ok(text),
        other => Err(anyhow::anyhow!("{other}")).context("the result has no text"),
    }
}
