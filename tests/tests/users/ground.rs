//! What these tests share: a server, users, and asking as somebody.

use anyhow::{Context, Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

pub(crate) const PASSWORD: &str = "correct horse";

/// A server that does not slow refusals down: these tests are refused a lot.
pub(crate) async fn server(more: &str) -> Result<TestServer> {
    let config = format!("pool = 1\n{more}\n[server]\nfailures_per_second = 100000\n");
    TestServer::with(ServerOptions { config: Some(config), ..ServerOptions::default() }).await
}

/// The same behind a proxy: whoever connects from this machine is trusted to say for whom it asks.
pub(crate) async fn behind_proxy(more: &str) -> Result<TestServer> {
    let config = format!(
        "pool = 1\n[server]\nfailures_per_second = 100000\ntrusted_proxies = [\"127.0.0.0/8\"]\n{more}\n"
    );
    TestServer::with(ServerOptions { config: Some(config), ..ServerOptions::default() }).await
}

/// Any request, with this token if there is one. A body of JSON says so.
pub(crate) async fn ask(
    server: &TestServer,
    token: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Raw> {
    let bearer = format!("Bearer {token}");
    let mut headers = Vec::new();
    if !token.is_empty() {
        headers.push(("Authorization", bearer.as_str()));
    }
    with(server, method, path, &headers, body).await
}

/// Any request with these headers.
pub(crate) async fn with(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<Raw> {
    let mut headers = headers.to_vec();
    let text = if body.is_null() { String::new() } else { body.to_string() };
    if !text.is_empty() {
        headers.push(("Content-Type", "application/json"));
    }
    raw::request(server.address(), method, path, &headers, text.as_bytes()).await
}

/// The JSON of an answer that must have this status.
pub(crate) fn good(answer: &Raw, status: u16) -> Result<Value> {
    ensure!(answer.status == status, "{} instead of {status}: {}", answer.status, answer.text());
    if answer.body.is_empty() { Ok(Value::Null) } else { answer.json() }
}

pub(crate) fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("no text: {value}"))?.to_owned())
}

/// The status of `GET /v1/me` with this token: whether it is taken.
pub(crate) async fn taken(server: &TestServer, token: &str) -> Result<u16> {
    Ok(ask(server, token, "GET", "/v1/me", &Value::Null).await?.status)
}

/// Makes a user with the password of these tests.
pub(crate) async fn add_user(server: &TestServer, name: &str, role: &str) -> Result<String> {
    let body = json!({"name": name, "password": PASSWORD, "role": role});
    let made = good(&ask(server, server.token(), "POST", "/v1/users", &body).await?, 201)?;
    text(&made["id"])
}

/// Signs in; all that is told.
pub(crate) async fn sign_in(server: &TestServer, name: &str) -> Result<Value> {
    let body = json!({"name": name, "password": PASSWORD});
    good(&ask(server, "", "POST", "/v1/login", &body).await?, 200)
}

/// Makes a user and signs in; the access token.
pub(crate) async fn user(server: &TestServer, name: &str) -> Result<String> {
    add_user(server, name, "member").await?;
    text(&sign_in(server, name).await?["access_token"])
}

/// A session; its id.
pub(crate) async fn session(server: &TestServer, token: &str) -> Result<String> {
    let made = good(&ask(server, token, "POST", "/v1/sessions", &json!({})).await?, 201)?;
    text(&made["id"])
}

/// An execution that waits for input; its id.
pub(crate) async fn waiting(server: &TestServer, token: &str, session: &str) -> Result<String> {
    let path = format!("/v1/sessions/{session}/executions");
    let made =
        good(&ask(server, token, "POST", &path, &json!({"shell": "cat", "stdin": "open"})).await?, 201)?;
    text(&made["id"])
}
