//! A worker that is killed in the middle of a call.

use anyhow::Result;
use headwater_tests::host::eventually;
use serde_json::json;

use crate::{Desk, call, request};

#[tokio::test]
async fn a_wait_over_a_killed_worker_has_everything_and_so_has_the_next_call() -> Result<()> {
    let mut desk = Desk::new().await?;
    let cmd = "mkfifo gate; echo up; seq 1 1000; read x < gate; seq 1001 2000; exit 6";
    let started = desk.begin(cmd).await?;
    let (number, id) = (started.number()?, started.execution());
    let mut printed = started.printed().to_owned();
    let (agent, asked) = (desk.agent.clone(), request("wait", json!({"session_ids": [number]}))?);
    let waiting = tokio::spawn(async move { agent.call(asked, None).await });
    eventually("the first half is in the log", async || {
        desk.client.execution(id).await.is_ok_and(|execution| execution.output_bytes > 3000)
    })
    .await?;
    desk.worker.kill();
    // The program goes on while no worker runs.
    let gate = desk.worker.workspace(desk.agent.session()).join("gate");
    tokio::task::spawn_blocking(move || std::fs::write(gate, "go\n")).await??;
    desk.worker.start_again().await?;
    let outcome = waiting.await?;
    assert!(!outcome.is_error, "{}", outcome.text);
    let reply = crate::Reply(outcome);
    assert_eq!(reply.exit_code(), Some(6), "{}", reply.text());
    printed.push_str(reply.printed());
    let expected: String = (1..=2000).map(|n| format!("{n}\n")).collect();
    assert_eq!(printed, format!("up\n{expected}"));
    let again = desk.call("write_stdin", json!({"session_id": number})).await?;
    assert!(again.exit_code() == Some(6) && again.text().contains("no new output"), "{}", again.text());
    // An agent that remembers nothing reads from the beginning, by the same number.
    let reborn = call(&desk.reborn().await?, "write_stdin", json!({"session_id": number})).await?;
    assert_eq!((reborn.exit_code(), reborn.printed()), (Some(6), format!("up\n{expected}").as_str()));
    Ok(())
}
