//! Tools of MCP servers.

use anyhow::Result;
use headwater_agent::McpServer;
use headwater_protocol::conversation::ToolCallState;
use headwater_tests::host::eventually;
use headwater_tools::policy::ApprovalPolicy;
use serde_json::json;

use crate::harness::{Desk, Script, calls, says, tool_calls};

/// A server that reads lines and answers them, as small as the protocol allows.
pub(crate) const SERVER: &str = r#"
import json, os, sys
def answer(message, result):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        answer(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        answer(message, {"tools": [{"name": "echo", "description": "Says it again.", "inputSchema": schema}]})
    elif method == "tools/call":
        text = message["params"]["arguments"]["text"]
        said = f"{text} from {os.getcwd()} with {os.environ['KEY']}"
        answer(message, {"content": [{"type": "text", "text": said}]})
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}}), flush=True)
"#;

fn server() -> McpServer {
    let command = ["python3", "-c", SERVER].map(str::to_owned).to_vec();
    McpServer::Stdio { command, env: [("KEY".to_owned(), "value".to_owned())].into() }
}

async fn desk() -> Result<Desk> {
    let desk = Desk::new().await?;
    desk.place.servers.lock().unwrap().insert("my".into(), server());
    Ok(desk)
}

#[tokio::test]
async fn a_server_on_stdio_runs_in_the_session_and_its_tools_can_be_called() -> Result<()> {
    let desk = desk().await?;
    let model = Script::new([calls(&[("mcp__my__echo", json!({"text": "hello"}))]), says("done")]);
    desk.ask("go", &model).await?;
    assert_eq!(desk.output(0).text, "hello from /workspace with value");
    let tools = &model.prompts()[0].tools;
    assert!(tools.iter().any(|tool| tool.name == "mcp__my__echo" && tool.description == "Says it again."));
    // It ends with the turn.
    let client = desk.worker.client().await?;
    eventually("the end of the server", async || {
        client.executions(None, true).await.is_ok_and(|running| running.is_empty())
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_a_problem_that_the_model_reads() -> Result<()> {
    let desk = desk().await?;
    let broken = ["sh", "-c", "echo no such thing >&2; exit 1"].map(str::to_owned).to_vec();
    let gone = McpServer::Http { url: "http://127.0.0.1:9/mcp".into(), headers: [].into() };
    let mut servers = [("broken".to_owned(), McpServer::Stdio { command: broken, env: [].into() })].to_vec();
    servers.push(("gone".to_owned(), gone));
    desk.place.servers.lock().unwrap().extend(servers);
    let model = Script::new([calls(&[("mcp__my__echo", json!({"text": "hello"}))]), says("done")]);
    desk.ask("go", &model).await?;
    assert!(desk.output(0).text.starts_with("hello"));
    let system = &model.prompts()[0].system;
    assert!(system.contains("`broken` cannot be used") && system.contains("no such thing"), "{system}");
    assert!(system.contains("`gone` cannot be used"), "{system}");
    Ok(())
}

#[tokio::test]
async fn with_the_strictest_policy_a_person_is_asked_before_a_tool_of_a_server_runs() -> Result<()> {
    let mut desk = desk().await?;
    desk.settings.approval = ApprovalPolicy::UnlessTrusted;
    let model = Script::new([calls(&[("mcp__my__echo", json!({"text": "hello"}))])]);
    let running = desk.begin("go", &model).await?;
    let asks = |now: &headwater_protocol::conversation::Conversation| {
        tool_calls(now).iter().any(|call| call.state == ToolCallState::Waiting)
    };
    let now = desk.journal.until("the question", asks).await?;
    assert!(tool_calls(&now)[0].approval.as_ref().unwrap().text.contains("`echo` of the MCP server `my`"));
    desk.stop.cancel();
    running.await?;
    Ok(())
}
