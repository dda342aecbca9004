//! Many at once: each with its own output, and one for each id however often it is asked for.

use anyhow::Result;
use headwater_contract::FaultKind;
use headwater_protocol::{ExecutionId, SessionId, SessionSpec, StartSpec};
use headwater_tests::collect_until_closed;
use headwater_tests::host::eventually;
use tokio::task::JoinSet;

use crate::{refused, worker};

#[tokio::test]
async fn forty_at_once_each_get_their_own_output() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(worker.session().await?);
    }
    let mut all = JoinSet::new();
    for n in 0..40 {
        let (client, session) = (client.clone(), sessions[n % 4]);
        all.spawn(async move {
            let line =
                format!("for i in $(seq 20); do echo {n}:$i; echo {n}:$i >&2; sleep 0.005; done; exit {n}");
            let id = ExecutionId::random();
            let follower = client.run(session, id, &StartSpec::shell(line), collect_until_closed()).await?;
            let seen = headwater_tests::collect(follower).await?;
            let expected: String = (1..=20).map(|i| format!("{n}:{i}\n")).collect();
            anyhow::ensure!(seen.text() == expected && seen.errors() == expected, "{n}: {seen:?}");
            anyhow::ensure!(seen.verdict().code == Some(i32::try_from(n)?), "{n}: {:?}", seen.verdict());
            anyhow::Ok(())
        });
    }
    while let Some(one) = all.join_next().await {
        one??;
    }
    assert_eq!(client.executions(None, false).await?.len(), 40);
    assert_eq!(client.executions(None, true).await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn fifty_starts_with_one_id_run_it_once() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let id = ExecutionId::random();
    let mut all = JoinSet::new();
    for n in 0..50 {
        let client = client.clone();
        all.spawn(async move {
            let spec = StartSpec::shell("echo ran >> times; sleep 0.1; cat times");
            if n % 2 == 0 {
                return client.start(session, Some(id), &spec).await.map(|info| info.id);
            }
            client.run(session, id, &spec, collect_until_closed()).await.map(|_| id)
        });
    }
    while let Some(one) = all.join_next().await {
        assert_eq!(one??, id);
    }
    assert_eq!(worker.read(id).await?.text(), "ran\n");
    assert_eq!(client.executions(None, false).await?.len(), 1);
    // Asked again after the end: the same.
    let info = client.start(session, Some(id), &StartSpec::shell("echo other")).await?;
    assert!(info.state.verdict().is_some());
    assert_eq!(std::fs::read_to_string(worker.workspace(session).join("times"))?, "ran\n");
    Ok(())
}

#[tokio::test]
async fn an_id_of_another_session_is_taken() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let (one, two) = (worker.session().await?, worker.session().await?);
    let id = worker.begin_in(one, &StartSpec::shell("true")).await?;
    let fault = refused(client.start(two, Some(id), &StartSpec::shell("true")).await);
    assert_eq!(fault.kind, FaultKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn fifty_creations_with_one_id_create_one_session() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let id = SessionId::random();
    let mut all = JoinSet::new();
    for _ in 0..50 {
        let client = client.clone();
        all.spawn(async move { client.create_session(Some(id), &SessionSpec::default()).await });
    }
    let mut info = Vec::new();
    while let Some(one) = all.join_next().await {
        info.push(one??);
    }
    assert!(info.iter().all(|session| *session == info[0] && session.id == id));
    assert_eq!(client.sessions(true).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn more_than_may_run_are_refused_until_one_has_ended() -> Result<()> {
    let options = headwater_tests::Options {
        pool: Some(1),
        config: Some("max_running = 2".into()),
        ..headwater_tests::Options::default()
    };
    let worker = headwater_tests::TestWorker::with(options).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let first = worker.begin_in(session, &StartSpec::shell("sleep 100")).await?;
    worker.begin_in(session, &StartSpec::shell("sleep 100")).await?;
    let fault = refused(client.start(session, None, &StartSpec::shell("true")).await);
    assert_eq!(fault.kind, FaultKind::Exhausted);
    client.cancel(first, None).await?;
    worker.read(first).await?;
    // The permit is free a moment after the log is closed.
    eventually("another one runs", async || {
        let seen = worker.run_in(session, &StartSpec::shell("echo now")).await;
        seen.is_ok_and(|seen| seen.text() == "now\n")
    })
    .await
}
