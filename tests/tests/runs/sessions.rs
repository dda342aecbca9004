//! Sessions: made, changed, listed, ended, forgotten.

use std::collections::HashMap;

use anyhow::Result;
use headwater_contract::{FaultKind, v1};
use headwater_protocol::{Reason, SandboxKind, SessionSpec, SessionState, StartSpec};
use headwater_tests::host::{Marker, cgroups, eventually, mounts};
use headwater_tests::{Options, TestWorker};

use crate::{refused, worker};

#[tokio::test]
async fn ending_a_session_cancels_what_runs_and_keeps_the_logs() -> Result<()> {
    for no_walls in [false, true] {
        let worker = TestWorker::with(Options { pool: Some(0), no_walls, ..Options::default() }).await?;
        let client = worker.client().await?;
        let session = worker.session().await?;
        let marker = Marker::new();
        let done = worker.begin_in(session, &StartSpec::shell("echo done; exit 3")).await?;
        worker.read(done).await?;
        let line = "echo data > file; trap '' TERM; setsid sleep 1000 & echo on; sleep 1000";
        let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
        let mut watcher = worker.watch(id).await?;
        watcher.until_printed("on").await?;
        let groups = cgroups(worker.data(), session);
        assert!(!groups.is_empty(), "this host has cgroups");
        let info = client.end_session(session, false).await?;
        assert!(matches!(info.state, SessionState::Ended { .. }));
        let seen = watcher.rest().await?;
        assert_eq!((seen.verdict().reason, seen.text().as_str()), (Reason::Cancelled, "on\n"));
        marker.count_becomes(0).await?;
        assert!(!worker.workspace(session).exists(), "the workspace is gone");
        assert!(groups.iter().all(|group| !group.exists()), "the cgroups are gone");
        assert_eq!(mounts(worker.data()), Vec::<String>::new());
        let past = worker.read(done).await?;
        assert_eq!((past.text().as_str(), past.verdict().code), ("done\n", Some(3)));
        let fault = refused(client.start(session, None, &StartSpec::shell("true")).await);
        assert_eq!(fault.kind, FaultKind::Conflict);
        assert_eq!(client.sessions(false).await?, []);
        assert_eq!(client.sessions(true).await?.len(), 1);
        // Asked twice: the same answer.
        assert_eq!(client.end_session(session, false).await?, info);
    }
    Ok(())
}

#[tokio::test]
async fn forgetting_leaves_no_trace() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let keep = worker.begin_in(session, &StartSpec::shell("echo keep")).await?;
    let gone = worker.begin_in(session, &StartSpec::shell("echo gone")).await?;
    let running = worker.begin_in(session, &StartSpec::shell("sleep 1000")).await?;
    worker.read(gone).await?;
    worker.read(keep).await?;
    client.forget(gone).await?;
    assert_eq!(refused(client.execution(gone).await).kind, FaultKind::NotFound);
    assert_eq!(refused(client.forget(running).await).kind, FaultKind::Conflict);
    assert_eq!(client.executions(Some(session), false).await?.len(), 2);
    client.end_session(session, true).await?;
    assert_eq!(refused(client.session(session).await).kind, FaultKind::NotFound);
    assert_eq!(refused(client.execution(keep).await).kind, FaultKind::NotFound);
    assert!(!worker.data().join("sessions").join(session.to_string()).exists());
    Ok(())
}

#[tokio::test]
async fn an_idle_session_ends_by_itself_and_a_busy_one_does_not() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    // It gets its timeout when something runs in it: on a busy machine it could end before.
    let busy = worker.session().await?;
    let id = worker.begin_in(busy, &StartSpec::shell("sleep 1000")).await?;
    let change = v1::UpdateSessionRequest {
        session_id: busy.to_string(),
        idle_timeout_ms: Some(400),
        ..Default::default()
    };
    client.update_session(change).await?;
    let spec = SessionSpec { idle_timeout_ms: Some(400), ..SessionSpec::default() };
    let idle = client.create_session(None, &spec).await?.id;
    let ended =
        async |id| matches!(client.session(id).await.map(|s| s.state), Ok(SessionState::Ended { .. }));
    eventually("the end of the idle session", async || ended(idle).await).await?;
    assert!(!ended(busy).await, "it is older, but something runs in it");
    client.cancel(id, None).await?;
    eventually("the end of the session", async || ended(busy).await).await
}

#[tokio::test]
async fn a_one_shot_session_ends_with_its_execution() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let spec = SessionSpec { one_shot: true, ..SessionSpec::default() };
    for what in [StartSpec::shell("echo once; sleep 1000 &"), StartSpec::argv(["no-such-command"])] {
        let session = client.create_session(None, &spec).await?.id;
        let seen = worker.run_in(session, &what).await?;
        assert!(seen.closed);
        eventually("its end", async || {
            client.session(session).await.is_ok_and(|info| info.state != SessionState::Ready)
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_session_can_be_named_and_described_anew() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let metadata = [("a", "1"), ("b", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let spec = SessionSpec {
        name: Some("old".into()),
        metadata: metadata.into(),
        idle_timeout_ms: Some(60_000),
        ..SessionSpec::default()
    };
    let session = client.create_session(None, &spec).await?;
    assert_eq!((session.spec.name.as_deref(), session.sandbox), (Some("old"), SandboxKind::Full));
    let change = v1::UpdateSessionRequest {
        session_id: session.id.to_string(),
        name: Some("new".into()),
        idle_timeout_ms: Some(0),
        metadata: HashMap::from([("a".into(), String::new()), ("c".into(), "3".into())]),
        ..Default::default()
    };
    client.update_session(change).await?;
    let info = client.session(session.id).await?;
    assert_eq!((info.spec.name.as_deref(), info.spec.idle_timeout_ms), (Some("new"), None));
    let metadata: Vec<_> = info.spec.metadata.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(metadata, [("b", "2"), ("c", "3")]);
    Ok(())
}

#[tokio::test]
async fn a_session_without_walls_says_so() -> Result<()> {
    let worker = TestWorker::with(Options { pool: Some(1), no_walls: true, ..Options::default() }).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    assert_eq!(client.session(session).await?.sandbox, SandboxKind::None);
    assert_eq!(client.info().await?.sandbox, "none");
    let seen = worker.run_in(session, &StartSpec::shell("echo hi; pwd")).await?;
    assert_eq!(seen.text(), format!("hi\n{}\n", worker.workspace(session).display()));
    Ok(())
}
