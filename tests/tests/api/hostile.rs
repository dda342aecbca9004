//! Hostile clients: slow, endless, oversized, malformed. Each is answered clearly or dropped, and no other client notices.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::{PATIENCE, eventually};
use headwater_tests::http::{self, error_of, json_of};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A server with small limits for bodies.
async fn small_server() -> Result<TestServer> {
    TestServer::configured("[server]\nmax_body = \"64Ki\"\nmax_stdin = \"128Ki\"\n").await
}

/// A server that soon gives up waiting for the rest of a request. Only for requests that never end: on a busy machine a client
/// may pause for as long.
async fn impatient_server() -> Result<TestServer> {
    TestServer::configured("[server]\nheader_timeout = \"2s\"\n").await
}

/// Everything that arrives until the server closes the connection.
async fn until_closed(stream: &mut TcpStream) -> Result<String> {
    let mut got = Vec::new();
    // The server may also reset the connection.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut got)).await.context("the connection stays open")?;
    Ok(String::from_utf8_lossy(&got).into_owned())
}

async fn still_answers(server: &TestServer) -> Result<()> {
    // An impatient server may give up on this request, too, if this process had to wait for a processor.
    eventually("healthz is answered", async || {
        server.anonymous().get("/healthz").await.is_ok_and(|answer| answer.status == 200)
    })
    .await
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() -> Result<()> {
    let server = impatient_server().await?;
    let mut stream = TcpStream::connect(server.address()).await?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").await?;
    until_closed(&mut stream).await?;
    still_answers(&server).await
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_is_not_waited_for() -> Result<()> {
    let server = impatient_server().await?;
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{",
        server.address(),
        server.token()
    );
    let mut stream = TcpStream::connect(server.address()).await?;
    stream.write_all(head.as_bytes()).await?;
    let answer = http::read(&mut stream, true).await?;
    ensure!(answer.status == 400, "{}", answer.head);
    still_answers(&server).await
}

#[tokio::test]
async fn oversized_requests_are_refused_with_the_reason() -> Result<()> {
    let server = small_server().await?;
    let api = server.api();
    let answer = api.post("/v1/executions", &json!({"shell": "x".repeat(100 << 10)})).await?;
    ensure!(answer.status == 413 && answer.json()?["error"]["code"] == "body_too_large", "{}", answer.text());
    let (anonymous, long) = (server.anonymous(), "x".repeat(200 << 10));
    let answer = anonymous.head("GET", "/healthz", &[("X-Long", &long)], &Value::Null).await?;
    ensure!(answer.status == 431, "{}", answer.head);
    let many: Vec<(String, &str)> = (0..200).map(|n| (format!("X-{n}"), "y")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let answer = anonymous.head("GET", "/healthz", &many, &Value::Null).await?;
    ensure!(answer.status == 431, "{}", answer.head);
    still_answers(&server).await
}

#[tokio::test]
async fn json_of_any_depth_and_invalid_json_get_a_clear_refusal() -> Result<()> {
    let server = small_server().await?;
    let api = server.api();
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let deep_inside = format!(r#"{{"metadata":{}1{}}}"#, "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let bodies: [&[u8]; 12] = [
        deep.as_bytes(),
        deep_inside.as_bytes(),
        b"{",
        b"null",
        b"[]",
        b"\"text\"",
        b"{\"shell\": 5}",
        b"{\"shell\": \"a\", \"shell\": \"b\"}",
        b"{\"shell\": \"a\"} trailing",
        b"{\"shell\": \"\xff\xfe\"}",
        b"{\"shell\": \"a\", \"timeout_ms\": -1}",
        b"{\"shell\": \"a\", \"timeout_ms\": 1e400}",
    ];
    for body in bodies {
        let answer =
            api.request("POST", "/v1/executions", &[("Content-Type", "application/json")], body).await?;
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        error_of(&answer, 400).context(shown)?;
    }
    still_answers(&server).await
}

#[tokio::test]
async fn bytes_that_are_not_http_get_a_refusal_or_a_closed_connection() -> Result<()> {
    let server = small_server().await?;
    let garbage: [&[u8]; 7] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nZZZ\r\n",
        b"\0\0\0\0\r\n\r\n",
    ];
    for bytes in garbage {
        let mut stream = TcpStream::connect(server.address()).await?;
        stream.write_all(bytes).await?;
        let _ = stream.shutdown().await;
        let answer = until_closed(&mut stream).await?;
        let refused =
            answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4");
        ensure!(refused, "{bytes:?}: {answer}");
    }
    still_answers(&server).await
}

#[tokio::test]
async fn connections_over_the_limit_wait_and_are_served_when_others_close() -> Result<()> {
    let config = "[server]\nmax_connections = 4\nmax_connections_of_address = 4\n";
    let server = TestServer::configured(config).await?;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(TcpStream::connect(server.address()).await?);
    }
    let anonymous = server.anonymous();
    let late = anonymous.get("/healthz");
    let mut late = std::pin::pin!(late);
    // No answer arrives while all connections are taken; how long this waits decides nothing.
    ensure!(
        timeout(Duration::from_millis(200), late.as_mut()).await.is_err(),
        "a fifth connection was served"
    );
    drop(held);
    ensure!(late.await?.status == 200);
    Ok(())
}

#[tokio::test]
async fn a_websocket_takes_up_a_connection_for_as_long_as_it_is_open() -> Result<()> {
    let server = small_server().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "argv": ["cat"], "stdin": "open" })).await?;
    let path = format!("/v1/executions/{id}/attach");
    let mut sockets = Vec::new();
    for _ in 0..8 {
        let mut socket = api.socket(&path).await?;
        socket.next().await?; // the upgrade is complete
        sockets.push(socket);
    }
    let open = async || -> Result<u64> {
        let text = api.get("/metrics").await?.text();
        let line = text.lines().find_map(|line| line.strip_prefix("headwater_connections "));
        Ok(line.context("no count")?.trim().parse()?)
    };
    let count = open().await?;
    ensure!(count >= 8, "{count} connections are open, with 8 sockets");
    for socket in sockets {
        socket.close().await?;
    }
    eventually("closed sockets are no connections", async || open().await.is_ok_and(|count| count < 8)).await
}

#[tokio::test]
async fn odd_paths_and_ids_name_nothing() -> Result<()> {
    let server = small_server().await?;
    let api = server.api();
    for path in [
        "/v1/executions/exe_",
        "/v1/executions/..%2f..%2fetc%2fpasswd",
        "/v1/executions/%00",
        "/v1/executions/ses_00000000000000000000000000000000",
        "/v1/executions/exe_0000000000000000000000000000000g/events",
        "/v1/sessions/exe_00000000000000000000000000000000",
        "/v1//sessions",
        "/v2/sessions",
        "/v1/executions/exe_00000000000000000000000000000000/output",
    ] {
        error_of(&api.get(path).await?, 404).context(path)?;
    }
    let answer = api.request("BREW", "/v1/sessions", &[], b"").await?;
    ensure!(answer.status == 405 && answer.header("allow").is_some(), "{}", answer.head);
    Ok(())
}

#[tokio::test]
async fn errors_about_a_broken_data_folder_name_no_path_of_the_host() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let id = me.session(&json!({})).await?;
    let execution = me.start(&id, &json!({"shell": "echo hello"})).await?;
    me.closed(&execution).await?;
    let folder = server.data().join("sessions").join(&id);
    let log = folder.join("executions").join(&execution);
    let mut info = Vec::new();
    // A log whose files are gone.
    for file in std::fs::read_dir(&log)? {
        let path = file?.path();
        if !path.ends_with("execution.json") {
            std::fs::remove_file(path)?;
        }
    }
    for path in ["output", "events", "recording"] {
        info.push(me.get(&format!("/v1/executions/{execution}/{path}")).await?);
    }
    // A workspace that is no folder.
    json_of(&me.post(&format!("/v1/sessions/{id}/hibernate"), &json!({})).await?, 200)?;
    std::fs::remove_dir_all(folder.join("workspace"))?;
    std::fs::write(folder.join("workspace"), "")?;
    info.push(me.post(&format!("/v1/sessions/{id}/executions"), &json!({"shell": "true"})).await?);
    info.push(me.get(&format!("/v1/sessions/{id}/files?path=/")).await?);
    info.push(me.post(&format!("/v1/sessions/{id}/snapshots"), &json!({"name": "a"})).await?);
    info.push(me.post(&format!("/v1/sessions/{id}/fork"), &json!({})).await?);
    let data = server.data().display().to_string();
    let refused = info.iter().filter(|answer| answer.status >= 400).count();
    assert!(refused >= 4, "the control: something is wrong with most of them, not {refused}");
    for answer in &info {
        assert!(!answer.text().contains(&data), "{}: {}", answer.status, answer.text());
    }
    Ok(())
}
