//! The same tools for clients of every version.

use anyhow::Result;
use headwater_tests::TestWorker;
use serde_json::{Value, json};

use crate::client::{ERAS, Era, McpClient, command};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn clients_of_every_version_list_tools_prompts_and_resources() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in ERAS {
        let mut client = McpClient::start(&worker, era)?;
        let tools = client.result("tools/list", json!({}))?;
        let listed = names(&tools["tools"]);
        for tool in ["exec_command", "write_stdin", "apply_patch", "wait", "read_output", "view_image"] {
            assert!(listed.contains(&tool), "{era:?}: {listed:?}");
        }
        for tool in tools["tools"].as_array().into_iter().flatten() {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
        let prompts = client.result("prompts/list", json!({}))?;
        assert!(names(&prompts["prompts"]).contains(&"fix_tests"), "{prompts}");
        let prompt =
            client.result("prompts/get", json!({"name": "fix_tests", "arguments": {"command": "make t"}}))?;
        assert!(
            prompt["messages"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("`make t`"))
        );
        let templates = client.result("resources/templates/list", json!({}))?;
        assert_eq!(templates["resourceTemplates"].as_array().map(Vec::len), Some(2));
        assert!(client.result("resources/list", json!({}))?["resources"].is_array());
        // Only the newest version has this field.
        assert_eq!(tools.get("resultType").is_some(), era == Era::Stateless, "{era:?}");
        let (status, errors) = client.close()?;
        assert!(status.success() && errors.is_empty(), "{era:?}: {status} {errors}");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_without_a_handshake_discovers_the_server() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Stateless)?;
    let found = client.result("server/discover", json!({}))?;
    let versions = found["supportedVersions"].as_array().cloned().unwrap_or_default();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")), "{found}");
    assert!(found["capabilities"]["extensions"].get("io.modelcontextprotocol/tasks").is_some(), "{found}");
    assert!(found["instructions"].as_str().is_some_and(|text| text.contains("wait")), "{found}");
    // The same connection then calls a tool without any other exchange.
    let text = client.text("exec_command", &json!({"cmd": "echo discovered"}))?;
    assert!(text.contains("discovered"), "{text}");
    // What every request must say is asked for.
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "method": "tools/list", "params": {}}))?;
    assert_eq!(client.answer(99)?["error"]["code"], -32602);
    Ok(())
}

#[tokio::test]
async fn a_handshake_agrees_on_a_version_that_both_know() -> Result<()> {
    let worker = TestWorker::small().await?;
    for (asked, agreed) in
        [("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25")]
    {
        let mut client = McpClient::of(command(&worker, &[])?, Era::Handshake("any"))?;
        let answer = client.initialize(asked)?;
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{asked}: {answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "headwater");
        assert!(client.text("exec_command", &json!({"cmd": "echo ok"}))?.contains("ok"));
    }
    Ok(())
}
