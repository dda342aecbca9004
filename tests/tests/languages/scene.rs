//! What the tests share: a server with a session, asked by hand.

use anyhow::{Context, Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

/// A server and a session of the name `session-1`.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) session: String,
}

/// How something ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scene {
    /// With more lines of configuration.
    pub(crate) async fn with(config: &str) -> Result<Self> {
        let config = Some(format!("pool = 1\n{config}"));
        let server = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await?;
        let mut scene = Self { server, session: String::new() };
        scene.session = scene.new_session(&json!({"name": "session-1"})).await?;
        Ok(scene)
    }

    pub(crate) async fn new() -> Result<Self> {
        Self::with("").await
    }

    pub(crate) async fn new_session(&self, body: &Value) -> Result<String> {
        let made = self.ask("POST", "/v1/sessions", body).await?;
        ensure!(made.status == 201, "{}", made.text());
        Ok(made.json()?["id"].as_str().context("no id")?.to_owned())
    }

    /// Any request with a JSON body; `null` is none.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Raw> {
        let bearer = format!("Bearer {}", self.server.token());
        let mut headers = vec![("Authorization", bearer.as_str())];
        let text = if body.is_null() { String::new() } else { body.to_string() };
        if !body.is_null() {
            headers.push(("Content-Type", "application/json"));
        }
        raw::request(self.server.address(), method, path, &headers, text.as_bytes()).await
    }

    /// The JSON of an answer of this status.
    pub(crate) async fn good(&self, method: &str, path: &str, body: &Value, status: u16) -> Result<Value> {
        let answer = self.ask(method, path, body).await?;
        ensure!(answer.status == status, "{method} {path} {body}: {} {}", answer.status, answer.text());
        answer.json()
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.good("GET", path, &Value::Null, 200).await
    }

    /// The error of an answer of this status.
    pub(crate) async fn bad(&self, path: &str, body: &Value, status: u16) -> Result<Value> {
        let told = self.good("POST", path, body, status).await?["error"].clone();
        for field in ["code", "message", "hint"] {
            ensure!(told[field].as_str().is_some_and(|text| !text.is_empty()), "no {field}: {told}");
        }
        Ok(told)
    }

    /// A path below the session's.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("/v1/sessions/{}/{below}", self.session)
    }

    /// Starts something in the session; its id.
    pub(crate) async fn start(&self, body: &Value) -> Result<String> {
        let made = self.good("POST", &self.path("executions"), body, 201).await?;
        Ok(made["id"].as_str().context("no id")?.to_owned())
    }

    /// Waits for the end.
    pub(crate) async fn end(&self, id: &str) -> Result<Ran> {
        let mut told = Value::Null;
        for _ in 0..5 {
            told = self.get(&format!("/v1/executions/{id}?wait=60s&until=closed")).await?;
            if told["state"] == "closed" {
                break;
            }
        }
        ensure!(told["state"] == "closed", "it does not end: {told}");
        let (stdout, stderr) = (self.output(id, "stdout").await?, self.output(id, "stderr").await?);
        Ok(Ran { exit: told["exit"].clone(), stdout, stderr })
    }

    pub(crate) async fn output(&self, id: &str, stream: &str) -> Result<String> {
        let path = format!("/v1/executions/{id}/output?stream={stream}");
        Ok(self.ask("GET", &path, &Value::Null).await?.text())
    }

    /// Waits until it has printed this.
    pub(crate) async fn printed(&self, id: &str, text: &str) -> Result<()> {
        let has_it = async || self.output(id, "stdout").await.is_ok_and(|said| said.contains(text));
        headwater_tests::host::eventually(&format!("`{id}` prints `{text}`"), has_it).await
    }

    pub(crate) async fn run(&self, body: &Value) -> Result<Ran> {
        let id = self.start(body).await?;
        self.end(&id).await
    }

    /// What a line for the shell prints; it must end well.
    pub(crate) async fn shell(&self, line: &str) -> Result<String> {
        let ran = self.run(&json!({ "shell": line })).await?;
        ensure!(ran.code() == Some(0), "{line}: {ran:?}");
        Ok(ran.stdout)
    }

    /// The languages, by name.
    pub(crate) async fn languages(&self) -> Result<Vec<Value>> {
        let told = self.get("/v1/languages").await?;
        Ok(told["languages"].as_array().context("no languages")?.clone())
    }

    pub(crate) async fn language(&self, name: &str) -> Result<Value> {
        let all = self.languages().await?;
        all.into_iter().find(|known| known["name"] == name).with_context(|| format!("`{name}` is not known"))
    }
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i64> {
        self.exit["code"].as_i64()
    }
}
