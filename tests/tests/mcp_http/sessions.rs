//! Sessions of the protocol, and the sessions of the server that calls work in.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http;
use serde_json::{Value, json};

use crate::client::{HttpClient, STATELESS};

#[tokio::test]
async fn calls_work_in_the_session_of_the_agent_of_a_header_or_of_an_argument() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let (one, two) =
        (ann.session(&json!({"name": "one"})).await?, ann.session(&json!({"name": "two"})).await?);
    for version in ["2025-06-18", "2025-11-25", STATELESS] {
        let mut client = HttpClient::new(&ann, version).await?;
        client.text("exec_command", &json!({"cmd": format!("echo agent-{version} >> mark")})).await?;
        client.headers = vec![("headwater-session", "one".to_owned())];
        client.text("exec_command", &json!({"cmd": format!("echo header-{version} >> mark")})).await?;
        client
            .text("exec_command", &json!({"cmd": format!("echo argument-{version} >> mark"), "session": two}))
            .await?;
        let wrong = client.refusal("exec_command", &json!({"cmd": "true", "session": "no-such"})).await?;
        assert!(wrong.contains("no-such"), "{wrong}");
        assert!(
            client.refusal("exec_command", &json!({"cmd": "true", "session": 5})).await?.contains("session")
        );
    }
    let marks = async |session: &str| ann.run_in(session, "cat mark").await;
    assert_eq!(marks(&one).await?, "header-2025-06-18\nheader-2025-11-25\nheader-2026-07-28\n");
    assert_eq!(marks(&two).await?, "argument-2025-06-18\nargument-2025-11-25\nargument-2026-07-28\n");
    assert_eq!(marks("agent:http-test").await?, "agent-2025-06-18\nagent-2025-11-25\nagent-2026-07-28\n");
    Ok(())
}

#[tokio::test]
async fn a_session_continues_after_the_server_was_killed_in_a_wait_and_ends_when_it_is_deleted() -> Result<()>
{
    let mut server = TestServer::small().await?;
    let client = HttpClient::new(&server.api(), "2025-11-25").await?;
    client.text("exec_command", &json!({"cmd": "mkfifo gate"})).await?;
    let command = "echo before; read line < gate; echo after";
    let started = client.call("exec_command", &json!({"cmd": command, "yield_time_ms": 250})).await?;
    let number = started["structuredContent"]["session_id"].clone();
    let wait = client.message("tools/call", json!({"name": "wait", "arguments": {"session_ids": [number]}}));
    let mut waiting = client.open(&wait).await?;
    assert_eq!(http::read(&mut waiting, false).await?.status, 200, "it waits");
    server.kill_gateway().await?;
    // The same session, without another handshake.
    client.text("exec_command", &json!({"cmd": "echo go > gate"})).await?;
    let waited = client.text("wait", &json!({"session_ids": [number]})).await?;
    assert!(waited.contains("exited with code 0"), "{waited}");
    let output = client.text("read_output", &json!({"session_id": number})).await?;
    assert!(output.contains("before\n") && output.contains("after\n"), "{output}");

    let id = client.session.clone().unwrap_or_default();
    let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(client.api.request("DELETE", "/mcp", &headers, b"").await?.status, 204);
    assert_eq!(client.post(&client.message("tools/list", json!({}))).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_client_that_is_subscribed_hears_of_changes_on_its_stream() -> Result<()> {
    let server = TestServer::small().await?;
    let client = HttpClient::new(&server.api(), "2025-06-18").await?;
    let session = client.session.clone().unwrap_or_default();
    let path = "/mcp";
    let headers = [
        ("accept", "text/event-stream"),
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let mut stream = client.api.open("GET", path, &headers, &Value::Null).await?;
    let uri = "file:///workspace/watched";
    client.text("exec_command", &json!({"cmd": "true"})).await?;
    client.result("resources/subscribe", json!({"uri": uri})).await?;
    client.text("exec_command", &json!({"cmd": "echo changed > watched"})).await?;
    let mut seen = Vec::new();
    eventually("the update", async || {
        use tokio::io::AsyncReadExt;
        let mut part = [0; 4096];
        if let Ok(length) = stream.read(&mut part).await {
            seen.extend_from_slice(&part[..length]);
        }
        let text = String::from_utf8_lossy(&seen);
        text.contains("notifications/resources/updated") && text.contains(uri)
    })
    .await
}

#[tokio::test]
async fn a_command_that_runs_has_a_link_to_its_live_page() -> Result<()> {
    let server = TestServer::small().await?;
    let client = HttpClient::new(&server.api(), STATELESS).await?;
    let text = client.text("exec_command", &json!({"cmd": "sleep 600", "yield_time_ms": 250})).await?;
    let origin = format!("[live: http://{}/executions/exe_", server.address());
    assert!(text.contains(&origin), "{text}");
    let path =
        text.split_once(server.address()).and_then(|(_, rest)| rest.split_once(']')).map(|(path, _)| path);
    // Everybody gets the page, which lets them sign in, and nobody its content without a credential.
    let anonymous = server.anonymous();
    let page = anonymous.get(path.unwrap_or_default()).await?;
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(page.status == 200 && policy.contains("default-src 'none'"), "{} {policy}", page.status);
    assert_eq!(anonymous.get(&format!("/v1{}", path.unwrap_or_default())).await?.status, 401);
    assert_eq!(anonymous.get("/executions/a/b").await?.status, 401);
    Ok(())
}
