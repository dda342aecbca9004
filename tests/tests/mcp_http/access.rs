//! Rights and records of calls.

use anyhow::Result;
use headwater_tests::host::eventually;
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::client::{HttpClient, STATELESS};

/// A tool that only reads, and one that writes, of commands and of files.
const TOOLS: [(&str, &str); 4] = [
    ("list_executions", "{}"),
    ("exec_command", r#"{"cmd":"true"}"#),
    ("list_dir", r#"{"dir_path":"."}"#),
    ("write_file", r#"{"file_path":"a","content":"b"}"#),
];

/// Which of [`TOOLS`] may be called in a session.
async fn allowed(api: &Api, session: &str) -> Result<[bool; 4]> {
    let mut client = HttpClient::new(api, STATELESS).await?;
    client.headers = vec![("headwater-session", session.to_owned())];
    let mut allowed = [false; 4];
    for (allowed, (tool, arguments)) in allowed.iter_mut().zip(TOOLS) {
        let result = client.call(tool, &serde_json::from_str(arguments)?).await?;
        *allowed = result["isError"] != true;
    }
    Ok(allowed)
}

#[tokio::test]
async fn calls_need_the_rights_and_the_scopes_of_their_tool() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let session = ann.session(&json!({})).await?;
    assert_eq!(allowed(&ann, &session).await?, [true; 4]);
    assert_eq!(allowed(&bob, &session).await?, [false; 4]);
    let member = format!("/v1/sessions/{session}/members/bob");
    json_of(&ann.put(&member, &json!({"role": "viewer"})).await?, 200)?;
    assert_eq!(allowed(&bob, &session).await?, [true, false, true, false]);
    for (scopes, expected) in [
        (vec!["executions:read"], [true, false, false, false]),
        (vec!["executions:write"], [true, true, false, false]),
        (vec!["files:read"], [false, false, true, false]),
        (vec!["files:write"], [false, false, true, true]),
        (vec!["tokens:read"], [false; 4]),
    ] {
        let made = json_of(&ann.post("/v1/tokens", &json!({"scopes": scopes})).await?, 201)?;
        let token = server.api_with(&text(&made["token"]));
        assert_eq!(allowed(&token, &session).await?, expected, "{scopes:?}");
        let mut client = HttpClient::new(&token, STATELESS).await?;
        client.headers = vec![("headwater-session", session.clone())];
        let read = client.request("resources/read", json!({"uri": "file:///workspace/a"})).await?;
        assert_eq!(read.get("error").is_none(), expected[2], "{scopes:?}: {read}");
    }
    Ok(())
}

#[tokio::test]
async fn a_session_of_the_protocol_is_useless_to_anybody_else_and_without_a_token() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let client = HttpClient::new(&ann, "2025-11-25").await?;
    client.text("exec_command", &json!({"cmd": "echo private"})).await?;
    let list = client.message("tools/list", json!({}));
    let stolen = HttpClient { api: bob, ..client.clone() };
    assert_eq!(stolen.post(&list).await?.status, 404);
    let anonymous = HttpClient { api: server.anonymous(), ..client.clone() };
    let refused = anonymous.post(&list).await?;
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("/.well-known/oauth-protected-resource"), "{challenge}");
    let id = client.session.clone().unwrap_or_default();
    for forged in [format!("{id}x"), id[1..].to_owned(), "x".to_owned(), "y".repeat(5000)] {
        let client = HttpClient { session: Some(forged), ..client.clone() };
        assert_eq!(client.post(&list).await?.status, 404);
    }
    // What signs sessions does not make them a credential, and the other way round.
    let as_token = HttpClient { api: server.api_with(&id), ..client.clone() };
    assert_eq!(as_token.post(&list).await?.status, 401);
    let as_session = HttpClient { session: Some(ann.token().to_owned()), ..client.clone() };
    assert_eq!(as_session.post(&list).await?.status, 404);
    assert_eq!(client.post(&list).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn calls_are_in_the_history_and_in_the_audit_log() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    for version in ["2025-06-18", STATELESS] {
        let mut client = HttpClient::new(&ann, version).await?;
        client.headers = vec![
            ("headwater-session", session.clone()),
            ("headwater-conversation", format!("chat-{version}")),
        ];
        let call = json!({"name": "exec_command", "arguments": {"cmd": "echo recorded"},
            "_meta": {"claudecode/toolUseId": "toolu_1"}});
        client.result("tools/call", call).await?;
        client.refusal("exec_command", &json!({"cmd": ""})).await?;
        let mut calls = Value::Null;
        eventually("two records", async || {
            let listed = ann.json(&format!("/v1/sessions/{session}/tool-calls?limit=2")).await;
            calls = listed.map(|mut page| page["items"].take()).unwrap_or_default();
            calls[0]["conversation_id"] == format!("chat-{version}").as_str()
                && calls[1]["conversation_id"] == calls[0]["conversation_id"]
        })
        .await?;
        assert_eq!(
            (&calls[0]["is_error"], &calls[0]["tool"]),
            (&json!(true), &json!("exec_command")),
            "{calls}"
        );
        assert_eq!((&calls[1]["agent"], &calls[1]["tool_call_id"]), (&json!("http-test"), &json!("toolu_1")));
        assert!(text(&calls[1]["result"]).contains("recorded"), "{calls}");
        assert_eq!(calls[1]["execution_ids"].as_array().map(Vec::len), Some(1));
    }
    let audit = server.api().json("/v1/audit?limit=100").await?["items"].to_string();
    assert!(audit.contains("tool.call") && audit.contains("exec_command"), "{audit}");
    Ok(())
}
