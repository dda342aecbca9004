//! A server with one session: what the tests about files, builds and languages start from.

use std::ops::Deref;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use crate::{Api, TestServer};

/// A server, the operator's access to it, and one session. Calls of [`Api`] can be made on it directly.
#[derive(Debug)]
pub struct Fixture {
    /// The server.
    pub server: TestServer,
    /// The operator's access.
    pub api: Api,
    /// The id of the session.
    pub session: String,
}

impl Fixture {
    /// A session with the default settings.
    pub async fn new() -> Result<Self> {
        Self::with("", &json!({})).await
    }

    /// A server with more lines of configuration, and a session that is created with this request.
    pub async fn with(config: &str, session: &Value) -> Result<Self> {
        let server = TestServer::configured(config).await?;
        let api = server.api();
        let session = api.session(session).await?;
        Ok(Self { server, api, session })
    }

    /// A path below the session's: `files/archive`, for example.
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}/{rest}", self.session)
    }

    /// The folder of a session on the host.
    pub fn folder_of(&self, session: &str) -> PathBuf {
        self.server.data().join("sessions").join(session)
    }

    /// The session's folder on the host.
    pub fn folder(&self) -> PathBuf {
        self.folder_of(&self.session)
    }

    /// The session's workspace on the host.
    pub fn workspace(&self) -> PathBuf {
        self.folder().join("workspace")
    }

    /// Runs a shell line in the session, which must exit with 0; everything it printed.
    pub async fn run(&self, shell: &str) -> Result<String> {
        self.api.run_in(&self.session, shell).await
    }
}

impl Deref for Fixture {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}
