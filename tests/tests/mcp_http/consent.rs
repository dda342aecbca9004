//! A person is asked, in both eras.

use anyhow::{Context, Result};
use headwater_tests::TestServer;
use headwater_tests::http::text;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::client::{HttpClient, STATELESS};

fn asking() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// Calls a tool; the client of 2026 answers the question with this decision.
async fn call_2026(client: &HttpClient, arguments: &Value, again: &Value, decision: &Value) -> Result<Value> {
    let asked = client.call("exec_command", arguments).await?;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = asked["inputRequests"]["consent"]["params"]["message"].to_string();
    assert!(question.contains("touch"), "{question}");
    let params = json!({
        "name": "exec_command", "arguments": again, "requestState": asked["requestState"],
        "inputResponses": {"consent": decision},
    });
    client.result("tools/call", params).await
}

#[tokio::test]
async fn a_client_of_2026_asks_and_repeats_the_call() -> Result<()> {
    let server = TestServer::small().await?;
    let mut client = HttpClient::with(&server.api(), STATELESS, asking()).await?;
    client.headers = vec![("headwater-approvals", "unless-trusted".to_owned())];
    let touch = |name: &str| json!({"cmd": format!("touch {name}")});
    let yes = json!({"action": "accept", "content": {"decision": "allow_once"}});
    let done = call_2026(&client, &touch("a"), &touch("a"), &yes).await?;
    assert_eq!(done["structuredContent"]["exit_code"], 0, "{done}");
    // Consent to one command is none to another: the person is asked again.
    let other = call_2026(&client, &touch("b"), &touch("c"), &yes).await?;
    assert!(other["resultType"] == "input_required" || other["isError"] == true, "{other}");
    let refused = call_2026(&client, &touch("d"), &touch("d"), &json!({"action": "decline"})).await?;
    assert!(refused["isError"] == true && refused.to_string().contains("refused"), "{refused}");
    assert_eq!(server.api().run_in("agent:http-test", "ls").await?, "a\n");
    // A client that cannot ask learns what would be allowed.
    let silent =
        HttpClient { headers: client.headers.clone(), ..HttpClient::new(&server.api(), STATELESS).await? };
    let refusal = silent.refusal("exec_command", &touch("e")).await?;
    assert!(refusal.contains("a person must allow it"), "{refusal}");
    // A policy that does not exist is an error, never another policy.
    client.headers = vec![("headwater-approvals", "always".to_owned())];
    assert!(client.refusal("exec_command", &touch("f")).await?.contains("never, on-failure"));
    Ok(())
}

#[tokio::test]
async fn a_client_of_2025_is_asked_on_the_stream_of_its_call() -> Result<()> {
    let server = TestServer::small().await?;
    let mut client = HttpClient::with(&server.api(), "2025-06-18", asking()).await?;
    client.headers = vec![("headwater-approvals", "unless-trusted".to_owned())];
    for (decision, exit) in [("allow_once", true), ("refuse", false)] {
        let call = client
            .message("tools/call", json!({"name": "exec_command", "arguments": {"cmd": "touch asked"}}));
        let mut stream = client.open(&call).await?;
        let mut seen = String::new();
        let mut is_answered = false;
        let answer = loop {
            let mut part = [0; 4096];
            let length = stream.read(&mut part).await?;
            anyhow::ensure!(length > 0, "the stream ended: {seen}");
            seen.push_str(&String::from_utf8_lossy(&part[..length]));
            let messages: Vec<Value> = seen
                .lines()
                .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
                .collect();
            if let Some(answer) = messages.iter().find(|one| one["id"] == 7 && one.get("method").is_none()) {
                break answer.clone();
            }
            let question = messages.iter().find(|one| one["method"] == "elicitation/create");
            if let Some(question) = question.filter(|_| !is_answered) {
                is_answered = true;
                assert!(text(&question["params"]["message"]).contains("touch asked"), "{question}");
                let content = json!({"action": "accept", "content": {"decision": decision}});
                let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": content});
                assert_eq!(client.post(&answer).await?.status, 202);
            }
        };
        let result = answer.get("result").context("no result")?;
        assert_eq!(result["structuredContent"]["exit_code"] == 0, exit, "{decision}: {answer}");
        assert_eq!(result["isError"] == true, !exit, "{decision}: {answer}");
    }
    Ok(())
}
