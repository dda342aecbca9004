//! How `headwater mcp` ends, and what it leaves.

use anyhow::Result;
use headwater_protocol::{Session, SessionState};
use headwater_tests::TestWorker;
use headwater_tests::host::eventually;
use rustix::process::Signal;
use serde_json::json;

use crate::client::{Era, McpClient, command};

const ERA: Era = Era::Handshake("2025-06-18");

async fn sessions(worker: &TestWorker) -> Result<Vec<Session>> {
    Ok(worker.client().await?.sessions(true).await?)
}

#[tokio::test]
async fn the_session_ends_with_its_client() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, ERA)?;
    client.text("exec_command", &json!({"cmd": "echo ok"}))?;
    let (status, errors) = client.close()?;
    assert!(status.success() && errors.is_empty(), "{status} {errors}");
    let all = sessions(&worker).await?;
    assert!(all.iter().all(|session| matches!(session.state, SessionState::Ended { .. })), "{all:?}");
    Ok(())
}

#[tokio::test]
async fn a_signal_ends_it_in_the_middle_of_a_call() -> Result<()> {
    let worker = TestWorker::small().await?;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut client = McpClient::start(&worker, ERA)?;
        client.text("exec_command", &json!({"cmd": "echo ok"}))?;
        client.begin(
            "tools/call",
            json!({"name": "exec_command", "arguments": {"cmd": "sleep 1000", "on_disconnect": "kill"}}),
        )?;
        client.signal(signal)?;
        let (status, errors) = client.end()?;
        assert!(status.success(), "{signal:?}: {status} {errors}");
    }
    // Neither the sessions nor the programs are left.
    let client = worker.client().await?;
    eventually("the programs end", async || {
        client.executions(None, true).await.is_ok_and(|running| running.is_empty())
    })
    .await
}

#[tokio::test]
async fn a_program_that_still_runs_keeps_its_session_for_a_while() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, ERA)?;
    client.text("exec_command", &json!({"cmd": "sleep 1000", "yield_time_ms": 250}))?;
    let (status, errors) = client.close()?;
    assert!(status.success() && errors.contains("still run"), "{status} {errors}");
    let all = sessions(&worker).await?;
    assert!(all[0].running == 1 && all[0].spec.idle_timeout_ms == Some(3_600_000), "{all:?}");
    Ok(())
}

#[tokio::test]
async fn a_session_that_was_named_is_left_as_it_was() -> Result<()> {
    let worker = TestWorker::small().await?;
    let session = worker.session().await?.to_string();
    let mut client = McpClient::with(&worker, ERA, &["--session", &session])?;
    client.text("exec_command", &json!({"cmd": "echo mine > file"}))?;
    client.close()?;
    let mut client = McpClient::with(&worker, ERA, &["--session", &session])?;
    assert!(client.text("exec_command", &json!({"cmd": "cat file"}))?.contains("mine"));
    client.close()?;
    assert!(matches!(sessions(&worker).await?[0].state, SessionState::Ready));
    Ok(())
}

#[tokio::test]
async fn it_starts_a_worker_if_none_is_running() -> Result<()> {
    let mut worker = TestWorker::small().await?;
    worker.terminate()?;
    let mut client = McpClient::start(&worker, ERA)?;
    assert!(client.text("exec_command", &json!({"cmd": "echo started"}))?.contains("started"));
    client.close()?;
    let stopped = worker.command().arg("stop").status()?;
    assert!(stopped.success());
    worker.start_again().await
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_on_standard_error() -> Result<()> {
    let worker = TestWorker::small().await?;
    for (words, code, said) in [
        (&["--folder", "/surely/missing"][..], 2, "/surely/missing"),
        (&["--session", "surely-missing"], 3, "surely-missing"),
        (&["--server", "http://127.0.0.1:1"], 2, "--server"),
        (&["--session", "x", "--network", "none"], 2, "--network"),
    ] {
        let output = command(&worker, words)?.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
        assert!(output.stdout.is_empty() && errors.contains(said), "{words:?}: {errors}");
    }
    Ok(())
}
