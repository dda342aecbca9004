//! Calls of tools by hand, for the tests beside this.

use anyhow::{Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{SseStream, TestServer};
use serde_json::Value;

pub(crate) const CODE: &str = "/v1/tools/code_execution";

/// Posts JSON with the first token.
pub(crate) async fn post(server: &TestServer, path: &str, body: &Value) -> Result<Raw> {
    post_with(server, path, &[], body).await
}

/// The same with more headers.
pub(crate) async fn post_with(
    server: &TestServer,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<Raw> {
    let bearer = format!("Bearer {}", server.token());
    let mut all = vec![("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    all.extend_from_slice(headers);
    raw::request(server.address(), "POST", path, &all, body.to_string().as_bytes()).await
}

pub(crate) async fn get(server: &TestServer, path: &str) -> Result<Raw> {
    let bearer = format!("Bearer {}", server.token());
    raw::request(server.address(), "GET", path, &[("Authorization", &bearer)], b"").await
}

/// Calls a tool and takes its result.
pub(crate) async fn call(server: &TestServer, body: &Value) -> Result<Value> {
    let answer = post(server, CODE, body).await?;
    ensure!(answer.status == 200, "{}\n{}", answer.head, answer.text());
    answer.json()
}

/// Calls a tool and follows it.
pub(crate) async fn follow(server: &TestServer, body: &Value) -> Result<SseStream> {
    SseStream::open(server, CODE, &[], &body.to_string()).await
}

/// The text of all output events of a source.
pub(crate) fn text_of(events: &[Value], source: &str) -> String {
    let key = if source == "stdout" { "stdout" } else { "stderr" };
    let of_source = events.iter().filter(|event| event["source"] == source);
    of_source.filter_map(|event| event[key].as_str()).collect()
}

/// A shell line that prints and then waits until the file is there.
pub(crate) fn waits_for(file: &str) -> String {
    format!("while [ ! -e {file} ]; do sleep 0.05; done")
}
