//! Asking a server by hand, with the answers as they come.

use anyhow::{Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

/// A server that prepares no more sessions than a test needs.
pub(crate) async fn server() -> Result<TestServer> {
    TestServer::with(ServerOptions { config: Some("pool = 1\n".into()), ..ServerOptions::default() }).await
}

/// Somebody who asks.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    address: String,
    token: String,
}

impl Asker {
    /// Whoever has the first token.
    pub(crate) fn admin(server: &TestServer) -> Self {
        Self { address: server.address().to_owned(), token: server.token().to_owned() }
    }

    /// A user with a token of this role.
    pub(crate) fn user(server: &TestServer, user: &str, role: &str) -> Result<Self> {
        let token = server.make_token(&["--user", user, "--role", role])?;
        Ok(Self { address: server.address().to_owned(), token })
    }

    /// What it shows.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Any request. A body that looks like JSON says so.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Raw> {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(more);
        raw::request(&self.address, method, path, &headers, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Raw> {
        self.ask("GET", path, &[], b"").await
    }

    /// The head of an answer whose body may have no end.
    pub(crate) async fn look(&self, path: &str) -> Result<Raw> {
        let bearer = format!("Bearer {}", self.token);
        raw::head(&self.address, "GET", path, &[("Authorization", &bearer)], b"").await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Raw> {
        self.ask("DELETE", path, &[], b"").await
    }

    /// A request with a JSON body and more headers.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &Value,
    ) -> Result<Raw> {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(more);
        self.ask(method, path, &headers, body.to_string().as_bytes()).await
    }

    /// A `POST` of which only the head of the answer is read: for streams that do not end.
    pub(crate) async fn head(&self, path: &str, more: &[(&str, &str)], body: &Value) -> Result<Raw> {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        headers.extend(more);
        raw::head(&self.address, "POST", path, &headers, body.to_string().as_bytes()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Raw> {
        self.send("POST", path, &[], body).await
    }

    /// The JSON of a good answer.
    pub(crate) async fn json(&self, path: &str) -> Result<Value> {
        good(&self.get(path).await?, 200)
    }

    /// The id of a new session.
    pub(crate) async fn session(&self, body: &Value) -> Result<String> {
        Ok(text(&good(&self.post("/v1/sessions", body).await?, 201)?["id"]))
    }

    /// The id of a new execution in a session.
    pub(crate) async fn start(&self, session: &str, body: &Value) -> Result<String> {
        let path = format!("/v1/sessions/{session}/executions");
        Ok(text(&good(&self.post(&path, body).await?, 201)?["id"]))
    }

    /// An execution when it has ended.
    pub(crate) async fn ended(&self, id: &str) -> Result<Value> {
        let told = self.json(&format!("/v1/executions/{id}?wait=60s&until=closed")).await?;
        ensure!(told["state"] == "closed", "{told}");
        Ok(told)
    }

    /// Waits until an execution has printed this.
    pub(crate) async fn printed(&self, id: &str, text: &str) -> Result<()> {
        let path = format!("/v1/executions/{id}/output?stream=stdout");
        let has_it = async || self.get(&path).await.is_ok_and(|answer| answer.text().contains(text));
        eventually(&format!("`{id}` prints `{text}`"), has_it).await
    }

    /// What an execution has printed on its standard output, when it has ended.
    pub(crate) async fn stdout(&self, id: &str) -> Result<String> {
        self.ended(id).await?;
        Ok(self.get(&format!("/v1/executions/{id}/output?stream=stdout")).await?.text())
    }
}

/// The JSON of an answer that must have this status.
pub(crate) fn good(answer: &Raw, status: u16) -> Result<Value> {
    ensure!(answer.status == status, "{} instead of {status}: {}", answer.status, answer.text());
    if status == 204 { Ok(json!(null)) } else { answer.json() }
}

/// The code of an answer that must be an error of this status, in the one shape of errors.
pub(crate) fn bad(answer: &Raw, status: u16) -> Result<String> {
    ensure!(answer.status == status, "{} instead of {status}: {}", answer.status, answer.text());
    let error = answer.json()?["error"].clone();
    for field in ["code", "message", "hint", "request_id"] {
        ensure!(!text(&error[field]).is_empty(), "no {field}: {error}");
    }
    ensure!(answer.header("x-request-id") == error["request_id"].as_str(), "{}", answer.head);
    Ok(text(&error["code"]))
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of this field in all items of a page.
pub(crate) fn all(page: &Value, field: &str) -> Vec<String> {
    page["items"].as_array().into_iter().flatten().map(|item| text(&item[field])).collect()
}
