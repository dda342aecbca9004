//! Runs code in the languages of a server, in a session of the name `session-1`.

use anyhow::{Context, Result};
use headwater_tests::Fixture;
use serde_json::{Value, json};

/// How an execution ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i64> {
        self.exit["code"].as_i64()
    }
}

/// A server with more lines of configuration, and a session of the name `session-1`.
pub(crate) async fn fixture(config: &str) -> Result<Fixture> {
    Fixture::with(config, &json!({"name": "session-1"})).await
}

/// The calls that run code.
pub(crate) trait Languages {
    /// Starts an execution in the session; its id.
    async fn start_code(&self, body: &Value) -> Result<String>;

    /// Waits for the end of an execution.
    async fn end(&self, id: &str) -> Result<Ran>;

    /// Runs an execution to its end.
    async fn run_code(&self, body: &Value) -> Result<Ran>;

    /// All languages, by name.
    async fn languages(&self) -> Result<Vec<Value>>;

    /// The language of this name.
    async fn language(&self, name: &str) -> Result<Value>;
}

impl Languages for Fixture {
    async fn start_code(&self, body: &Value) -> Result<String> {
        self.start(&self.session, body).await
    }

    async fn end(&self, id: &str) -> Result<Ran> {
        let exit = self.closed(id).await?["exit"].clone();
        Ok(Ran { exit, stdout: self.output(id, "stdout").await?, stderr: self.output(id, "stderr").await? })
    }

    async fn run_code(&self, body: &Value) -> Result<Ran> {
        let id = self.start_code(body).await?;
        self.end(&id).await
    }

    async fn languages(&self) -> Result<Vec<Value>> {
        let list = self.json("/v1/languages").await?;
        Ok(list["languages"].as_array().context("no languages")?.clone())
    }

    async fn language(&self, name: &str) -> Result<Value> {
        let all = self.languages().await?;
        all.into_iter().find(|known| known["name"] == name).with_context(|| format!("`{name}` is not known"))
    }
}
