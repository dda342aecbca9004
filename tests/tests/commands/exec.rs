//! `exec_command`: what it starts, and what it returns.

use anyhow::Result;
use headwater_tests::host::eventually;
use serde_json::json;

use crate::{Desk, until_up};

#[tokio::test]
async fn a_result_has_the_text_that_models_know() -> Result<()> {
    let desk = Desk::new().await?;
    let ended = desk.call("exec_command", json!({"cmd": "echo out; echo err >&2; exit 3"})).await?;
    let lines: Vec<&str> = ended.text().split('\n').collect();
    let (chunk, wall) = (lines[0].strip_prefix("Chunk ID: "), lines[1].strip_prefix("Wall time: "));
    assert!(
        chunk.is_some_and(|id| id.len() == 6 && id.chars().all(|ch| ch.is_ascii_hexdigit())),
        "{lines:?}"
    );
    let seconds = wall.and_then(|wall| wall.strip_suffix(" seconds")).expect("the wall time");
    assert!(seconds.parse::<f64>()? > 0.0 && seconds.split('.').nth(1).unwrap().len() == 4, "{seconds}");
    let rest = ["Process exited with code 3", "Original token count: 2", "Output:", "out", "err", ""];
    assert_eq!(lines[2..], rest);
    assert_eq!(ended.json()["output"], ended.text());
    assert_eq!((ended.exit_code(), &ended.json()["session_id"]), (Some(3), &json!(null)));
    let running = desk.begin("echo up; exec sleep 300").await?;
    assert!(running.text().contains(&format!("\nProcess running with session ID {}\n", running.number()?)));
    Ok(())
}

#[tokio::test]
async fn a_background_child_does_not_hold_the_call() -> Result<()> {
    let desk = Desk::new().await?;
    let asked = json!({"cmd": "sleep 300 & echo started", "yield_time_ms": 30_000});
    let reply = desk.call("exec_command", asked).await?;
    assert_eq!((reply.exit_code(), reply.printed()), (Some(0), "started\n"));
    let processes = desk.client.processes(reply.execution()).await?;
    assert_eq!(processes.len(), 1, "the child runs on: {processes:?}");
    Ok(())
}

#[tokio::test]
async fn output_of_children_after_the_end_is_found_by_a_later_call() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "mkfifo gate; (read x < gate; echo late) & echo started";
    let first = desk.call("exec_command", json!({"cmd": cmd, "yield_time_ms": 30_000})).await?;
    assert_eq!((first.exit_code(), first.printed()), (Some(0), "started\n"));
    let id = first.execution().to_string();
    desk.call("exec_command", json!({"cmd": "echo go > gate"})).await?;
    let later = desk.call("wait", json!({"session_ids": [id], "until": {"match": "late"}})).await?;
    assert_eq!((later.exit_code(), later.printed()), (Some(0), "late\n"), "{}", later.text());
    Ok(())
}

#[tokio::test]
async fn the_environment_is_fit_for_a_model() -> Result<()> {
    let desk = Desk::new().await?;
    let plain = desk.call("exec_command", json!({"cmd": "env"})).await?;
    let has = |line: &str| plain.output().lines().any(|found| found == line);
    for line in
        ["NO_COLOR=1", "TERM=dumb", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "LC_CTYPE=C.UTF-8", "COLORTERM="]
    {
        assert!(has(line), "{line} is not in {}", plain.output());
    }
    assert!(has("PAGER=cat") && has("GIT_PAGER=cat") && has("GH_PAGER=cat"), "{}", plain.output());
    assert!(!plain.output().contains("CODEX"), "{}", plain.output());
    let on_terminal = desk.call("exec_command", json!({"cmd": "echo $TERM", "tty": true})).await?;
    assert!(on_terminal.output().contains("xterm-256color"), "{}", on_terminal.output());
    Ok(())
}

#[tokio::test]
async fn a_wrong_workdir_is_a_clear_error() -> Result<()> {
    let desk = Desk::new().await?;
    for tool in ["exec_command", "shell_command"] {
        let field = if tool == "exec_command" { "cmd" } else { "command" };
        let error = desk.refused(tool, json!({field: "ls", "workdir": "no/such"})).await?;
        assert!(error.contains("no/such") && error.contains("Set workdir to a directory"), "{error}");
        assert!(!error.contains('{') && !error.contains("Os"), "no debug output: {error}");
    }
    desk.call("exec_command", json!({"cmd": "mkdir sub"})).await?;
    let inside = desk.call("exec_command", json!({"cmd": "pwd", "workdir": "sub"})).await?;
    assert_eq!(inside.output(), "/workspace/sub\n");
    Ok(())
}

#[tokio::test]
async fn a_command_has_the_metadata_of_its_call() -> Result<()> {
    let desk = Desk::new().await?;
    let reply = desk.call("exec_command", json!({"cmd": "true"})).await?;
    let metadata = desk.client.execution(reply.execution()).await?.spec.metadata;
    let of = |key: &str| metadata.get(key).map(String::as_str);
    assert_eq!(
        (of("agent"), of("tool_name"), of("tool_call_id")),
        (Some("tester"), Some("exec_command"), Some("call_1"))
    );
    assert!(of("tool_args").is_some_and(|args| args.contains(r#""cmd":"true""#)), "{metadata:?}");
    Ok(())
}

#[tokio::test]
async fn a_patch_in_a_shell_command_is_not_run_by_a_shell() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+$HOME\n*** End Patch\nEOF\n";
    let request = crate::request("exec_command", json!({"cmd": cmd}))?;
    let outcome = desk.agent.call(request, None).await;
    assert!(outcome.executions.is_empty() && !outcome.text.contains("command not found"), "{}", outcome.text);
    let error = desk.refused("exec_command", json!({"cmd": cmd, "workdir": "sub"})).await?;
    assert!(error.contains("relative to the workspace"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_time_limit_ends_a_command_and_keeps_its_output() -> Result<()> {
    let desk = Desk::new().await?;
    let asked = json!({"cmd": "echo up; sleep 300", "timeout_ms": 500, "yield_time_ms": 30_000});
    let reply = desk.call("exec_command", asked).await?;
    assert_eq!(reply.printed(), "up\n");
    assert!(reply.text().contains("timed out after 500 ms"), "{}", reply.text());
    assert_eq!(reply.exit_code(), Some(143));
    Ok(())
}

#[tokio::test]
async fn a_cancelled_call_ends_only_the_waiting_unless_it_asked_for_more() -> Result<()> {
    let desk = Desk::new().await?;
    for (choice, runs_on) in [("keep", true), ("kill", false)] {
        let asked =
            json!({"cmd": "echo up; exec sleep 300", "yield_time_ms": 30_000, "on_disconnect": choice});
        let (agent, request) = (desk.agent.clone(), crate::request("exec_command", asked)?);
        let waiting = tokio::spawn(async move { agent.call(request, None).await });
        let mut id = None;
        eventually("the command runs", async || {
            let running = desk.client.running_in_brief(None).await.unwrap_or_default();
            let found = running.into_iter().find(|execution| {
                execution.spec.metadata["tool_args"].contains(choice) && execution.output_bytes == 3
            });
            id = found.map(|execution| execution.id);
            id.is_some()
        })
        .await?;
        let id = id.expect("it was found");
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        if runs_on {
            let poll = desk.call(
                "write_stdin",
                json!({"session_id": id.to_string(), "chars": "\u{3}", "yield_time_ms": 30_000}),
            );
            let poll = poll.await?;
            assert_eq!((poll.exit_code(), poll.printed()), (Some(130), "up\n"), "{}", poll.text());
        } else {
            let ended = desk.client.wait(id, headwater_tests::host::PATIENCE, false).await?;
            assert!(ended.state.verdict().is_some(), "{:?}", ended.state);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_command_starts_ends_the_command() -> Result<()> {
    let desk = Desk::new().await?;
    for round in 0..10 {
        let asked = json!({"cmd": format!("exec sleep 30{round}"), "on_disconnect": "kill"});
        let (agent, request) = (desk.agent.clone(), crate::request("exec_command", asked)?);
        let waiting = tokio::spawn(async move { agent.call(request, None).await });
        for _ in 0..round * 20 {
            tokio::task::yield_now().await;
        }
        waiting.abort();
        let _ = waiting.await;
    }
    // A positive control, which also orders the starts before it.
    desk.call("exec_command", until_up("echo up; exec sleep 300")).await?;
    eventually("only the last one runs", async || {
        desk.client.running_in_brief(None).await.is_ok_and(|running| running.len() == 1)
    })
    .await
}
