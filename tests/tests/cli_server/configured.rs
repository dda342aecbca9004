//! A configuration that was changed while a worker with the old one runs.

use anyhow::{Context, Result};
use headwater_tests::host::eventually;
use headwater_tests::{ServerOptions, TestServer};
use serde_json::Value;

use crate::command::{Running, answer, start};

fn config(server: &TestServer) -> Result<(Vec<Value>, String)> {
    let mut command = server.command();
    command.args(["config", "--json"]);
    let done = Running::start(command)?.finish()?;
    let lines = done.text().lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok((lines, done.errors()))
}

#[tokio::test]
async fn a_worker_with_another_configuration_is_named_and_replaced_and_its_programs_continue() -> Result<()> {
    let options =
        ServerOptions { config: Some("pool = 1\n[limits]\npids = 100\n".into()), ..ServerOptions::default() };
    let mut server = TestServer::with(options).await?;
    let mut program = start(&server, &["run", "--shell", "echo begun; read x; echo ended; exit 5"])?;
    program.stdout.until_printed("begun")?;
    let before = server.worker_pid().await?;
    assert_eq!(config(&server)?.1, "");
    server.terminate()?;
    std::fs::write(server.data().join("headwater.toml"), "pool = 1\n[limits]\npids = 77\n")?;
    let (settings, note) = config(&server)?;
    let pids = settings.iter().find(|one| one["key"] == "limits.pids").context("no setting")?;
    assert_eq!((&pids["value"], &pids["running"]), (&77.into(), &100.into()));
    assert!(note.contains("limits.pids") && note.contains("the running worker"), "{note}");
    server.start_again().await?;
    let changed = async || server.worker_pid().await.is_ok_and(|pid| pid != before);
    eventually("another worker runs", changed).await?;
    assert_eq!(config(&server)?.1, "");
    let session = server.api().session(&serde_json::json!({})).await?;
    let limits = server.api().json(&format!("/v1/sessions/{session}")).await?["limits"].clone();
    assert_eq!(limits["pids"], 77);
    program.write(b"\n")?;
    let done = program.finish()?;
    assert_eq!((done.code, done.text().as_str()), (Some(5), "begun\nended\n"), "{}", done.errors());
    assert_eq!(answer(&server, &["run", "--", "echo", "hi"])?, "hi");
    Ok(())
}
