//! What a client sends by mistake, or to do harm. Every request is answered, and the connection stays usable.

use anyhow::Result;
use headwater_tests::TestWorker;
use serde_json::json;

use crate::client::{ERAS, Era, McpClient, command};

#[tokio::test]
async fn invalid_json_is_answered_with_a_parse_error() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in ERAS {
        let mut client = McpClient::start(&worker, era)?;
        for bad in [&b"{\"jsonrpc\": \n"[..], b"hello\n", b"\xff\xfe\n", b"{\"id\": 1}}\n"] {
            client.write(bad)?;
            let answer = client.read()?;
            assert_eq!(answer["error"]["code"], -32700, "{era:?} {bad:?}: {answer}");
        }
        for bad in ["[]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "1", "null", "\"x\""] {
            client.write(format!("{bad}\n").as_bytes())?;
            assert_eq!(client.read()?["error"]["code"], -32600, "{bad}");
        }
        client.write(b"\n  \n\r\n")?;
        assert!(client.text("exec_command", &json!({"cmd": "echo usable"}))?.contains("usable"));
    }
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_no_request_is_answered_with_its_id() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    client.send(&json!({"jsonrpc": "1.0", "id": 70, "method": "tools/list"}))?;
    assert_eq!(client.answer(70)?["error"]["code"], -32600);
    client.send(&json!({"jsonrpc": "2.0", "id": 71, "params": {}}))?;
    assert_eq!(client.answer(71)?["error"]["code"], -32600);
    // Notifications are never answered, however odd they are.
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": 1}))?;
    client.send(&json!({"jsonrpc": "2.0", "method": 7}))?;
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}),
    )?;
    assert!(client.is_silent());
    Ok(())
}

#[tokio::test]
async fn an_unknown_method_and_wrong_parameters_are_named() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in ERAS {
        let mut client = McpClient::start(&worker, era)?;
        let answer = client.request("tools/unheard-of", json!({}))?;
        assert_eq!(answer["error"]["code"], -32601, "{era:?}: {answer}");
        for (method, params) in [
            ("tools/call", json!({})),
            ("tools/call", json!({"name": 3})),
            ("resources/read", json!({})),
            ("prompts/get", json!({"name": "unheard-of"})),
            ("prompts/get", json!({"name": "background_server"})),
            ("resources/read", json!({"uri": "gopher://x"})),
        ] {
            let answer = client.request(method, params.clone())?;
            assert_eq!(answer["error"]["code"], -32602, "{era:?} {method} {params}: {answer}");
        }
        assert!(client.text("exec_command", &json!({"cmd": "echo usable"}))?.contains("usable"));
    }
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_with_its_id() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    let large = "x".repeat(17 << 20);
    // Both orders that clients write.
    for message in [
        format!(
            r#"{{"jsonrpc":"2.0","id":80,"method":"tools/call","params":{{"name":"write_file","arguments":{{"content":"{large}"}}}}}}"#
        ),
        format!(
            r#"{{"method":"tools/call","params":{{"name":"write_file","arguments":{{"content":"{large}"}}}},"jsonrpc":"2.0","id":80}}"#
        ),
    ] {
        client.write(message.as_bytes())?;
        client.write(b"\n")?;
        let answer = client.answer(80)?;
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        assert!(
            answer["error"]["message"].as_str().is_some_and(|text| text.contains("16777216")),
            "{answer}"
        );
    }
    // The largest that is accepted reaches the tool.
    let script = format!("echo {} | wc -c", "y".repeat(100_000));
    assert!(client.text("exec_command", &json!({"cmd": script}))?.contains("100001"));
    Ok(())
}

#[tokio::test]
async fn a_request_before_the_handshake_is_refused_and_the_handshake_still_possible() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::of(command(&worker, &[])?, Era::Handshake("2025-06-18"))?;
    client.write(b"not json\n")?;
    assert_eq!(client.read()?["error"]["code"], -32700);
    let answer = client.request("tools/list", json!({}))?;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(client.request("ping", json!({}))?.get("result").is_some());
    client.initialize("2025-06-18")?;
    assert!(client.result("tools/list", json!({}))?["tools"].is_array());
    Ok(())
}
