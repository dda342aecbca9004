//! `kill`, `list_executions` and the limit of live commands.

use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use headwater_protocol::{ExecutionState, StartSpec};
use headwater_tests::host::Marker;
use headwater_tools::{MAX_LIVE, number_of};
use serde_json::json;

use crate::{Desk, Reply};

#[tokio::test]
async fn kill_ends_a_command_with_its_children() -> Result<()> {
    let desk = Desk::new().await?;
    let marker = Marker::new();
    let word = marker.on(StartSpec::shell("")).env["MARKER"].clone();
    let cmd =
        format!("export MARKER={word}; bash -c 'sleep 300 & setsid sleep 300 & echo up; wait'; sleep 300");
    let number = desk.begin(&cmd).await?.number()?;
    let killed = desk.call("kill", json!({"session_id": number})).await?;
    assert!(
        killed.text().starts_with(&format!("Session {number} has ended, with all its children")),
        "{}",
        killed.text()
    );
    assert_eq!(killed.exit_code(), Some(143));
    marker.count_becomes(0).await?;
    let again = desk.call("kill", json!({"session_id": number})).await?;
    assert!(again.text().contains("had ended before"), "{}", again.text());
    let poll = desk.call("write_stdin", json!({"session_id": number})).await?;
    assert!(
        poll.exit_code() == Some(143) && poll.text().contains("the command was ended"),
        "{}",
        poll.text()
    );
    Ok(())
}

#[tokio::test]
async fn kill_ends_a_daemon_that_no_longer_holds_the_output() -> Result<()> {
    let desk = Desk::new().await?;
    let marker = Marker::new();
    let word = marker.on(StartSpec::shell("")).env["MARKER"].clone();
    let cmd = format!("MARKER={word} setsid sleep 300 < /dev/null > /dev/null 2>&1 &");
    let ended = desk.call("exec_command", json!({"cmd": cmd, "yield_time_ms": 30_000})).await?;
    assert_eq!(ended.exit_code(), Some(0));
    let id = ended.execution();
    desk.client.wait(id, headwater_tests::host::PATIENCE, true).await?;
    marker.count_becomes(1).await?;
    let killed = desk.call("kill", json!({"session_id": id.to_string()})).await?;
    assert!(killed.text().contains("its children that still ran have ended now"), "{}", killed.text());
    marker.count_becomes(0).await?;
    let again = desk.call("kill", json!({"session_id": id.to_string()})).await?;
    assert!(again.text().contains("had ended before."), "{}", again.text());
    Ok(())
}

#[tokio::test]
async fn kill_sends_signals() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "trap 'echo usr1' USR1; trap 'echo int; exit 4' INT; echo up; while :; do sleep 0.05; done";
    let number = desk.begin(cmd).await?.number()?;
    let sent = desk.call("kill", json!({"session_id": number, "signal": "SIGUSR1", "tree": false})).await?;
    assert!(sent.text().contains("got the signal and still runs"), "{}", sent.text());
    desk.call("wait", json!({"session_ids": [number], "until": {"match": "^usr1"}})).await?;
    desk.call("kill", json!({"session_id": number, "signal": "INT"})).await?;
    let ended = desk.rest(number).await?;
    assert_eq!((ended.exit_code(), ended.printed().contains("int\n")), (Some(4), true), "{}", ended.text());
    Ok(())
}

#[tokio::test]
async fn a_list_has_the_commands_of_this_agent_only() -> Result<()> {
    let desk = Desk::new().await?;
    let empty = desk.call("list_executions", json!({})).await?;
    assert_eq!(empty.text(), "No commands. exec_command starts one.");
    desk.worker.begin_in(desk.agent.session(), &StartSpec::shell("sleep 300")).await?;
    desk.call("exec_command", json!({"cmd": "echo x; exit 2"})).await?;
    let number = desk.begin("echo up; exec sleep 300").await?.number()?;
    let all = desk.call("list_executions", json!({})).await?;
    let lines: Vec<&str> = all.text().lines().collect();
    assert_eq!(lines.len(), 2, "{}", all.text());
    assert!(lines[0].starts_with(&format!("session ID {number}: running, ")), "{}", lines[0]);
    assert!(
        lines[1].contains("exited with code 2") && lines[1].ends_with("2 bytes printed: echo x; exit 2"),
        "{}",
        lines[1]
    );
    let running = desk.call("list_sessions", json!({"running": true})).await?;
    assert_eq!(running.json()["executions"].as_array().unwrap().len(), 1);
    Ok(())
}

#[tokio::test]
async fn starts_at_the_same_time_never_exceed_the_limit_and_every_ended_command_is_named() -> Result<()> {
    const STARTS: usize = MAX_LIVE + 16;
    let desk = Desk::new().await?;
    let client = desk.worker.client().await?;
    let live = async || {
        let all = client.executions_in_brief(desk.agent.session()).await?;
        let closed = |state: &ExecutionState| matches!(state, ExecutionState::Closed { .. });
        Ok::<_, anyhow::Error>(
            all.iter().filter(|one| !closed(&one.state)).map(|one| one.id).collect::<Vec<_>>(),
        )
    };
    let run = json!({"cmd": "exec sleep 300", "yield_time_ms": 250});
    let mut starting = pin!(try_join_all((0..STARTS).map(|_| desk.call("exec_command", run.clone()))));
    let mut most = 0;
    let replies = loop {
        tokio::select! {
            replies = &mut starting => break replies?,
            counted = live() => most = most.max(counted?.len()),
        }
    };
    let left = live().await?;
    assert!(most <= MAX_LIVE && left.len() == MAX_LIVE, "{most} at once, {} left", left.len());
    // A note names the one that was ended; the call that started it may have reported it as ended itself.
    let said: Vec<&str> = replies.iter().map(Reply::text).collect();
    for reply in replies.iter().filter(|reply| !left.contains(&reply.execution())) {
        let named = format!(": session {} (`exec sleep 300`) was ended", number_of(reply.execution()));
        assert_eq!(said.iter().filter(|text| text.contains(&named)).count(), 1, "{named}");
    }
    Ok(())
}

#[tokio::test]
async fn a_start_that_fails_or_is_cancelled_leaves_its_place_to_others() -> Result<()> {
    let desk = Desk::new().await?;
    let none = json!({"cmd": "true", "workdir": "/no/such/folder"});
    for _ in 0..3 {
        try_join_all((0..MAX_LIVE / 2).map(|_| desk.refused("exec_command", none.clone()))).await?;
        let cancelled = desk.call("exec_command", json!({"cmd": "true", "on_disconnect": "kill"}));
        let _ = tokio::time::timeout(Duration::from_millis(1), cancelled).await;
    }
    let reply = desk.call("exec_command", json!({"cmd": "echo room"})).await?;
    assert!(reply.text().contains("room\n") && !reply.text().contains("limit of"), "{}", reply.text());
    Ok(())
}

#[tokio::test]
async fn one_command_more_than_the_limit_ends_the_least_recently_used_one_and_says_so() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "echo up; exec sleep 300";
    let first = desk.begin(cmd).await?.number()?;
    let second = desk.begin(cmd).await?.number()?;
    let others = try_join_all((2..MAX_LIVE).map(|_| desk.begin(cmd))).await?;
    assert!(others.iter().all(|reply| !reply.text().contains("limit of")));
    desk.call("read_output", json!({"session_id": second})).await?;
    desk.call("write_stdin", json!({"session_id": first, "chars": " "})).await?;
    let running = async || {
        let list = desk.call("list_executions", json!({"running": true})).await?;
        let rows = list.json()["executions"].as_array().unwrap().clone();
        Ok::<Vec<u64>, anyhow::Error>(rows.iter().filter_map(|row| row["session_id"].as_u64()).collect())
    };
    assert_eq!(running().await?.len(), MAX_LIVE);
    let more = desk.begin(cmd).await?;
    let note =
        format!("[limit of {MAX_LIVE} live commands: session {second} (`{cmd}`) was ended to make room;");
    assert!(more.text().contains(&note), "{}", more.text());
    let left = running().await?;
    assert!(left.len() == MAX_LIVE && left.contains(&first) && !left.contains(&second), "{left:?}");
    let kept = desk.call("read_output", json!({"session_id": second})).await?;
    assert!(kept.text().starts_with("up\n"), "{}", kept.text());
    Ok(())
}
