//! Tasks: executions that a client polls.

use anyhow::{Context, Result};
use headwater_tests::TestWorker;
use headwater_tests::host::eventually;
use serde_json::{Value, json};

use crate::client::{Era, McpClient, command, project, text_of};
use crate::person::{self, Say};

const LEGACY: Era = Era::Handshake("2025-11-25");

fn task_of(answer: &Value) -> Result<String> {
    Ok(answer["taskId"].as_str().with_context(|| format!("no task: {answer}"))?.to_owned())
}

#[tokio::test]
async fn a_call_of_2025_becomes_a_task_that_is_polled_and_read() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::of(command(&worker, &[])?, LEGACY)?;
    let capabilities = client.initialize("2025-11-25")?["result"]["capabilities"].take();
    assert!(capabilities["tasks"]["requests"]["tools"].get("call").is_some(), "{capabilities}");
    let tools = client.result("tools/list", json!({}))?;
    let support = |name: &str| {
        let all = tools["tools"].as_array().cloned().unwrap_or_default();
        all.iter().find(|tool| tool["name"] == name).map(|tool| tool["execution"]["taskSupport"].clone())
    };
    assert_eq!(support("exec_command"), Some(json!("optional")));
    assert_eq!(support("read_file"), Some(Value::Null));

    let arguments =
        json!({"command": "echo begun; read line < gate; echo got $line; exit 4", "timeout_ms": 600_000});
    client.text("exec_command", &json!({"cmd": "mkfifo gate"}))?;
    let made = client.result(
        "tools/call",
        json!({"name": "shell_command", "arguments": arguments, "task": {"ttl": 60_000}}),
    )?;
    let task = task_of(&made["task"])?;
    assert_eq!(made["task"]["status"], "working", "{made}");
    assert!(made["task"]["createdAt"].as_str().is_some_and(|time| time.starts_with("20")), "{made}");
    assert_eq!(client.result("tasks/get", json!({"taskId": task}))?["status"], "working");
    let listed = client.result("tasks/list", json!({}))?;
    assert!(
        listed["tasks"].as_array().is_some_and(|all| all.iter().any(|one| one["taskId"] == task.as_str()))
    );

    // The result is waited for.
    let result = client.begin("tasks/result", json!({"taskId": task}))?;
    client.text("exec_command", &json!({"cmd": "echo data > gate"}))?;
    let result = client.answer(result)?["result"].take();
    assert!(text_of(&result).contains("begun\ngot data\n"), "{result}");
    assert_eq!(result["structuredContent"]["exit_code"], 4, "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task.as_str());
    let ended = client.result("tasks/get", json!({"taskId": task}))?;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(ended["statusMessage"].as_str().is_some_and(|text| text.contains("exit code 4")), "{ended}");
    assert_eq!(client.request("tasks/cancel", json!({"taskId": task}))?["error"]["code"], -32602);
    Ok(())
}

#[tokio::test]
async fn a_task_of_2025_is_cancelled_with_its_program() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, LEGACY)?;
    let made = client.result(
        "tools/call",
        json!({"name": "exec_command", "arguments": {"cmd": "sleep 1000"}, "task": {}}),
    )?;
    let task = task_of(&made["task"])?;
    let cancelled = client.result("tasks/cancel", json!({"taskId": task}))?;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert!(worker.client().await?.executions(None, true).await?.is_empty());
    for unknown in ["x", "exe_00000000000000000000000000000000"] {
        let answer = client.request("tasks/get", json!({"taskId": unknown}))?;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let refused =
        client.request("tools/call", json!({"name": "list_executions", "arguments": {}, "task": {}}))?;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_long_call_of_2026_becomes_a_task_that_survives_the_server() -> Result<()> {
    let worker = TestWorker::small().await?;
    let session = worker.session().await?.to_string();
    let mut client = McpClient::with(&worker, Era::StatelessTasks, &["--session", &session])?;
    client.text("exec_command", &json!({"cmd": "mkfifo gate"}))?;
    // A short one is answered at once.
    let short = client.call("shell_command", &json!({"command": "echo short"}))?;
    assert!(text_of(&short).contains("short"), "{short}");
    let arguments = json!({"command": "echo begun; read line < gate; echo got $line", "timeout_ms": 600_000});
    let made = client.call("shell_command", &arguments)?;
    assert_eq!(made["resultType"], "task", "{made}");
    let task = task_of(&made)?;
    assert_eq!((&made["status"], &made["ttlMs"]), (&json!("working"), &Value::Null), "{made}");

    // It is the execution itself: another server has it too.
    drop(client);
    let mut client = McpClient::with(&worker, Era::StatelessTasks, &["--session", &session])?;
    assert_eq!(client.result("tasks/get", json!({"taskId": task}))?["status"], "working");
    client.text("exec_command", &json!({"cmd": "echo data > gate"}))?;
    let mut state = Value::Null;
    eventually("the task ends", async || {
        state = client.result("tasks/get", json!({"taskId": task})).unwrap_or_default();
        state["status"] == "completed"
    })
    .await?;
    assert!(text_of(&state["result"]).contains("got data"), "{state}");
    assert_eq!(state["result"]["structuredContent"]["exit_code"], 0, "{state}");
    Ok(())
}

#[tokio::test]
async fn only_clients_that_declare_tasks_get_them() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Stateless)?;
    let answer = client.request("tasks/get", json!({"taskId": "exe_00000000000000000000000000000000"}))?;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    let result =
        client.call("shell_command", &json!({"command": "sleep 6; echo done", "timeout_ms": 100_000}))?;
    assert!(text_of(&result).contains("done"), "{result}");
    Ok(())
}

#[tokio::test]
async fn a_task_of_2025_begins_after_the_person_has_allowed_its_command() -> Result<()> {
    let worker = TestWorker::small().await?;
    let made = project(&worker)?.join("made");
    let mut client = person::client(&worker, LEGACY, &["--approvals", "unless-trusted"])?;
    let call = json!({"name": "exec_command", "arguments": {"cmd": "touch made; echo done"}, "task": {}});
    let refused = client.begin("tools/call", call.clone())?;
    let (id, _) = client.asked()?;
    client.say(&id, Say::Refuse)?;
    let answer = client.answer(refused)?;
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("refused")), "{answer}");
    assert!(!made.exists());
    let allowed = client.begin("tools/call", call.clone())?;
    let (id, question) = client.asked()?;
    assert!(question["message"].as_str().is_some_and(|text| text.contains("touch made; echo done")));
    client.say(&id, Say::Once)?;
    let task = task_of(&client.answer(allowed)?["result"]["task"])?;
    let result = client.result("tasks/result", json!({"taskId": task}))?;
    assert!(text_of(&result).contains("done") && made.exists(), "{result}");
    // Without elicitation the reason is the error.
    let mut silent = McpClient::with(&worker, LEGACY, &["--approvals", "unless-trusted"])?;
    let answer = silent.request("tools/call", call)?;
    let reason = answer["error"]["message"].as_str().context("no error")?;
    assert!(reason.contains("a person must allow it"), "{reason}");
    Ok(())
}
