//! kill -9 of the worker and of the gateway while retention removes logs: every log is complete or says that it was
//! removed, and store and worker agree on which.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_protocol::ExecutionId;
use headwater_protocol::api::{SessionRequest, StartRequest};
use headwater_tests::host::eventually;
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;

use crate::{Random, scale};

/// Logs that a session keeps.
const KEPT: usize = 4;

/// The executions whose folders exist.
fn folders(server: &TestServer) -> BTreeSet<String> {
    let all = |path: std::path::PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let sessions = all(server.data().join("sessions"));
    let folders = sessions.flat_map(|session| all(session.path().join("executions")));
    folders.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn logs_are_removed_whole_whatever_is_killed_and_store_and_worker_agree() -> Result<()> {
    let config = format!(
        "pool = 1\n[retention]\nsession_logs = {KEPT}\nkeep_at_least = \"0s\"\n[watchdog]\ninterval = \"200ms\"\n"
    );
    let mut server =
        TestServer::with(ServerOptions { config: Some(config), ..ServerOptions::default() }).await?;
    let client = server.client()?;
    let session = client.create_session(&SessionRequest::default(), None).await?.id;
    let mut random = Random::new();
    let mut started: Vec<ExecutionId> = Vec::new();
    for round in 0..6 * scale() {
        for _ in 0..5 {
            let request: StartRequest = serde_json::from_value(json!({"shell": "seq 2000"}))?;
            let key = headwater_client::IdempotencyKey::random();
            let (request, key) = (&request, &key);
            let start = client.retry_known_server(|client| async move {
                client.start(Some(session), request, Some(key)).await
            });
            started.push(start.await.context("start")?.id);
        }
        tokio::time::sleep(Duration::from_millis(random.below(120))).await;
        match round % 3 {
            0 => server.kill_worker().await?,
            1 => {
                server.kill();
                server.start_again().await?;
            }
            _ => {
                server.kill_worker().await?;
                server.kill();
                server.start_again().await?;
            }
        }
    }
    let expected: String = (1..=2000).map(|n| format!("{n}\n")).collect();
    eventually("all have ended and no more are kept than may be", async || {
        let Ok(worker) = server.worker().await else { return false };
        let Ok(all) = worker.executions(None, false).await else { return false };
        all.len() <= KEPT
            && all.iter().all(|one| one.state.name() == "closed")
            && folders(&server).len() == all.len()
    })
    .await?;
    let kept: BTreeSet<String> =
        server.worker().await?.executions(None, false).await?.iter().map(|one| one.id.to_string()).collect();
    assert_eq!(kept, folders(&server), "the worker and its folder agree");
    let api = server.api();
    for id in started {
        let info = api.execution(&id.to_string()).await?;
        ensure!(info["state"] == "closed", "{info}");
        ensure!(info["exit"]["code"] == 0, "its end is known: {info}");
        let output = api.get(&format!("/v1/executions/{id}/output")).await?;
        if kept.contains(&id.to_string()) {
            ensure!(info["log_removed"].is_null(), "{info}");
            ensure!(output.status == 200 && output.text() == expected, "{}", output.status);
        } else {
            ensure!(info["log_removed"]["reason"] == "number", "{info}");
            ensure!(
                output.status == 410 && output.json()?["error"]["code"] == "log_removed",
                "{}",
                output.text()
            );
        }
    }
    Ok(())
}
