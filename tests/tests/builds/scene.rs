//! A server, somebody who asks it, and sessions with files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};
use tokio::time::timeout;

/// A compile on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// A server and whoever asks it.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) token: String,
}

impl Scene {
    pub(crate) async fn new() -> Result<Self> {
        Self::with("").await
    }

    /// With more lines of configuration.
    pub(crate) async fn with(config: &str) -> Result<Self> {
        let config = Some(format!("pool = 1\n{config}"));
        let server = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await?;
        let token = server.token().to_owned();
        Ok(Self { server, token })
    }

    pub(crate) async fn ask_as(&self, token: &str, method: &str, path: &str, body: &Value) -> Result<Raw> {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let headers = if body.is_empty() { &headers[..1] } else { &headers[..] };
        let asked = async {
            let mut stream = raw::send(self.server.address(), method, path, headers, &body).await?;
            loop {
                // One read of an answer waits a minute; a compile may take longer.
                match raw::read(&mut stream, true).await {
                    Err(error) if error.to_string().contains("no answer in time") => {}
                    answer => return answer,
                }
            }
        };
        timeout(PATIENCE, asked).await.context("no answer")?
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Raw> {
        self.ask_as(&self.token, method, path, body).await
    }

    /// A session's id.
    pub(crate) async fn session(&self) -> Result<String> {
        self.session_as(&self.token).await
    }

    pub(crate) async fn session_as(&self, token: &str) -> Result<String> {
        let made = self.ask_as(token, "POST", "/v1/sessions", &json!({})).await?;
        Ok(made.json()?["id"].as_str().with_context(|| format!("no session: {}", made.text()))?.to_owned())
    }

    /// A session's workspace on the host.
    pub(crate) fn workspace(&self, session: &str) -> PathBuf {
        self.server.data().join("sessions").join(session).join("workspace")
    }

    /// Puts a file into a workspace, as a program of the session would.
    pub(crate) fn write(&self, session: &str, path: &str, text: &str) -> Result<()> {
        let path = self.workspace(session).join(path);
        let folder = path.parent().context("no folder")?;
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777))?; // the session's user is another
        }
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        Ok(())
    }

    pub(crate) fn read(&self, session: &str, path: &str) -> Result<Vec<u8>> {
        fs::read(self.workspace(session).join(path)).with_context(|| path.to_owned())
    }

    /// A build, whatever becomes of it.
    pub(crate) async fn build(&self, request: &Value) -> Result<Value> {
        self.build_as(&self.token, request).await
    }

    pub(crate) async fn build_as(&self, token: &str, request: &Value) -> Result<Value> {
        let answer = self.ask_as(token, "POST", "/v1/sessions/build/cpp", request).await?;
        ensure!(answer.status == 200, "{}: {}", answer.status, answer.text());
        answer.json()
    }

    /// A build that goes well.
    pub(crate) async fn good(&self, request: &Value) -> Result<Value> {
        let built = self.build(request).await?;
        ensure!(built["status"] == "success", "{built}");
        Ok(built)
    }

    /// Runs a shell line in a session; its standard output when it has ended.
    pub(crate) async fn run(&self, session: &str, line: &str) -> Result<String> {
        let id = self.start(session, line).await?;
        let path = format!("/v1/executions/{id}?wait=50s");
        let ended = self.ask("GET", &path, &Value::Null).await?.json()?;
        ensure!(ended["state"] == "exited" || ended["state"] == "closed", "{ended}");
        let output =
            self.ask("GET", &format!("/v1/executions/{id}/output?stream=stdout"), &Value::Null).await?;
        Ok(output.text())
    }

    pub(crate) async fn start(&self, session: &str, line: &str) -> Result<String> {
        let path = format!("/v1/sessions/{session}/executions");
        let started = self.ask("POST", &path, &json!({"shell": line})).await?.json()?;
        Ok(started["id"].as_str().with_context(|| format!("{started}"))?.to_owned())
    }
}

/// A request for one source, `main.cpp`, into `build/main`.
pub(crate) fn one(session: &str, flags: &[&str]) -> Value {
    json!({"session_id": session, "source_files": ["main.cpp"], "output_binary": "build/main", "flags": flags})
}
