//! Every tool over HTTP, and how a call finds its session.

use anyhow::{Context, Result, ensure};
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

/// Calls a tool; its result, which may be a failure.
pub(crate) async fn call(api: &Api, tool: &str, query: &str, arguments: &Value) -> Result<Value> {
    let path = format!("/v1/tools/{tool}?{query}");
    json_of(&api.post(&path, arguments).await?, 200).with_context(|| format!("{tool} {arguments}"))
}

/// Calls a tool, which must not fail; its result.
pub(crate) async fn called(api: &Api, tool: &str, query: &str, arguments: &Value) -> Result<Value> {
    let result = call(api, tool, query, arguments).await?;
    ensure!(result["is_error"] == false, "{tool} {arguments}: {result}");
    Ok(result)
}

/// The text of a result.
pub(crate) fn content(result: &Value) -> String {
    text(&result["content"])
}

/// The session ID of a command that still runs.
pub(crate) fn number(result: &Value) -> Result<u64> {
    result["structured"]["session_id"].as_u64().with_context(|| format!("it does not run: {result}"))
}

/// A picture of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn every_tool_for_commands_works_over_http() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    let hello = called(&api, "exec_command", &q, &json!({"cmd": "echo Hello; exit 3"})).await?;
    ensure!(
        content(&hello).contains("Process exited with code 3") && content(&hello).contains("Hello"),
        "{hello}"
    );
    ensure!(hello["structured"]["exit_code"] == 3 && hello["session_id"] == session.as_str(), "{hello}");
    ensure!(hello["duration_ms"].is_u64(), "{hello}");
    let execution = text(&hello["execution_ids"][0]);
    ensure!(api.output(&execution, "merged").await? == "Hello\n", "the execution is one of the API");
    let shell =
        called(&api, "shell", &q, &json!({"command": ["sh", "-c", "echo out; echo err >&2"]})).await?;
    ensure!(content(&shell).contains("out") && content(&shell).contains("err"), "{shell}");
    let script = called(&api, "shell_command", &q, &json!({"command": "echo $((6 * 7))"})).await?;
    ensure!(content(&script).contains("42"), "{script}");
    let code = json!({"language": "python", "code": "print(input()[::-1])", "stdin": "olleh\n"});
    ensure!(content(&called(&api, "run_code", &q, &code).await?).contains("hello"));
    let started =
        called(&api, "exec_command", &q, &json!({"cmd": "cat", "tty": true, "yield_time_ms": 250})).await?;
    let id = number(&started)?;
    called(&api, "resize", &q, &json!({"session_id": id, "rows": 50, "cols": 132})).await?;
    called(&api, "write_stdin", &q, &json!({"session_id": id, "chars": "typed\n"})).await?;
    let until = json!({"session_ids": [id], "until": {"idle_ms": 500}, "timeout_ms": 60_000});
    called(&api, "wait", &q, &until).await?;
    let output = called(&api, "read_output", &q, &json!({"session_id": id})).await?;
    ensure!(content(&output).contains("typed"), "{output}");
    let listed = called(&api, "list_executions", &q, &json!({"running": true})).await?;
    ensure!(content(&listed).contains(&id.to_string()), "{listed}");
    called(&api, "kill", &q, &json!({"session_id": id})).await?;
    let ended = called(&api, "wait", &q, &json!({"session_ids": [id], "timeout_ms": 60_000})).await?;
    ensure!(!content(&ended).contains("running with session ID"), "{ended}");
    Ok(())
}

#[tokio::test]
async fn every_tool_for_files_works_over_http() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    called(&api, "write_file", &q, &json!({"file_path": "src/a.txt", "content": "one\ntwo\n"})).await?;
    let edit = json!({"file_path": "src/a.txt", "old_string": "two", "new_string": "three"});
    called(&api, "edit_file", &q, &edit).await?;
    let patch = "*** Begin Patch\n*** Add File: src/b.txt\n+four\n*** Update File: src/a.txt\n one\n-three\n+five\n*** End Patch";
    called(&api, "apply_patch", &q, &json!({"input": patch})).await?;
    let read = called(&api, "read_file", &q, &json!({"file_path": "src/a.txt"})).await?;
    ensure!(content(&read).contains("L1: one") && content(&read).contains("L2: five"), "{read}");
    let listed = called(&api, "list_dir", &q, &json!({"dir_path": "."})).await?;
    ensure!(content(&listed).contains("b.txt"), "{listed}");
    let found = called(&api, "grep_files", &q, &json!({"pattern": "fo.r"})).await?;
    ensure!(content(&found).contains("src/b.txt") && !content(&found).contains("a.txt"), "{found}");
    api.run_in(&session, &format!("echo {PNG} | base64 -d > dot.png")).await?;
    let seen = called(&api, "view_image", &q, &json!({"path": "dot.png"})).await?;
    ensure!(seen["image"]["media_type"] == "image/png" && seen["image"]["data"] == PNG, "{seen}");
    let missing = call(&api, "read_file", &q, &json!({"file_path": "none.txt"})).await?;
    ensure!(missing["is_error"] == true && content(&missing).contains("none.txt"), "{missing}");
    Ok(())
}

#[tokio::test]
async fn a_call_without_a_session_works_in_the_session_of_its_conversation_or_agent() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let make = json!({"cmd": "touch made; pwd"});
    let first = called(&api, "exec_command", "conversation_id=talk&agent=one", &make).await?;
    let look = json!({"cmd": "ls"});
    let same = called(&api, "exec_command", "conversation_id=talk&agent=two", &look).await?;
    ensure!(same["session_id"] == first["session_id"] && content(&same).contains("made"), "{same}");
    let other = called(&api, "exec_command", "conversation_id=other", &look).await?;
    ensure!(other["session_id"] != first["session_id"] && !content(&other).contains("made"), "{other}");
    let agent = called(&api, "exec_command", "agent=one", &look).await?;
    let again = called(&api, "list_executions", "agent=one", &json!({})).await?;
    ensure!(agent["session_id"] == again["session_id"] && agent["session_id"] != first["session_id"]);
    let default = called(&api, "exec_command", "", &look).await?;
    let named = called(&api, "exec_command", "session=agent:default", &look).await?;
    ensure!(default["session_id"] == named["session_id"], "{default} {named}");
    // What a tool starts is in the streams of its conversation.
    let of_talk = api.json("/v1/executions?conversation_id=talk").await?;
    let ids: Vec<_> =
        of_talk["items"].as_array().context("no list")?.iter().map(|item| text(&item["id"])).collect();
    ensure!(ids.contains(&text(&first["execution_ids"][0])), "{of_talk}");
    // A session that was deleted is replaced.
    json_of(&api.delete(&format!("/v1/sessions/{}", text(&first["session_id"]))).await?, 204)?;
    let next = called(&api, "exec_command", "conversation_id=talk", &look).await?;
    ensure!(next["session_id"] != first["session_id"] && !content(&next).contains("made"), "{next}");
    Ok(())
}

#[tokio::test]
async fn schemas_come_in_the_shape_of_each_provider() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    for (format, name, schema) in [
        ("openai", "/name", "/parameters"),
        ("openai_chat", "/function/name", "/function/parameters"),
        ("anthropic", "/name", "/input_schema"),
        ("mcp", "/name", "/inputSchema"),
    ] {
        let list = api.json(&format!("/v1/tools?format={format}")).await?;
        let tools = list["tools"].as_array().context("no list")?;
        let exec = tools.iter().find(|tool| tool.pointer(name) == Some(&json!("exec_command")));
        let exec = exec.with_context(|| format!("{format}: {list}"))?;
        ensure!(exec.pointer(schema).is_some_and(|schema| schema["properties"]["cmd"].is_object()), "{exec}");
        ensure!(tools.len() == 17, "{format}: {} tools", tools.len());
    }
    ensure!(api.json("/v1/tools").await? == api.json("/v1/tools?format=mcp").await?);
    let unknown = api.get("/v1/tools?format=odd").await?;
    ensure!(unknown.status == 400 && unknown.text().contains("anthropic"), "{}", unknown.text());
    Ok(())
}
