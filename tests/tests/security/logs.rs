//! Logs that fill the disk: many one-shots of large output, as fast as they run.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use headwater_protocol::{Limits, SessionSpec, StartSpec};
use headwater_tests::host::eventually;
use headwater_tests::{Options, TestWorker};
use tokio::task::JoinSet;

const ONE_SHOTS: usize = 12;
/// What each of them prints, and what is kept of it.
const PRINTED: u64 = 8 << 20;
const KEPT: u64 = 4 << 20;
/// The bound of all logs.
const BOUND: u64 = 10 << 20;

async fn worker(retention: &str) -> Result<TestWorker> {
    let config = Some(format!("[retention]\n{retention}"));
    TestWorker::with(Options { pool: Some(1), config, ..Options::default() }).await
}

/// Bytes that the logs of all sessions take on the disk.
fn log_bytes(data: &Path) -> u64 {
    fn allocated(path: &Path) -> u64 {
        let Ok(meta) = path.symlink_metadata() else { return 0 };
        let below = std::fs::read_dir(path).into_iter().flatten().flatten();
        meta.blocks() * 512 + below.map(|entry| allocated(&entry.path())).sum::<u64>()
    }
    let sessions = std::fs::read_dir(data.join("sessions")).into_iter().flatten().flatten();
    sessions.map(|session| allocated(&session.path().join("executions"))).sum()
}

/// Runs the one-shots, all at once, to their ends.
async fn attack(worker: &TestWorker) -> Result<()> {
    let client = worker.client().await?;
    let mut runs = JoinSet::new();
    for _ in 0..ONE_SHOTS {
        let client = client.clone();
        runs.spawn(async move {
            let spec = SessionSpec { one_shot: true, ..SessionSpec::default() };
            let session = client.create_session(None, &spec).await?.id;
            let mut spec = StartSpec::shell(format!("head -c {PRINTED} /dev/zero"));
            spec.limits = Limits { output_bytes: Some(KEPT), ..Limits::default() };
            let id = client.start(session, None, &spec).await?.id;
            client.wait(id, headwater_tests::host::PATIENCE, true).await
        });
    }
    while let Some(ended) = runs.join_next().await {
        // One whose log is removed already, and one that starts after the first have filled the bound, is not an error of
        // the attack.
        match ended? {
            Ok(info) => assert!(info.state.verdict().is_some(), "{info:?}"),
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("was removed") || said.contains("logs of all executions"), "{said}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn one_shots_of_large_output_leave_no_more_logs_than_the_bound() -> Result<()> {
    // Without a bound the attack fills the disk: that is what the other half is measured against.
    let open = worker("all_bytes = \"never\"\nkeep_at_least = \"0s\"\n").await?;
    attack(&open).await?;
    let left = log_bytes(open.data());
    assert!(left >= KEPT * ONE_SHOTS as u64 / 2, "the attack leaves {left} bytes");
    eventually("the logs are counted as they are", async || {
        let Ok(client) = open.client().await else { return false };
        let owners = client.disk().await.map(|disk| disk.owners).unwrap_or_default();
        let counted: u64 = owners.iter().map(|owner| owner.log_bytes).sum();
        let left = log_bytes(open.data());
        counted.abs_diff(left) < left / 10
    })
    .await?;
    drop(open);
    let bounded = worker(&format!("all_bytes = \"{BOUND}\"\nkeep_at_least = \"0s\"\n")).await?;
    attack(&bounded).await?;
    eventually("the logs are within their bound", async || log_bytes(bounded.data()) <= BOUND).await?;
    eventually("the removed logs are counted", async || {
        let Ok(client) = bounded.client().await else { return false };
        let info = client.disk().await.map(|info| info.removed).unwrap_or_default();
        info.iter().any(|removed| removed.reason == "size" && removed.logs > 0)
    })
    .await
}

#[tokio::test]
async fn when_all_logs_are_too_new_to_remove_their_owner_is_refused_and_others_are_not() -> Result<()> {
    let worker = worker(&format!("all_bytes = \"{BOUND}\"\nkeep_at_least = \"1h\"\n")).await?;
    attack(&worker).await?;
    assert!(log_bytes(worker.data()) > BOUND, "the floor holds");
    let client = worker.client().await?;
    let session = worker.session().await?;
    // A log is counted a moment after its end.
    let mut refused = String::new();
    eventually("a start is refused", async || {
        let start = client.start(session, None, &StartSpec::shell("true")).await;
        refused = start.err().map(|error| error.to_string()).unwrap_or_default();
        !refused.is_empty()
    })
    .await?;
    assert!(refused.contains("logs of all executions"), "{refused}");
    let mut spec = SessionSpec::default();
    spec.metadata.insert("headwater.owner".into(), "bob".into());
    let other = client.create_session(None, &spec).await?.id;
    worker.run_in(other, &StartSpec::shell("true")).await?;
    // A prune frees space at once.
    let request = headwater_contract::v1::PruneRequest { all: true, ..Default::default() };
    assert!(client.prune(request).await?.logs >= 2);
    client.start(session, None, &StartSpec::shell("true")).await?;
    Ok(())
}
