//! How executions end: by themselves, by a signal, by time, by being cancelled.

use std::time::Duration;

use anyhow::Result;
use headwater_contract::FaultKind;
use headwater_protocol::{Reason, StartSpec};
use headwater_tests::host::Marker;

use crate::{refused, worker};

/// Prints, and handles SIGTERM.
const POLITE: &str = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.02; done";
/// Prints, and ignores SIGTERM.
const DEAF: &str = "trap '' TERM; echo ready; while :; do sleep 0.02; done";
/// A timeout that even a busy machine does not reach before a shell has started and printed.
const AFTER_ITS_OUTPUT_MS: u64 = 10_000;

#[tokio::test]
async fn a_program_that_dies_of_a_signal_says_which() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&StartSpec::shell("echo last words; kill -SEGV $$")).await?;
    assert_eq!((seen.verdict().reason, seen.verdict().signal), (Reason::Signalled, Some(11)));
    assert_eq!((seen.verdict().code, seen.text().as_str()), (None, "last words\n"));
    Ok(())
}

#[tokio::test]
async fn a_timeout_keeps_what_was_printed_and_says_after_how_long() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("echo partial; echo also >&2; sleep 100");
    spec.timeout_ms = Some(AFTER_ITS_OUTPUT_MS);
    let seen = worker.run(&spec).await?;
    assert_eq!((seen.text().as_str(), seen.errors().as_str()), ("partial\n", "also\n"));
    let verdict = seen.verdict();
    assert_eq!((verdict.reason, verdict.signal), (Reason::TimedOut, Some(15)));
    assert_eq!(verdict.message.as_deref(), Some("timed out after 10 s"));
    assert!(verdict.duration_ms >= AFTER_ITS_OUTPUT_MS, "{verdict:?}");
    Ok(())
}

#[tokio::test]
async fn a_timeout_gives_a_grace_and_then_kills() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell(DEAF);
    (spec.timeout_ms, spec.grace_ms) = (Some(AFTER_ITS_OUTPUT_MS), Some(400));
    let seen = worker.run(&spec).await?;
    assert_eq!((seen.verdict().reason, seen.verdict().signal), (Reason::TimedOut, Some(9)));
    assert!(seen.verdict().duration_ms >= AFTER_ITS_OUTPUT_MS + 400, "{:?}", seen.verdict());
    assert_eq!(seen.text(), "ready\n");
    Ok(())
}

#[tokio::test]
async fn the_wall_time_of_the_session_is_a_timeout_too() -> Result<()> {
    let worker = worker().await?;
    let mut of_session = headwater_protocol::SessionSpec::default();
    of_session.limits.wall_ms = Some(300);
    let session = worker.client().await?.create_session(None, &of_session).await?.id;
    let mut spec = StartSpec::shell("sleep 100");
    spec.timeout_ms = Some(60_000);
    let seen = worker.run_in(session, &spec).await?;
    assert_eq!(seen.verdict().reason, Reason::TimedOut);
    assert_eq!(seen.verdict().message.as_deref(), Some("timed out after 300 ms"));
    Ok(())
}

#[tokio::test]
async fn a_program_that_ends_in_time_is_not_timed_out() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("echo done");
    spec.timeout_ms = Some(30_000);
    assert_eq!(worker.run(&spec).await?.verdict().reason, Reason::Exited);
    Ok(())
}

#[tokio::test]
async fn cancel_lets_the_program_say_goodbye_and_keeps_what_it_printed() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&StartSpec::code("bash", POLITE)).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("ready").await?;
    // Longer than a busy machine needs to let it act.
    worker.client().await?.cancel(id, Some(Duration::from_hours(1))).await?;
    let seen = watcher.rest().await?;
    assert_eq!(seen.text(), "ready\nbye\n");
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Cancelled, Some(9)));
    Ok(())
}

#[tokio::test]
async fn cancel_kills_after_the_grace() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let id = worker.begin(&marker.on(StartSpec::code("bash", DEAF))).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("ready").await?;
    worker.client().await?.cancel(id, Some(Duration::from_millis(300))).await?;
    let seen = watcher.rest().await?;
    assert_eq!((seen.verdict().reason, seen.verdict().signal), (Reason::Cancelled, Some(9)));
    assert_eq!(seen.text(), "ready\n");
    marker.count_becomes(0).await
}

#[tokio::test]
async fn cancel_without_a_grace_kills_at_once_even_after_a_gentle_one() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let id = worker.begin(&StartSpec::code("bash", DEAF)).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("ready").await?;
    client.cancel(id, Some(Duration::from_hours(1))).await?;
    client.cancel(id, Some(Duration::ZERO)).await?;
    assert_eq!(watcher.rest().await?.verdict().signal, Some(9));
    Ok(())
}

#[tokio::test]
async fn cancelling_an_ended_execution_succeeds_and_changes_nothing() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&StartSpec::shell("exit 4")).await?;
    let seen = worker.read(id).await?;
    let client = worker.client().await?;
    client.cancel(id, None).await?;
    assert_eq!(client.execution(id).await?.state.verdict(), Some(seen.verdict()));
    assert_eq!(refused(client.signal(id, 15, false).await).kind, FaultKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn a_signal_reaches_the_program_and_an_invalid_one_is_refused() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let line = "trap 'echo usr1; exit 3' USR1; echo ready; while :; do sleep 0.02; done";
    let id = worker.begin(&StartSpec::code("bash", line)).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("ready").await?;
    assert_eq!(refused(client.signal(id, 99, false).await).kind, FaultKind::Invalid);
    client.signal(id, 10, false).await?;
    let seen = watcher.rest().await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("ready\nusr1\n", Some(3)));
    assert_eq!(seen.verdict().reason, Reason::Exited);
    Ok(())
}

#[tokio::test]
async fn the_verdict_has_the_time_and_memory_used() -> Result<()> {
    let worker = worker().await?;
    let code = "x = bytearray(50_000_000)\nimport time\nwhile time.process_time() < 0.2: pass";
    let seen = worker.run(&StartSpec::code("python", code)).await?;
    let usage = seen.verdict().usage;
    assert!(usage.cpu_ms >= 190, "{usage:?}");
    assert!(usage.max_rss_bytes >= 50_000_000, "{usage:?}");
    Ok(())
}
