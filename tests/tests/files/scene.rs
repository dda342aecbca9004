//! A server, a session and its workspace, to be asked by hand.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

/// A server with one session.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) session: String,
    token: String,
}

impl Scene {
    pub(crate) async fn new() -> Result<Self> {
        Self::with(&json!({})).await
    }

    /// With a session that is made so.
    pub(crate) async fn with(session: &Value) -> Result<Self> {
        let options = ServerOptions { config: Some("pool = 1\n".into()), ..ServerOptions::default() };
        let server = TestServer::with(options).await?;
        let token = server.token().to_owned();
        let mut scene = Self { server, session: String::new(), token };
        let made = good(&scene.post("/v1/sessions", session).await?, 201)?;
        made["id"].as_str().context("no session")?.clone_into(&mut scene.session);
        Ok(scene)
    }

    /// The session's workspace on the host.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.server.data().join("sessions").join(&self.session).join("workspace")
    }

    /// A route about the session's files: `content?path=x`, for one.
    pub(crate) fn route(&self, rest: &str) -> String {
        format!("/v1/sessions/{}/files{rest}", self.session)
    }

    /// Any request.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Raw> {
        self.ask_as(&self.token, method, path, more, body).await
    }

    /// The same of somebody else.
    pub(crate) async fn ask_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Raw> {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(more);
        if method == "HEAD" {
            return raw::head(self.server.address(), method, path, &headers, body).await;
        }
        raw::request(self.server.address(), method, path, &headers, body).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Raw> {
        let json = [("Content-Type", "application/json")];
        self.ask("POST", path, &json, body.to_string().as_bytes()).await
    }

    /// A `POST` about the session's files.
    pub(crate) async fn change(&self, what: &str, body: &Value) -> Result<Raw> {
        self.post(&self.route(&format!("/{what}")), body).await
    }

    /// Writes a file; `query` may say more than its path.
    pub(crate) async fn put(&self, query: &str, bytes: &[u8]) -> Result<Raw> {
        self.ask("PUT", &self.route(&format!("/content?path={query}")), &[], bytes).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Raw> {
        self.ask("GET", &self.route(&format!("/content?path={path}")), &[], b"").await
    }

    pub(crate) async fn stat(&self, path: &str) -> Result<Raw> {
        self.ask("GET", &self.route(&format!("/stat?path={path}")), &[], b"").await
    }

    pub(crate) async fn list(&self, query: &str) -> Result<Value> {
        good(&self.ask("GET", &self.route(&format!("?{query}")), &[], b"").await?, 200)
    }

    pub(crate) async fn remove(&self, query: &str) -> Result<Raw> {
        self.ask("DELETE", &self.route(&format!("?path={query}")), &[], b"").await
    }

    /// Runs a shell line in the session to its end; what it printed.
    pub(crate) async fn run(&self, shell: &str) -> Result<String> {
        let path = format!("/v1/sessions/{}/executions", self.session);
        let made = good(&self.post(&path, &json!({ "shell": shell })).await?, 201)?;
        let id = made["id"].as_str().context("no execution")?;
        let ended = format!("/v1/executions/{id}?wait=60s&until=closed");
        let told = good(&self.ask("GET", &ended, &[], b"").await?, 200)?;
        ensure!(told["state"] == "closed", "{told}");
        Ok(self.ask("GET", &format!("/v1/executions/{id}/output"), &[], b"").await?.text())
    }
}

/// The JSON of an answer that must have this status.
pub(crate) fn good(answer: &Raw, status: u16) -> Result<Value> {
    ensure!(answer.status == status, "{} instead of {status}: {}", answer.status, answer.text());
    if status == 204 { Ok(Value::Null) } else { answer.json() }
}

/// The code of an answer that must be an error of this status, in the one shape of errors.
pub(crate) fn bad(answer: &Raw, status: u16) -> Result<String> {
    let error = good(answer, status)?["error"].clone();
    for field in ["code", "message", "hint", "request_id"] {
        ensure!(error[field].as_str().is_some_and(|text| !text.is_empty()), "no {field}: {error}");
    }
    Ok(error["code"].as_str().unwrap_or_default().to_owned())
}

/// The paths on a page.
pub(crate) fn paths(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().into_iter().flatten();
    items.map(|item| item["path"].as_str().unwrap_or_default().to_owned()).collect()
}
