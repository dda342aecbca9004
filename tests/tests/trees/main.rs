//! Whole trees of a workspace, end to end: watching, searching, archives, differences, snapshots, forks.

mod archives;
mod hostile;
mod search;
mod snapshots;
mod sparse;
mod watch;
mod workspace;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

/// A server with a session.
struct Scene {
    server: TestServer,
    session: String,
}

impl Scene {
    async fn new() -> Result<Self> {
        Self::with(json!({})).await
    }

    async fn with(session: Value) -> Result<Self> {
        // On a busy machine 10 s, the default, may pass between two parts of a body: only the tests decide when one stops.
        let config = "pool = 1\n[server]\nheader_timeout = \"10m\"\n";
        let options = ServerOptions { config: Some(config.into()), ..ServerOptions::default() };
        let mut scene = Self { server: TestServer::with(options).await?, session: String::new() };
        scene.session = text(&scene.post("/v1/sessions", &session).await?["id"]);
        Ok(scene)
    }

    /// A path of the session's: `files/archive`, for one.
    fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}/{rest}", self.session)
    }

    async fn ask(&self, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Result<Raw> {
        let bearer = format!("Bearer {}", self.server.token());
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(more);
        raw::request(self.server.address(), method, path, &headers, body).await
    }

    /// The JSON of a good answer to a GET.
    async fn get(&self, path: &str) -> Result<Value> {
        let answer = self.ask("GET", path, &[], b"").await?;
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.text());
        answer.json()
    }

    /// The JSON of a good answer to a POST.
    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let headers = [("Content-Type", "application/json")];
        let answer = self.ask("POST", path, &headers, body.to_string().as_bytes()).await?;
        ensure!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
        answer.json()
    }

    /// Runs a line of shell in the session, which must succeed; what it printed.
    async fn run(&self, shell: &str) -> Result<String> {
        self.run_in(&self.session, shell).await
    }

    async fn run_in(&self, session: &str, shell: &str) -> Result<String> {
        let path = format!("/v1/sessions/{session}/executions");
        let id = text(&self.post(&path, &json!({"shell": shell})).await?["id"]);
        let told = self.get(&format!("/v1/executions/{id}?wait=60s&until=closed")).await?;
        let output = self.ask("GET", &format!("/v1/executions/{id}/output"), &[], b"").await?.text();
        ensure!(told["exit"]["code"] == 0, "{shell}: {told}\n{output}");
        Ok(output)
    }

    /// The session's folder on the host.
    fn folder(&self) -> PathBuf {
        self.server.data().join("sessions").join(&self.session)
    }

    fn workspace(&self) -> PathBuf {
        self.folder().join("workspace")
    }

    /// What is left in the folder where things are made.
    fn staged(&self) -> usize {
        std::fs::read_dir(self.folder().join("staging")).map_or(0, Iterator::count)
    }

    async fn upload(&self, query: &str, archive: &[u8]) -> Result<Raw> {
        self.ask("PUT", &self.path(&format!("files/archive?{query}")), &[], archive).await
    }

    async fn download(&self, query: &str) -> Result<Vec<u8>> {
        let answer = self.ask("GET", &self.path(&format!("files/archive?{query}")), &[], b"").await?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
        Ok(answer.body)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of this field in all items of an answer.
fn all(answer: &Value, field: &str) -> Vec<String> {
    answer["items"].as_array().into_iter().flatten().map(|item| text(&item[field])).collect()
}

/// The code of an answer that must be an error of this status.
fn refused(answer: &Raw, status: u16) -> Result<String> {
    ensure!(answer.status == status, "{} instead of {status}: {}", answer.status, answer.text());
    let error = answer.json()?["error"].clone();
    for field in ["code", "message", "hint"] {
        error[field]
            .as_str()
            .filter(|text| !text.is_empty())
            .with_context(|| format!("no {field}: {error}"))?;
    }
    Ok(text(&error["message"]))
}
