//! Calls of tools: results, progress, cancellation.

use std::time::Instant;

use anyhow::{Context, Result};
use headwater_protocol::ExecutionState;
use headwater_tests::TestWorker;
use headwater_tests::host::eventually;
use serde_json::{Value, json};

use crate::client::{ERAS, Era, McpClient, text_of};

#[tokio::test]
async fn a_call_returns_its_text_and_the_same_as_structured_content() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in ERAS {
        let mut client = McpClient::start(&worker, era)?;
        let result =
            client.call("exec_command", &json!({"cmd": "echo to-stdout; echo to-stderr >&2; exit 3"}))?;
        let text = text_of(&result);
        assert!(text.contains("to-stdout") && text.contains("to-stderr"), "{text}");
        assert!(text.contains("Process exited with code 3"), "{text}");
        assert_ne!(result["isError"], true, "a command that fails is no failure of the tool");
        // Clients that show only this must not lose anything.
        assert_eq!(result["structuredContent"]["output"], text);
        assert_eq!(result["structuredContent"]["exit_code"], 3);
        let result = client.call("shell", &json!({"command": ["pwd"]}))?;
        assert_eq!(result["structuredContent"]["output"], text_of(&result));
    }
    Ok(())
}

#[tokio::test]
async fn a_tool_that_cannot_do_it_says_so_in_its_result() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    for (tool, arguments, said) in [
        ("exec_command", json!({"cmd": 1}), "cmd: invalid type"),
        ("exec_command", json!({"command": "x"}), "cmd (required)"),
        ("no_such_tool", json!({}), "The tools are: exec_command"),
        ("read_output", json!({"session_id": 4711}), "4711"),
        ("wait", json!({"session_ids": []}), "session_ids"),
    ] {
        let result = client.call(tool, &arguments)?;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text_of(&result).contains(said), "{tool}: {}", text_of(&result));
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
    // The text of an object is understood too: models send it.
    let result = client
        .result("tools/call", json!({"name": "exec_command", "arguments": "{\"cmd\": \"echo text\"}"}))?;
    assert!(text_of(&result).contains("text\n"), "{result}");
    Ok(())
}

#[tokio::test]
async fn a_command_that_outlives_its_call_is_waited_for_in_one_call() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    let started =
        client.call("exec_command", &json!({"cmd": "read line; echo got $line", "yield_time_ms": 250}))?;
    let id = &started["structuredContent"]["session_id"];
    assert!(id.is_number(), "{started}");
    let waiting = client.begin("tools/call", json!({"name": "wait", "arguments": {"session_ids": [id]}}))?;
    client.text("write_stdin", &json!({"session_id": id, "chars": "something\n"}))?;
    let waited = client.answer(waiting)?;
    assert!(waited["result"]["content"].to_string().contains("exited with code 0"), "{waited}");
    let all = client.text("read_output", &json!({"session_id": id}))?;
    assert!(all.contains("got something"), "{all}");
    Ok(())
}

#[tokio::test]
async fn progress_grows_strictly_and_comes_at_most_ten_times_a_second() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in [Era::Handshake("2025-06-18"), Era::Stateless] {
        let mut client = McpClient::start(&worker, era)?;
        let cmd = "for i in $(seq 1 60); do echo line $i; sleep 0.02; done";
        let params = json!({
            "name": "shell_command", "arguments": {"command": cmd, "timeout_ms": 100_000},
            "_meta": {"progressToken": "token"},
        });
        let (begin, id) = (Instant::now(), client.begin("tools/call", params)?);
        let answer = client.answer(id)?;
        let elapsed = begin.elapsed();
        assert!(text_of(&answer["result"]).contains("line 60"), "{answer}");
        assert!(!client.others.is_empty(), "no progress was reported");
        let most = elapsed.as_millis() / 100 + 1;
        assert!(client.others.len() as u128 <= most, "{} reports in {elapsed:?}", client.others.len());
        let mut last = 0.0;
        for report in &client.others {
            assert_eq!(report["method"], "notifications/progress");
            assert_eq!(report["params"]["progressToken"], "token");
            let progress = report["params"]["progress"].as_f64().context("no number")?;
            assert!(progress > last, "{progress} after {last}");
            last = progress;
            if let Some(message) = report["params"].get("message").and_then(Value::as_str) {
                assert!(message.starts_with("line ") && message.ends_with('\n'), "{message:?}");
            }
        }
        client.others.clear();
        assert!(client.is_silent(), "a report came after the result");
        // Without a token there are none.
        client.text("shell_command", &json!({"command": cmd, "timeout_ms": 100_000}))?;
        assert_eq!(client.others, Vec::<Value>::new());
    }
    Ok(())
}

/// The only execution of the worker, and whether it runs.
async fn only_execution(worker: &TestWorker) -> Result<Option<bool>> {
    let all = worker.client().await?.executions(None, false).await?;
    Ok(all.first().map(|execution| matches!(execution.state, ExecutionState::Running { .. })))
}

#[tokio::test]
async fn cancelling_a_call_stops_the_waiting_and_ends_the_program_only_if_it_was_asked_to() -> Result<()> {
    for (on_disconnect, survives) in [("keep", true), ("kill", false)] {
        let worker = TestWorker::small().await?;
        let mut client = McpClient::start(&worker, Era::Handshake("2025-11-25"))?;
        let arguments = json!({"cmd": "sleep 1000", "yield_time_ms": 30_000, "on_disconnect": on_disconnect});
        let id = client.begin("tools/call", json!({"name": "exec_command", "arguments": arguments}))?;
        eventually("the program runs", async || {
            only_execution(&worker).await.is_ok_and(|runs| runs == Some(true))
        })
        .await?;
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "the user pressed Esc"},
        }))?;
        // The connection is free at once, and the cancelled request is not answered.
        assert!(client.text("list_executions", &json!({}))?.contains("sleep 1000"));
        if survives {
            assert!(client.is_silent());
            assert_eq!(only_execution(&worker).await?, Some(true));
        } else {
            eventually("the program ends", async || {
                only_execution(&worker).await.is_ok_and(|runs| runs == Some(false))
            })
            .await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn calls_at_the_same_time_keep_their_outputs_apart() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    let mut ids = Vec::new();
    for n in 0..20 {
        let arguments = json!({"cmd": format!("echo begin-{n}; echo end-{n}"), "yield_time_ms": 30_000});
        ids.push(client.begin("tools/call", json!({"name": "exec_command", "arguments": arguments}))?);
    }
    for (n, id) in ids.into_iter().enumerate() {
        let answer = client.answer(id)?;
        let text = text_of(&answer["result"]);
        assert!(text.contains(&format!("begin-{n}\nend-{n}\n")), "{n}: {answer}");
        assert_eq!(text.matches("begin-").count(), 1, "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_wait_survives_a_kill_of_the_worker() -> Result<()> {
    let mut worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    let started =
        client.call("exec_command", &json!({"cmd": "read line; echo got $line", "yield_time_ms": 250}))?;
    let id = started["structuredContent"]["session_id"].clone();
    let waiting = client.begin("tools/call", json!({"name": "wait", "arguments": {"session_ids": [id]}}))?;
    worker.kill();
    worker.start_again().await?;
    client.text("write_stdin", &json!({"session_id": id, "chars": "after\n"}))?;
    let waited = client.answer(waiting)?;
    assert!(waited["result"]["content"].to_string().contains("exited with code 0"), "{waited}");
    assert!(client.text("read_output", &json!({"session_id": id}))?.contains("got after"));
    Ok(())
}
