//! Servers for tests of users, and users that sign in with a password.

use anyhow::Result;
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

pub(crate) const PASSWORD: &str = "correct horse";

/// A server that does not limit failures: these tests are refused a lot.
pub(crate) async fn server(more: &str) -> Result<TestServer> {
    TestServer::configured(&format!("{more}\n[server]\nfailures_per_second = 100000\n")).await
}

/// The same behind a proxy: clients on this machine are trusted to name the client that they ask for.
pub(crate) async fn behind_proxy(more: &str) -> Result<TestServer> {
    let config = "[server]\nfailures_per_second = 100000\ntrusted_proxies = [\"127.0.0.0/8\"]\n";
    TestServer::configured(&format!("{config}{more}\n")).await
}

/// The status of `GET /v1/me`: whether the token is accepted.
pub(crate) async fn me_status(api: &Api) -> Result<u16> {
    Ok(api.get("/v1/me").await?.status)
}

/// Creates a user with the password of these tests; its id.
pub(crate) async fn add_user(server: &TestServer, name: &str, role: &str) -> Result<String> {
    let body = json!({"name": name, "password": PASSWORD, "role": role});
    Ok(text(&json_of(&server.api().post("/v1/users", &body).await?, 201)?["id"]))
}

/// Signs in; the whole answer.
pub(crate) async fn sign_in(server: &TestServer, name: &str) -> Result<Value> {
    let body = json!({"name": name, "password": PASSWORD});
    json_of(&server.anonymous().post("/v1/login", &body).await?, 200)
}

/// Signs in; access with the token of this sign-in.
pub(crate) async fn signed_in(server: &TestServer, name: &str) -> Result<Api> {
    Ok(server.api_with(&text(&sign_in(server, name).await?["access_token"])))
}

/// Creates a member and signs in.
pub(crate) async fn user(server: &TestServer, name: &str) -> Result<Api> {
    add_user(server, name, "member").await?;
    signed_in(server, name).await
}

/// Starts an execution that waits for input; its id.
pub(crate) async fn waiting(api: &Api, session: &str) -> Result<String> {
    api.start(session, &json!({"shell": "cat", "stdin": "open"})).await
}

/// An execution of ann's in a session that she shares with bob.
pub(crate) struct Shared {
    pub(crate) ann: Api,
    pub(crate) bob: Api,
    pub(crate) session: String,
    pub(crate) execution: String,
    /// The path of bob's membership.
    pub(crate) member: String,
}

/// Creates ann and bob, and shares a session with bob in this role.
pub(crate) async fn shared(server: &TestServer, role: &str) -> Result<Shared> {
    let (ann, bob) = (user(server, "ann").await?, user(server, "bob").await?);
    let session = ann.session(&json!({})).await?;
    let execution = waiting(&ann, &session).await?;
    let member = format!("/v1/sessions/{session}/members/bob");
    json_of(&ann.put(&member, &json!({"role": role})).await?, 200)?;
    Ok(Shared { ann, bob, session, execution, member })
}
