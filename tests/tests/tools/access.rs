//! Who may call which tool where.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::calls::{call, called, content};

/// A tool that only reads, and one that writes, of commands and of files.
const TOOLS: [(&str, &str); 4] = [
    ("list_executions", "{}"),
    ("exec_command", r#"{"cmd":"true"}"#),
    ("list_dir", r#"{"dir_path":"."}"#),
    ("write_file", r#"{"file_path":"a","content":"b"}"#),
];

/// The statuses of calls of [`TOOLS`] in a session.
async fn statuses(api: &Api, session: &str) -> Result<[u16; 4]> {
    let mut statuses = [0; 4];
    for (status, (tool, arguments)) in statuses.iter_mut().zip(TOOLS) {
        let arguments: Value = serde_json::from_str(arguments)?;
        *status = api.post(&format!("/v1/tools/{tool}?session={session}"), &arguments).await?.status;
    }
    Ok(statuses)
}

#[tokio::test]
async fn a_session_of_somebody_else_does_not_exist_and_viewers_only_read() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let session = ann.session(&json!({"name": "mine"})).await?;
    let member = format!("/v1/sessions/{session}/members/bob");
    ensure!(statuses(&ann, &session).await? == [200; 4] && statuses(&ann, "mine").await? == [200; 4]);
    ensure!(statuses(&bob, &session).await? == [404; 4] && statuses(&bob, "mine").await? == [404; 4]);
    ensure!(error_code(&bob.get(&format!("/v1/sessions/{session}/tool-calls")).await?, 404)? == "not_found");
    for (role, expected) in [("viewer", [200, 403, 200, 403]), ("editor", [200; 4])] {
        json_of(&ann.put(&member, &json!({"role": role})).await?, 200)?;
        ensure!(statuses(&bob, &session).await? == expected, "{role}");
    }
    let reader = server.user("ann", "reader")?;
    ensure!(statuses(&reader, &session).await? == [200, 403, 200, 403]);
    let path = "/v1/tools/exec_command";
    ensure!(error_code(&reader.post(path, &json!({"cmd": "true"})).await?, 403)? == "forbidden");
    ensure!(error_code(&server.anonymous().post(path, &json!({})).await?, 401)? == "unauthenticated");
    Ok(())
}

#[tokio::test]
async fn an_execution_of_another_session_cannot_be_read_or_ended_through_a_tool() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let secret =
        called(&ann, "exec_command", "", &json!({"cmd": "echo private; sleep 600", "yield_time_ms": 1000}))
            .await?;
    let (execution, number) = (text(&secret["execution_ids"][0]), secret["structured"]["session_id"].clone());
    called(&bob, "exec_command", "", &json!({"cmd": "true"})).await?;
    for id in [json!(execution), number] {
        for (tool, arguments) in [
            ("read_output", json!({"session_id": id})),
            ("write_stdin", json!({"session_id": id, "chars": "x"})),
            ("kill", json!({"session_id": id})),
            ("wait", json!({"session_ids": [id], "timeout_ms": 1000})),
        ] {
            let result = call(&bob, tool, "", &arguments).await?;
            ensure!(result["is_error"] == true && !content(&result).contains("private"), "{tool}: {result}");
        }
    }
    ensure!(ann.execution(&execution).await?["state"] == "running");
    Ok(())
}

#[tokio::test]
async fn a_token_with_scopes_calls_the_tools_of_its_scopes() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    for (scopes, expected) in [
        (vec!["executions:read"], [200, 403, 403, 403]),
        (vec!["executions:write"], [200, 200, 403, 403]),
        (vec!["files:read"], [403, 403, 200, 403]),
        (vec!["files:write"], [403, 403, 200, 200]),
        (vec!["executions:write", "files:write"], [200; 4]),
        (vec!["tokens:read"], [403; 4]),
    ] {
        let made = json_of(&ann.post("/v1/tokens", &json!({"scopes": scopes})).await?, 201)?;
        let token = server.api_with(&text(&made["token"]));
        ensure!(
            statuses(&token, &session).await? == expected,
            "{scopes:?}: {:?}",
            statuses(&token, &session).await?
        );
        json_of(&token.get("/v1/tools").await?, 200)?;
    }
    // With a token for both, the scope of each call counts, whichever came first.
    let made =
        json_of(&ann.post("/v1/tokens", &json!({"scopes": ["executions:write", "files:read"]})).await?, 201)?;
    let token = server.api_with(&text(&made["token"]));
    for _ in 0..2 {
        ensure!(statuses(&token, &session).await? == [200, 200, 200, 403]);
    }
    Ok(())
}

#[tokio::test]
async fn a_call_in_an_ended_session_is_refused_and_its_output_can_be_read() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    let ran = called(&api, "exec_command", &q, &json!({"cmd": "echo kept"})).await?;
    json_of(&api.delete(&format!("/v1/sessions/{session}?keep_logs=true")).await?, 204)?;
    ensure!(statuses(&api, &session).await? == [200, 409, 409, 409]);
    let read = called(&api, "read_output", &q, &json!({"session_id": ran["execution_ids"][0]})).await?;
    ensure!(content(&read).contains("kept"), "{read}");
    Ok(())
}

#[tokio::test]
async fn a_wait_ends_with_its_token() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let made = json_of(&ann.post("/v1/tokens", &json!({})).await?, 201)?;
    let short = server.api_with(&text(&made["token"]));
    let run = json!({"cmd": "sleep 600", "yield_time_ms": 250});
    let started = called(&short, "exec_command", "", &run).await?;
    let wait = json!({"session_ids": started["execution_ids"], "timeout_ms": 600_000});
    let waits = tokio::spawn(async move { short.post("/v1/tools/wait", &wait).await });
    json_of(&ann.delete(&format!("/v1/tokens/{}", text(&made["id"]))).await?, 204)?;
    ensure!(error_code(&waits.await??, 401)? == "unauthenticated");
    Ok(())
}
