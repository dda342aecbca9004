//! Many calls at once, and more programs than one agent may have.

use anyhow::{Result, ensure};
use futures_util::future::{join_all, try_join_all};
use headwater_tests::TestServer;
use serde_json::json;

use crate::calls::{called, content, number};

#[tokio::test]
async fn fifty_calls_at_once_keep_their_outputs_apart() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    let calls = (0..50).map(|n| {
        let (api, q) = (&api, &q);
        async move {
            let command = format!("for i in 1 2 3 4 5; do echo mark-{n}-; sleep 0.01; done");
            let arguments = json!({"command": command, "timeout_ms": 180_000});
            let text = content(&called(api, "shell_command", q, &arguments).await?);
            let marks: Vec<_> = text.lines().filter(|line| line.starts_with("mark-")).collect();
            ensure!(marks == vec![format!("mark-{n}-"); 5], "{n}: {text}");
            Ok(())
        }
    });
    try_join_all(calls).await.map(drop)
}

#[tokio::test]
async fn one_agent_has_at_most_64_running_programs_and_reads_which_one_ended() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    let run = json!({"cmd": "sleep 600", "yield_time_ms": 250});
    let results = join_all((0..64).map(|_| called(&api, "exec_command", &q, &run))).await;
    let results: Vec<_> = results.into_iter().collect::<Result<_>>()?;
    let one_more = called(&api, "exec_command", &q, &run).await?;
    let ids: Vec<u64> = results.iter().map(number).collect::<Result<_>>()?;
    let text = content(&one_more);
    ensure!(
        text.contains("limit of 64") && ids.iter().any(|id| text.contains(&id.to_string())),
        "{one_more}"
    );
    // Another agent has its own limit.
    let other = called(&api, "exec_command", &format!("{q}&agent=other"), &run).await?;
    ensure!(!content(&other).contains("limit of 64"), "{other}");
    Ok(())
}
