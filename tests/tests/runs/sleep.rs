//! Sessions that sleep: idle ones do, their workspaces stay, and the next use wakes them.

use anyhow::Result;
use headwater_contract::{FaultKind, v1};
use headwater_protocol::{Reason, SessionSpec, SessionState, StartSpec};
use headwater_tests::host::{Marker, cgroups, eventually, mounts};
use headwater_tests::{Options, TestWorker};

use crate::{refused, worker};

async fn drowsy(config: &str) -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(1), config: Some(config.into()), ..Options::default() }).await
}

#[tokio::test]
async fn a_session_put_to_sleep_warns_its_programs_keeps_its_workspace_and_wakes_on_the_next_use()
-> Result<()> {
    for no_walls in [false, true] {
        let worker = TestWorker::with(Options { pool: Some(1), no_walls, ..Options::default() }).await?;
        let client = worker.client().await?;
        let session = worker.session().await?;
        let marker = Marker::new();
        let line = "trap 'echo saved > saved; exit 7' TERM; echo on; while :; do sleep 0.05; done";
        let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
        let mut watcher = worker.watch(id).await?;
        watcher.until_printed("on").await?;
        let groups = cgroups(worker.data(), session);
        let info = client.hibernate_session(session).await?;
        assert_eq!((info.state, info.running), (SessionState::Hibernated, 0));
        let seen = watcher.rest().await?;
        assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Cancelled, Some(7)));
        marker.count_becomes(0).await?;
        assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
        assert_eq!(client.hibernate_session(session).await?.state, SessionState::Hibernated);
        assert_eq!(client.sessions(false).await?.len(), 1, "it is still there");
        let seen = worker.run_in(session, &StartSpec::shell("cat saved; echo again >> saved")).await?;
        assert_eq!(seen.text(), "saved\n");
        assert_eq!(client.session(session).await?.state, SessionState::Ready);
        assert_eq!(worker.run_in(session, &StartSpec::shell("cat saved")).await?.text(), "saved\nagain\n");
    }
    Ok(())
}

#[tokio::test]
async fn fifty_uses_of_a_sleeping_session_at_once_wake_it_once() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("echo here > file")).await?;
    client.hibernate_session(session).await?;
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let client = client.clone();
        runs.spawn(async move {
            let started = client.start(session, None, &StartSpec::shell("cat file")).await?;
            client.wait(started.id, headwater_tests::host::PATIENCE, true).await
        });
    }
    while let Some(run) = runs.join_next().await {
        let info = run??;
        assert_eq!(info.stdout_bytes, 5, "{info:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_idle_session_falls_asleep_and_one_in_which_something_works_does_not() -> Result<()> {
    let worker = drowsy("[hibernation]\nafter = \"300ms\"\nrunning_after = \"never\"").await?;
    let client = worker.client().await?;
    let (idle, busy) = (worker.session().await?, worker.session().await?);
    let id = worker.begin_in(busy, &StartSpec::shell("sleep 1000")).await?;
    let asleep = async |id| client.session(id).await.is_ok_and(|info| info.state == SessionState::Hibernated);
    eventually("the sleep of the idle session", async || asleep(idle).await).await?;
    assert!(!asleep(busy).await, "something runs in it");
    client.cancel(id, None).await?;
    eventually("the sleep of the other session", async || asleep(busy).await).await
}

#[tokio::test]
async fn an_idle_program_is_hibernated_and_one_that_prints_or_computes_is_not() -> Result<()> {
    let worker = drowsy("[hibernation]\nafter = \"300ms\"\nrunning_after = \"6s\"\nwarning = \"1s\"").await?;
    let client = worker.client().await?;
    let sessions = [worker.session().await?, worker.session().await?, worker.session().await?];
    let lines = ["sleep 1000", "while :; do echo on; sleep 1; done", "while :; do :; done"];
    for (session, line) in sessions.iter().zip(lines) {
        worker.begin_in(*session, &StartSpec::shell(line)).await?;
    }
    let asleep = async |id| client.session(id).await.is_ok_and(|info| info.state == SessionState::Hibernated);
    eventually("the sleep of the one that does nothing", async || asleep(sessions[0]).await).await?;
    assert!(!asleep(sessions[1]).await && !asleep(sessions[2]).await);
    // On a busy machine a program gets its second of a processor later.
    eventually("the use of each session is reported", async || {
        let usage = client.usage().await.unwrap_or_default();
        let of = |n: usize| usage.iter().find(|usage| usage.session_id == sessions[n].to_string());
        of(0).is_some_and(|usage| usage.processes.is_empty())
            && of(1).is_some_and(|usage| usage.printed_bytes > 0)
            && of(2).is_some_and(|usage| usage.cpu_ms >= 1000 && !usage.processes.is_empty())
    })
    .await?;
    assert!(!asleep(sessions[1]).await && !asleep(sessions[2]).await, "they work on");
    Ok(())
}

#[tokio::test]
async fn a_sleeping_session_can_be_changed_found_again_after_a_restart_and_ended() -> Result<()> {
    let mut worker = worker().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("echo here > file")).await?;
    let client = worker.client().await?;
    client.hibernate_session(session).await?;
    let request = v1::UpdateSessionRequest {
        session_id: session.to_string(),
        name: Some("sleeper".into()),
        ..Default::default()
    };
    let info = client.update_session(request).await?;
    assert_eq!((info.spec.name.as_deref(), info.state), (Some("sleeper"), SessionState::Hibernated));
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    let info = client.session(session).await?;
    assert_eq!((info.spec.name.as_deref(), info.state), (Some("sleeper"), SessionState::Hibernated));
    assert_eq!(worker.run_in(session, &StartSpec::shell("cat file")).await?.text(), "here\n");
    client.hibernate_session(session).await?;
    let ended = client.end_session(session, false).await?;
    assert!(matches!(ended.state, SessionState::Ended { .. }));
    assert!(!worker.workspace(session).exists());
    assert_eq!(mounts(worker.data()), Vec::<String>::new());
    let fault = refused(client.start(session, None, &StartSpec::shell("true")).await);
    assert_eq!(fault.kind, FaultKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn a_sleeping_session_still_ends_when_its_idle_time_is_over() -> Result<()> {
    let worker = drowsy("[hibernation]\nafter = \"100ms\"").await?;
    let client = worker.client().await?;
    let spec = SessionSpec { idle_timeout_ms: Some(1500), ..SessionSpec::default() };
    let session = client.create_session(None, &spec).await?.id;
    let state = async || client.session(session).await.map(|info| info.state);
    eventually("its sleep", async || state().await.is_ok_and(|state| state != SessionState::Ready)).await?;
    eventually("its end", async || matches!(state().await, Ok(SessionState::Ended { .. }))).await
}

#[tokio::test]
async fn a_one_shot_session_does_not_hibernate() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let spec = SessionSpec { one_shot: true, ..SessionSpec::default() };
    let session = client.create_session(None, &spec).await?.id;
    assert_eq!(refused(client.hibernate_session(session).await).kind, FaultKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn a_session_is_not_woken_behind_other_walls_than_its_own() -> Result<()> {
    let mut first = TestWorker::with(Options { no_walls: true, pool: Some(0), ..Options::default() }).await?;
    let session = first.session().await?;
    first.run_in(session, &StartSpec::shell("echo here > file")).await?;
    first.client().await?.hibernate_session(session).await?;
    first.terminate()?;
    let same = Some(first.data().to_owned());
    let mut second = TestWorker::with(Options { pool: Some(0), data: same, ..Options::default() }).await?;
    let fault = refused(second.client().await?.start(session, None, &StartSpec::shell("cat file")).await);
    assert_eq!(fault.kind, FaultKind::Conflict, "{fault:?}");
    assert!(fault.message.contains("`none`") && fault.message.contains("`full`"), "{fault:?}");
    second.terminate()?;
    first.start_again().await?;
    assert_eq!(first.run_in(session, &StartSpec::shell("cat file")).await?.text(), "here\n");
    Ok(())
}
