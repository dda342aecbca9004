//! Calls as streams, and calls that outlive a kill of the server.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_of, text};
use serde_json::{Value, json};

use crate::calls::{call, called, content, number};

/// A shell command that waits until the file exists.
fn waits_for(file: &str) -> String {
    format!("while [ ! -e {file} ]; do sleep 0.05; done")
}

#[tokio::test]
async fn a_stream_shows_progress_while_the_program_runs_and_ends_with_the_result() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let path = format!("/v1/tools/exec_command?session={session}");
    let cmd = format!("echo first; {}; echo second", waits_for("go"));
    let mut stream = api.post_stream(&path, &json!({"cmd": cmd, "yield_time_ms": 30_000})).await?;
    let mut progress = Value::Null;
    while !text(&progress["lines"]).contains("first") {
        let event = stream.next().await?.context("no progress")?;
        ensure!(event.event.as_deref() == Some("progress"), "{event:?}");
        progress = event.json()?;
    }
    ensure!(progress["bytes"].as_u64() >= Some(6), "{progress}");
    let execution = text(&progress["execution_id"]);
    // It waits for what only this makes: so it had not ended.
    api.run_in(&session, "touch go").await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await? {
        events.push(event);
    }
    let (last, before) = events.split_last().context("no result")?;
    ensure!(last.event.as_deref() == Some("result"), "{last:?}");
    ensure!(before.iter().all(|event| event.event.as_deref() == Some("progress")), "{events:?}");
    let counts: Vec<u64> = before.iter().filter_map(|event| event.json().ok()?["bytes"].as_u64()).collect();
    ensure!(counts.is_sorted(), "{counts:?}");
    let result = last.json()?;
    ensure!(result["is_error"] == false && content(&result).contains("first\nsecond"), "{result}");
    ensure!(result["execution_ids"] == json!([execution]), "{result}");
    Ok(())
}

#[tokio::test]
async fn a_stream_of_a_failed_call_has_its_error_and_a_refused_one_its_status() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let mut stream = api.post_stream("/v1/tools/exec_command", &json!({"command": "ls"})).await?;
    let event = stream.next().await?.context("no result")?;
    ensure!(event.event.as_deref() == Some("result") && event.json()?["is_error"] == true, "{event:?}");
    ensure!(stream.next().await?.is_none());
    let accept = [("Accept", "text/event-stream")];
    let unknown = api.send("POST", "/v1/tools/no_such_tool", &accept, &json!({})).await?;
    error_of(&unknown, 404)?;
    Ok(())
}

#[tokio::test]
async fn a_caller_that_disconnects_ends_the_waiting_and_not_the_program() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    let path = format!("/v1/tools/exec_command?{q}");
    let cmd = format!("echo begun; {}; echo done", waits_for("go"));
    let mut stream = api.post_stream(&path, &json!({"cmd": cmd, "yield_time_ms": 30_000})).await?;
    let execution = text(&stream.json().await?["execution_id"]);
    drop(stream);
    let history = format!("/v1/sessions/{session}/tool-calls");
    let left = async || api.json(&history).await.is_ok_and(|list| list["items"][0]["tool"] == "exec_command");
    eventually("the call is in the history", left).await?;
    let row = api.json(&history).await?["items"][0].clone();
    ensure!(row["result"] == Value::Null && row["is_error"] == false, "{row}");
    ensure!(api.execution(&execution).await?["state"] == "running");
    api.run_in(&session, "touch go").await?;
    let rest = called(&api, "wait", &q, &json!({"session_ids": [execution], "timeout_ms": 60_000})).await?;
    ensure!(content(&rest).contains("done"), "{rest}");
    Ok(())
}

#[tokio::test]
async fn after_a_kill_of_the_server_in_a_wait_the_next_call_has_everything() -> Result<()> {
    let mut server = TestServer::small().await?;
    let session = server.api().session(&json!({})).await?;
    let q = format!("session={session}");
    let cmd = format!("echo one; {}; echo two", waits_for("go"));
    let start = json!({"cmd": cmd, "yield_time_ms": 250});
    let id = number(&called(&server.api(), "exec_command", &q, &start).await?)?;
    let wait = json!({"session_ids": [id], "timeout_ms": 600_000});
    let api = server.api();
    let (waiting, body, query) = (api.clone(), wait.clone(), q.clone());
    let waits = tokio::spawn(async move { call(&waiting, "wait", &query, &body).await });
    // It waits as soon as its request has arrived; a kill before that is as good.
    let begun = async || api.json("/v1/info").await.is_ok();
    eventually("the server answers", begun).await?;
    server.kill_gateway().await?;
    ensure!(waits.await?.is_err(), "the server was killed");
    let api = server.api();
    api.run_in(&session, "touch go").await?;
    let rest = called(&api, "wait", &q, &wait).await?;
    ensure!(content(&rest).contains("two"), "{rest}");
    let all = called(&api, "read_output", &q, &json!({"session_id": id})).await?;
    ensure!(content(&all).contains("one\ntwo"), "{all}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_stops_ends_a_wait_and_says_that_the_program_runs_on() -> Result<()> {
    let mut server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let path = format!("/v1/tools/exec_command?session={session}");
    let cmd = json!({"cmd": "echo begun; sleep 600", "yield_time_ms": 30_000});
    let mut stream = api.post_stream(&path, &cmd).await?;
    let execution = text(&stream.json().await?["execution_id"]);
    server.terminate()?;
    let last = stream.next().await?.context("no last event")?;
    ensure!(last.event.as_deref() == Some("error") && last.data.contains("list_executions"), "{last:?}");
    server.start_again().await?;
    ensure!(!execution.is_empty());
    Ok(())
}
