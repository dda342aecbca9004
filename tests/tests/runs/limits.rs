//! Limits: of the session, of the execution, and the tighter of the two.

use anyhow::Result;
use headwater_contract::v1;
use headwater_protocol::{
    ExitDetail, LimitKind, Limits, OnOutputLimit, Reason, SessionId, SessionSpec, StartSpec,
};
use headwater_tests::TestWorker;
use headwater_tests::host::Marker;

use crate::worker;

async fn limited(worker: &TestWorker, limits: Limits) -> Result<SessionId> {
    let spec = SessionSpec { limits, ..SessionSpec::default() };
    Ok(worker.client().await?.create_session(None, &spec).await?.id)
}

fn with(limits: Limits, mut spec: StartSpec) -> StartSpec {
    spec.limits = limits;
    spec
}

const HUNGRY: &str = "x = bytearray(300_000_000)\nprint(len(x))";

#[tokio::test]
async fn a_program_that_takes_more_memory_than_its_session_has_ends_as_oom() -> Result<()> {
    let worker = worker().await?;
    let session = limited(&worker, Limits { memory_bytes: Some(64 << 20), ..Limits::default() }).await?;
    let seen = worker.run_in(session, &StartSpec::code("python", HUNGRY)).await?;
    assert_eq!((seen.verdict().reason, seen.verdict().signal), (Reason::Oom, Some(9)), "{}", seen.errors());
    assert!(seen.verdict().message.as_deref().is_some_and(|message| message.contains("67108864")));
    // The next one is judged for itself.
    let next = worker.run_in(session, &StartSpec::shell("kill -9 $$")).await?;
    assert_eq!(next.verdict().reason, Reason::Signalled);
    Ok(())
}

#[tokio::test]
async fn an_execution_can_have_less_memory_than_its_session_but_not_more() -> Result<()> {
    let worker = worker().await?;
    let small = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
    let large = Limits { memory_bytes: Some(4 << 30), ..Limits::default() };
    let roomy = worker.session().await?;
    let seen = worker.run_in(roomy, &with(small.clone(), StartSpec::code("python", HUNGRY))).await?;
    assert_eq!(seen.verdict().reason, Reason::Oom);
    let seen = worker.run_in(roomy, &StartSpec::code("python", HUNGRY)).await?;
    assert_eq!((seen.verdict().reason, seen.text().as_str()), (Reason::Exited, "300000000\n"));
    let narrow = limited(&worker, small).await?;
    let seen = worker.run_in(narrow, &with(large, StartSpec::code("python", HUNGRY))).await?;
    assert_eq!(seen.verdict().reason, Reason::Oom);
    Ok(())
}

#[tokio::test]
async fn a_fork_bomb_stays_within_the_number_of_processes() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let spec = marker.on(StartSpec::shell("for i in $(seq 60); do sleep 1000 & done; echo not reached"));
    let limits = Limits { pids: Some(20), ..Limits::default() };
    for of_session in [true, false] {
        let session =
            if of_session { limited(&worker, limits.clone()).await? } else { worker.session().await? };
        let spec = if of_session { spec.clone() } else { with(limits.clone(), spec.clone()) };
        let id = worker.begin_in(session, &spec).await?;
        let client = worker.client().await?;
        let seen = worker.until_exited(id).await?;
        assert!(seen.errors().contains("fork"), "{}", seen.errors());
        let count = marker.processes().len();
        assert!((10..=20).contains(&count), "{count} processes");
        client.end_session(session, false).await?;
        marker.count_becomes(0).await?;
    }
    Ok(())
}

#[tokio::test]
async fn open_files_are_limited_for_each_process() -> Result<()> {
    let worker = worker().await?;
    let code =
        "import os\nn = 0\ntry:\n    while True: os.open('/dev/null', 0); n += 1\nexcept OSError: print(n)";
    let limits = Limits { open_files: Some(64), ..Limits::default() };
    let seen = worker.run(&with(limits, StartSpec::code("python", code))).await?;
    assert_eq!(seen.text(), "61\n", "64 without the three that it has");
    Ok(())
}

#[tokio::test]
async fn a_file_grows_no_larger_than_it_may() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let limits = Limits { file_bytes: Some(1 << 20), ..Limits::default() };
    let spec = with(limits, StartSpec::argv(["dd", "if=/dev/zero", "of=big", "bs=64k", "count=100"]));
    let seen = worker.run_in(session, &spec).await?;
    assert_eq!((seen.verdict().reason, seen.verdict().signal), (Reason::Signalled, Some(25)));
    assert!(seen.verdict().message.as_deref().is_some_and(|message| message.contains("1048576")));
    assert_eq!(std::fs::metadata(worker.workspace(session).join("big"))?.len(), 1 << 20);
    Ok(())
}

#[tokio::test]
async fn cpu_time_runs_out() -> Result<()> {
    let worker = worker().await?;
    let limits = Limits { cpu_ms: Some(1000), ..Limits::default() };
    let seen = worker.run(&with(limits, StartSpec::shell("echo on; while :; do :; done"))).await?;
    assert_eq!((seen.verdict().reason, seen.text().as_str()), (Reason::TimedOut, "on\n"));
    assert!(seen.verdict().message.as_deref().is_some_and(|message| message.contains("cpu time")));
    Ok(())
}

#[tokio::test]
async fn a_workspace_that_grows_too_large_ends_its_programs() -> Result<()> {
    let worker = worker().await?;
    for (limits, line, which, limit) in [
        (
            Limits { disk_bytes: Some(8 << 20), ..Limits::default() },
            // Several files: one alone ends at the limit by itself.
            "for i in 1 2 3 4; do head -c 7M /dev/zero > $i; done; sleep 1000",
            LimitKind::DiskBytes,
            8 << 20,
        ),
        (
            Limits { inodes: Some(100), ..Limits::default() },
            "for i in $(seq 300); do : > $i; done; sleep 1000",
            LimitKind::Inodes,
            100,
        ),
    ] {
        let session = limited(&worker, limits).await?;
        let seen = worker.run_in(session, &StartSpec::shell(line)).await?;
        assert_eq!(seen.verdict().reason, Reason::DiskLimit);
        assert_eq!(seen.verdict().detail, Some(ExitDetail::Limit { which, limit }));
    }
    Ok(())
}

#[tokio::test]
async fn output_past_its_limit_is_trimmed_with_a_stated_gap_or_stops_the_program() -> Result<()> {
    let worker = worker().await?;
    let limits = Limits { output_bytes: Some(1 << 20), ..Limits::default() };
    let trimmed = worker.run(&with(limits.clone(), StartSpec::shell("seq 1000000 1999999"))).await?;
    assert_eq!((trimmed.verdict().reason, trimmed.verdict().code), (Reason::Exited, Some(0)));
    assert_eq!(trimmed.verdict().stdout_bytes, 8_000_000);
    let missing: u64 = trimmed.gaps.iter().map(|gap| gap.2 - gap.1).sum();
    assert_eq!(trimmed.stdout.len() as u64 + missing, 8_000_000);
    assert!(trimmed.text().ends_with("1999998\n1999999\n"));
    let mut spec = with(limits, StartSpec::shell("yes"));
    spec.on_output_limit = OnOutputLimit::Stop;
    let stopped = worker.run(&spec).await?;
    assert_eq!(stopped.verdict().reason, Reason::OutputLimit);
    assert!(stopped.verdict().message.as_deref().is_some_and(|message| message.contains("1048576")));
    assert!(stopped.verdict().stdout_bytes > 1 << 20);
    Ok(())
}

#[tokio::test]
async fn the_limits_of_a_session_can_be_changed_while_it_lives() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let hungry = StartSpec::code("python", HUNGRY);
    assert_eq!(worker.run_in(session, &hungry).await?.verdict().reason, Reason::Exited);
    let client = worker.client().await?;
    let limits = v1::Limits { memory_bytes: Some(64 << 20), ..v1::Limits::default() };
    let change = v1::UpdateSessionRequest {
        session_id: session.to_string(),
        limits: Some(limits),
        ..Default::default()
    };
    let info = client.update_session(change).await?;
    assert_eq!((info.spec.limits.memory_bytes, info.spec.limits.pids), (Some(64 << 20), Some(512)));
    assert_eq!(worker.run_in(session, &hungry).await?.verdict().reason, Reason::Oom);
    Ok(())
}

#[tokio::test]
async fn no_session_gets_more_than_the_operator_allows_when_made_or_changed() -> Result<()> {
    let config = "[max_limits]\nmemory = \"4Gi\"\npids = 600\n".to_owned();
    let options = headwater_tests::Options { pool: Some(1), config: Some(config), ..Default::default() };
    let worker = headwater_tests::TestWorker::with(options).await?;
    let client = worker.client().await?;
    let limits = |pids| Limits { pids: Some(pids), ..Limits::default() };
    let spec = |pids| SessionSpec { limits: limits(pids), ..SessionSpec::default() };
    let fault = crate::refused(client.create_session(None, &spec(601)).await);
    assert!(fault.message.contains("limits.pids"), "{fault}");
    let session = client.create_session(None, &spec(600)).await?.id;
    let change = |pids| headwater_contract::v1::UpdateSessionRequest {
        session_id: session.to_string(),
        limits: Some((&limits(pids)).into()),
        ..Default::default()
    };
    crate::refused(client.update_session(change(601)).await);
    client.update_session(change(10)).await?;
    Ok(())
}
