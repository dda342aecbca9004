//! States that a kill between two steps leaves behind, created by hand: the next worker repairs them.
//! And what must never be left behind.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_contract::{FaultKind, FollowOptions};
use headwater_protocol::{
    ExecutionState, Limits, Reason, Seq, SessionId, SessionSpec, SessionState, StartSpec,
};
use headwater_tests::host::{self, Marker, eventually};
use headwater_tests::{Options, TestWorker};
use rustix::process::Signal;

/// A message that is not sent within this time waits for space in the link.
const FULL: Duration = Duration::from_secs(2);
/// The first of some users without cgroups and without a home. Each test has its own: inits are found by their user.
const ORDINARY: u32 = 61_234;

async fn worker() -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(0), ..Options::default() }).await
}

fn folder(worker: &TestWorker, session: SessionId) -> PathBuf {
    worker.data().join("sessions").join(session.to_string())
}

/// The inits of a user: pid 1 of their namespaces. A process that only prepares one has the same name for a moment.
fn inits(uid: u32) -> Vec<i32> {
    let is_one = |pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let status = |name| host::status(*pid, name).unwrap_or_default();
        command.starts_with(b"headwater\0init\0")
            && status("Uid").split_whitespace().next() == Some(&uid.to_string())
            && status("NSpid").split_whitespace().next_back() == Some("1")
    };
    host::pids().into_iter().filter(is_one).collect()
}

#[tokio::test]
async fn prepared_sessions_of_a_killed_worker_are_ended_without_cgroups() -> Result<()> {
    let options = Options { pool: Some(2), uid: Some(ORDINARY), ..Options::default() };
    let mut worker = TestWorker::with(options).await?;
    eventually("two prepared sessions", async || inits(ORDINARY).len() == 2).await?;
    let old = inits(ORDINARY);
    worker.kill();
    worker.start_again().await?;
    eventually("the end of the old ones", async || !old.iter().any(|pid| host::is_alive(*pid))).await?;
    eventually("two new ones", async || inits(ORDINARY).len() == 2).await?;
    worker.command().arg("stop").status()?;
    eventually("their end", async || inits(ORDINARY).is_empty()).await
}

#[tokio::test]
async fn a_session_that_cannot_be_created_leaves_nothing_behind() -> Result<()> {
    let worker = worker().await?;
    let id = SessionId::random();
    fs::create_dir_all(folder(&worker, id).join("in the way"))?;
    let fault = worker.client().await?.create_session(Some(id), &SessionSpec::default()).await;
    assert_eq!(fault.unwrap_err().fault().context("a fault")?.kind, FaultKind::Unavailable);
    let slots = worker.data().join("slots");
    eventually("no slot", async || fs::read_dir(&slots).is_ok_and(|mut slots| slots.next().is_none())).await
}

#[tokio::test]
async fn a_prepared_session_that_died_is_not_used() -> Result<()> {
    let options = Options { pool: Some(1), uid: Some(ORDINARY + 2), ..Options::default() };
    let worker = TestWorker::with(options).await?;
    eventually("a prepared session", async || inits(ORDINARY + 2).len() == 1).await?;
    let init = inits(ORDINARY + 2)[0];
    host::signal(init, Signal::KILL)?;
    eventually("its end", async || !host::is_alive(init)).await?;
    assert_eq!(worker.run(&StartSpec::shell("echo on")).await?.text(), "on\n");
    Ok(())
}

#[tokio::test]
async fn a_one_shot_session_ends_after_its_program_even_if_the_worker_was_killed_in_between() -> Result<()> {
    let mut worker = worker().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("true")).await?;
    worker.kill();
    // As if it had been killed before it could end the session.
    let path = folder(&worker, session).join("session.json");
    let text = fs::read_to_string(&path)?;
    let changed = text.replace("\"one_shot\":false", "\"one_shot\":true");
    assert_ne!(text, changed, "{text}");
    fs::write(&path, changed)?;
    worker.start_again().await?;
    let client = worker.client().await?;
    eventually("the session's end", async || {
        client.session(session).await.is_ok_and(|info| matches!(info.state, SessionState::Ended { .. }))
    })
    .await
}

#[tokio::test]
async fn a_session_that_was_being_forgotten_is_forgotten() -> Result<()> {
    let mut worker = worker().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("true")).await?;
    worker.client().await?.end_session(session, false).await?;
    worker.kill();
    fs::remove_file(folder(&worker, session).join("session.json"))?;
    worker.start_again().await?;
    assert!(!folder(&worker, session).exists());
    Ok(())
}

#[tokio::test]
async fn a_start_that_may_have_run_is_lost_when_init_was_killed_with_the_worker() -> Result<()> {
    let mut worker = worker().await?;
    let marker = Marker::new();
    let session = worker.session().await?;
    let id = worker.begin_in(session, &marker.on(StartSpec::shell("exec sleep 1000"))).await?;
    marker.count_becomes(1).await?;
    let init = marker.init().await?;
    worker.kill();
    host::signal(init, Signal::KILL)?;
    marker.count_becomes(0).await?;
    // As if both had been killed before the start was logged.
    let index = folder(&worker, session).join("executions").join(id.to_string()).join("index");
    fs::OpenOptions::new().write(true).open(index)?.set_len(64)?;
    worker.start_again().await?;
    let info = worker.client().await?.execution(id).await?;
    let ExecutionState::Closed { verdict } = info.state else { panic!("{:?}", info.state) };
    assert_eq!(verdict.reason, Reason::Lost);
    Ok(())
}

#[tokio::test]
async fn a_session_whose_init_is_stopped_and_reads_nothing_can_be_ended() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let session = worker.session().await?;
    let id = worker.begin_in(session, &marker.on(StartSpec::shell("exec sleep 1000"))).await?;
    marker.count_becomes(1).await?;
    host::stop(marker.init().await?).await?;
    // Messages until the link holds no more: one that is not taken within this time will not be.
    let client = worker.client().await?;
    let mut sent = 0;
    while tokio::time::timeout(FULL, client.signal(id, Signal::CONT.as_raw(), false)).await.is_ok() {
        sent += 1;
        ensure!(sent < 100_000, "the link takes everything: this test shows nothing");
    }
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let client = client.clone();
        calls.spawn(async move { client.start(session, None, &StartSpec::shell("true")).await.is_ok() });
    }
    let ended = tokio::time::timeout(host::PATIENCE, client.end_session(session, false)).await??;
    assert!(matches!(ended.state, SessionState::Ended { .. }), "{:?}", ended.state);
    marker.count_becomes(0).await?;
    let ExecutionState::Closed { verdict } = client.execution(id).await?.state else { panic!("not closed") };
    assert_eq!(verdict.reason, Reason::Cancelled);
    while let Some(call) = tokio::time::timeout(host::PATIENCE, calls.join_next()).await? {
        call?; // answered, either way
    }
    assert!(client.executions(Some(session), true).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn following_from_behind_the_end_ends() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let client = worker.client().await?;
    let id = worker.begin_in(session, &StartSpec::shell("true")).await?;
    worker.read(id).await?;
    for until_closed in [true, false] {
        let options = FollowOptions { after: Seq(99), until_closed, ..FollowOptions::default() };
        let refused = tokio::time::timeout(host::PATIENCE, client.follow(id, options)).await?;
        let fault = refused.expect_err("the log has no such event").fault().cloned();
        assert_eq!(fault.map(|fault| fault.kind), Some(headwater_contract::FaultKind::PastEnd));
    }
    Ok(())
}

#[tokio::test]
async fn a_detached_daemon_is_held_to_the_disk_limit() -> Result<()> {
    let worker = worker().await?;
    let limits = Limits { disk_bytes: Some(8 << 20), ..Limits::default() };
    let spec = SessionSpec { limits, ..SessionSpec::default() };
    let session = worker.client().await?.create_session(None, &spec).await?.id;
    let marker = Marker::new();
    // It writes when the test has seen it run. Many files: one alone ends at the limit by itself.
    let daemon = "setsid sh -c 'while ! test -e go; do sleep 0.1; done; for i in 1 2 3 4; do head -c 7M /dev/zero > $i; done; sleep 1000' <&- >&- 2>&- &";
    worker.run_in(session, &marker.on(StartSpec::shell(daemon))).await?;
    assert!(!marker.processes().is_empty(), "the daemon should run on");
    fs::write(worker.workspace(session).join("go"), "")?;
    marker.count_becomes(0).await
}

/// The children of a process, each with its state.
fn children(pid: u32) -> Vec<(i32, String)> {
    let stat = |child: i32| {
        let text = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let (_, rest) = text.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next()?.to_owned(), fields.next()?.parse::<u32>().ok()?);
        (parent == pid).then_some((child, state))
    };
    host::pids().into_iter().filter_map(stat).collect()
}

#[tokio::test]
async fn no_init_that_has_ended_stays_a_zombie_of_its_worker() -> Result<()> {
    for uid in [None, Some(ORDINARY + 1)] {
        let worker = TestWorker::with(Options { pool: Some(1), uid, ..Options::default() }).await?;
        let client = worker.client().await?;
        let (ended, asleep) = (worker.session().await?, worker.session().await?);
        worker.run_in(asleep, &StartSpec::shell("setsid sleep 1000 >/dev/null 2>&1 & true")).await?;
        // The control: inits are the worker's children, so that only the worker can wait for their ends.
        let living = || children(worker.pid()).len();
        eventually("inits are its children", async || living() >= 3).await?;
        client.end_session(ended, false).await?;
        client.hibernate_session(asleep).await?;
        let one_shot = SessionSpec { one_shot: true, ..SessionSpec::default() };
        let own = client.create_session(None, &one_shot).await?.id;
        worker.run_in(own, &StartSpec::shell("true")).await?;
        eventually("only the prepared one is left, and no zombie", async || {
            let left = children(worker.pid());
            left.len() <= 1 && left.iter().all(|(_, state)| state != "Z")
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_worker_whose_host_users_belong_to_another_data_folder_does_not_start() -> Result<()> {
    // Above all ranges that are given out by themselves, and of no other test.
    let base = 0x7300_0000 + std::process::id() % 250_000 * 8192;
    let config = |base: u32| Some(format!("uid_base = {base}\n"));
    let with = async |base| {
        TestWorker::with(Options { pool: Some(0), config: config(base), ..Options::default() }).await
    };
    let first = with(base).await?;
    let refused = with(base + 4095).await.map(drop).unwrap_err().to_string();
    assert!(
        refused.contains("uid_base") && refused.contains(&first.data().display().to_string()),
        "{refused}"
    );
    // The control: the next range is free.
    let next = with(base + 4096).await?;
    let seen = next.run(&StartSpec::shell("echo hello")).await?;
    assert_eq!(seen.text(), "hello\n");
    let owner = |worker: &TestWorker, session| -> Result<u32> {
        use std::os::unix::fs::MetadataExt;
        Ok(fs::metadata(worker.workspace(session))?.uid())
    };
    let session = next.session().await?;
    assert!((base + 4096..base + 8192).contains(&owner(&next, session)?));
    Ok(())
}
