//! Requests that no well-behaved client sends.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{self, error_code, text};
use serde_json::{Value, json};

use crate::client::{HttpClient, STATELESS, messages};

#[tokio::test]
async fn a_page_of_another_site_and_another_host_name_are_refused() -> Result<()> {
    let server = TestServer::small().await?;
    for version in ["2025-06-18", STATELESS] {
        let client = HttpClient::new(&server.api(), version).await?;
        let list = client.message("tools/list", json!({}));
        let with =
            |name, value: &str| HttpClient { headers: vec![(name, value.to_owned())], ..client.clone() };
        for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://"] {
            let refused = with("origin", origin).post(&list).await?;
            assert_eq!(error_code(&refused, 403)?, "forbidden", "{origin}");
        }
        let own = format!("http://{}", server.address());
        assert_eq!(with("origin", &own).post(&list).await?.status, 200);
        let refused = with("host", "evil.example").post(&list).await?;
        assert!((400..500).contains(&refused.status), "{}", refused.status);
    }
    Ok(())
}

#[tokio::test]
async fn invalid_messages_are_errors_and_the_server_goes_on() -> Result<()> {
    let server = TestServer::small().await?;
    let client = HttpClient::new(&server.api(), "2025-11-25").await?;
    for bad in
        ["", "{", "[]", "null", "7", "\"text\"", "{}", r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#]
    {
        let id = client.session.clone().unwrap_or_default();
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("mcp-session-id", id.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let refused = client.api.request("POST", "/mcp", &headers, bad.as_bytes()).await?;
        assert!((400..500).contains(&refused.status), "{bad}: {} {}", refused.status, refused.text());
    }
    for (method, params, code) in [
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        ("no/such", json!({}), -32601),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32002),
    ] {
        let answer = client.request(method, params).await?;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    let unknown = client.refusal("no_such_tool", &json!({})).await?;
    assert!(unknown.contains("exec_command"), "{unknown}");
    let refused = client.api.request("PUT", "/mcp", &[], b"").await?;
    assert_eq!(refused.status, 405);
    assert!(client.text("exec_command", &json!({"cmd": "echo usable"})).await?.contains("usable"));
    Ok(())
}

#[tokio::test]
async fn huge_arguments_are_refused_and_long_ones_accepted() -> Result<()> {
    let server = TestServer::configured("[server]\nmax_body = \"2MiB\"\n").await?;
    let client = HttpClient::new(&server.api(), STATELESS).await?;
    let write = |bytes: usize| json!({"file_path": "long", "content": "x".repeat(bytes)});
    client.text("write_file", &write(1 << 20)).await?;
    assert!(client.text("exec_command", &json!({"cmd": "wc -c < long"})).await?.contains("1048576"));
    let params = json!({"name": "write_file", "arguments": write(3 << 20)});
    let refused = client.post(&client.message("tools/call", params)).await?;
    assert_eq!(error_code(&refused, 413)?, "body_too_large");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"exec_command","arguments":{deep}}}}}"#
    );
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", STATELESS),
    ];
    let refused = client.api.request("POST", "/mcp", &headers, body.as_bytes()).await?;
    assert!((400..500).contains(&refused.status), "{}", refused.status);
    Ok(())
}

/// One agent sends as fast as it can. It is slowed down with 429, and nobody else notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_of_one_agent_are_answered_or_refused_and_others_go_on() -> Result<()> {
    let server = TestServer::configured("[server]\nrequests_per_second = 200\n").await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let flooder = HttpClient::new(&ann, STATELESS).await?;
    let calm = HttpClient::new(&bob, STATELESS).await?;
    calm.text("exec_command", &json!({"cmd": "true"})).await?;
    let list = flooder.message("tools/call", json!({"name": "list_executions", "arguments": {}}));
    let mut floods = Vec::new();
    for _ in 0..20 {
        let (flooder, list) = (flooder.clone(), list.clone());
        floods.push(tokio::spawn(async move {
            let mut statuses = [0_u32; 2];
            for _ in 0..500 {
                let response = flooder.post(&list).await?;
                match response.status {
                    200 => statuses[0] += 1,
                    429 if response.header("retry-after").is_some() => statuses[1] += 1,
                    other => anyhow::bail!("{other}: {}", response.text()),
                }
            }
            Ok(statuses)
        }));
    }
    let mut calls = 0;
    while floods.iter().any(|flood| !flood.is_finished()) {
        calm.text("exec_command", &json!({"cmd": "echo calm"})).await?;
        calls += 1;
    }
    let mut sum = [0, 0];
    for flood in floods {
        let statuses = flood.await??;
        sum = [sum[0] + statuses[0], sum[1] + statuses[1]];
    }
    assert_eq!(sum[0] + sum[1], 10_000);
    assert!(sum[0] > 0 && sum[1] > 0 && calls > 0, "{sum:?} {calls}");
    Ok(())
}

#[tokio::test]
async fn calls_whose_client_has_left_are_bounded() -> Result<()> {
    let server = TestServer::small().await?;
    let client = HttpClient::new(&server.api(), "2025-06-18").await?;
    let other = HttpClient::new(&server.user("bob", "member")?, "2025-06-18").await?;
    let started = client.call("exec_command", &json!({"cmd": "sleep 600", "yield_time_ms": 250})).await?;
    let number = started["structuredContent"]["session_id"].clone();
    let call = json!({"name": "wait", "arguments": {"session_ids": [number]}});
    for _ in 0..512 {
        let mut waiting = client.open(&client.message("tools/call", call.clone())).await?;
        assert_eq!(http::read(&mut waiting, false).await?.status, 200);
    }
    eventually("all calls to run", async || {
        let refused = client.call("list_executions", &json!({})).await.unwrap_or_default();
        refused["isError"] == true && refused.to_string().contains("512 calls")
    })
    .await?;
    other.text("exec_command", &json!({"cmd": "true"})).await?;
    // They end with what they wait for.
    let running = server.api().json("/v1/executions?state=running").await?;
    server.api().cancel(&text(&running["items"][0]["id"])).await?;
    eventually("the calls to end", async || {
        client.call("list_executions", &json!({})).await.is_ok_and(|result| result["isError"] != true)
    })
    .await
}

#[tokio::test]
async fn many_sessions_of_the_protocol_leave_the_memory_and_continue() -> Result<()> {
    let server = TestServer::small().await?;
    let first = HttpClient::new(&server.api(), "2025-06-18").await?;
    for _ in 0..70 {
        HttpClient::new(&server.api(), "2025-06-18").await?;
    }
    let response = first.post(&first.message("tools/list", json!({}))).await?;
    let listed: Vec<Value> = messages(&response);
    assert!(response.status == 200 && listed.iter().any(|message| message["result"]["tools"].is_array()));
    Ok(())
}
