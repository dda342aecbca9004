//! Tasks over HTTP, in both versions.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::text;
use serde_json::json;

use crate::client::{HttpClient, STATELESS, text_of};

#[tokio::test]
async fn a_call_of_2025_becomes_a_task_over_http() -> Result<()> {
    let server = TestServer::small().await?;
    let mut client = HttpClient::new(&server.api(), "2025-11-25").await?;
    let capabilities = client.handshake().await?["capabilities"].take();
    assert!(capabilities["tasks"]["requests"]["tools"].get("call").is_some(), "{capabilities}");
    let tools = client.result("tools/list", json!({})).await?;
    let all = tools["tools"].as_array().cloned().unwrap_or_default();
    let shell = all.iter().find(|tool| tool["name"] == "shell_command");
    assert!(shell.is_some_and(|tool| tool["execution"]["taskSupport"] == "optional"), "{tools}");
    let call = json!({"name": "shell_command", "arguments": {"command": "echo done; exit 4"}, "task": {}});
    let task = text(&client.result("tools/call", call).await?["task"]["taskId"]);
    let result = client.result("tasks/result", json!({"taskId": task})).await?;
    assert!(text_of(&result).contains("done\n") && result["structuredContent"]["exit_code"] == 4, "{result}");
    let listed = client.result("tasks/list", json!({})).await?;
    assert_eq!(listed["tasks"][0]["taskId"], task.as_str());
    // Clients of versions without tasks do not learn of them.
    let capabilities =
        HttpClient::new(&server.api(), "2025-06-18").await?.handshake().await?["capabilities"].take();
    assert!(capabilities.get("tasks").is_none(), "{capabilities}");
    Ok(())
}

#[tokio::test]
async fn a_long_call_of_2026_becomes_a_task_that_a_killed_server_does_not_lose() -> Result<()> {
    let mut server = TestServer::small().await?;
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let client = HttpClient::with(&server.api(), STATELESS, tasks).await?;
    client.text("exec_command", &json!({"cmd": "mkfifo gate"})).await?;
    let command = "echo begun; read line < gate; echo got $line";
    let made = client.call("shell_command", &json!({"command": command, "timeout_ms": 600_000})).await?;
    assert_eq!(made["resultType"], "task", "{made}");
    let id = text(&made["taskId"]);
    server.kill_gateway().await?;
    assert_eq!(client.result("tasks/get", json!({"taskId": id})).await?["status"], "working");
    client.text("exec_command", &json!({"cmd": "echo data > gate"})).await?;
    let mut task = json!(null);
    eventually("the end of the task", async || {
        task = client.result("tasks/get", json!({"taskId": id})).await.unwrap_or_default();
        task["status"] == "completed"
    })
    .await?;
    assert!(text_of(&task["result"]).contains("begun\ngot data\n"), "{task}");
    Ok(())
}
