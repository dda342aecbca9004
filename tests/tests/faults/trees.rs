//! Trees of processes that do not want to end: timeout and cancel end all of them. Counted from the outside.

use std::time::Duration;

use anyhow::{Context, Result};
use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, ExecutionState, Reason, StartSpec, TtySize};
use headwater_tests::host::{Marker, PATIENCE, eventually, status};
use headwater_tests::{Collected, Options, TestWorker, Watcher, collect};

use crate::worker;

/// How they are ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Cancel,
    Timeout,
}

/// Ways to stay: each prints `on` when all its processes run.
const TREES: [(&str, &str); 6] = [
    ("a grandchild that holds the pipes", "(trap '' TERM; echo on; while :; do sleep 0.05; done) & wait"),
    (
        "one in a process session of its own, deaf",
        "setsid sh -c 'trap \"\" TERM HUP; echo on; while :; do :; done' & wait",
    ),
    (
        "a daemon by double fork without any of our descriptors",
        "perl -e 'use POSIX; if (!fork) { setsid(); if (!fork) { $SIG{TERM} = \"IGNORE\"; chdir \"/\"; print \"on\\n\"; \
         close STDOUT; close STDERR; close STDIN; sleep 1000 } exit } wait; sleep 1000'",
    ),
    ("one that stops itself", "sh -c 'echo on; kill -STOP $$; sleep 1000' & wait"),
    ("a program that stops itself", "echo on; kill -STOP $$; sleep 1000"),
    (
        "many that are deaf and stopped",
        "for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'trap \"\" TERM; kill -STOP $$' & done; sleep 0.2; echo on; wait",
    ),
];

/// Starts a tree, and waits until all its processes run. If a busy machine needs longer than the timeout for that, it is
/// started again with a longer one.
async fn start(worker: &TestWorker, how: How, mut spec: StartSpec) -> Result<(ExecutionId, Watcher)> {
    for timeout_ms in [3000, 15_000, 75_000] {
        spec.timeout_ms = (how == How::Timeout).then_some(timeout_ms);
        let id = worker.begin(&spec).await?;
        let mut watcher = worker.watch(id).await?;
        let is_on = |seen: &Collected| seen.text().contains("on") || seen.screen().contains("on");
        watcher.until(|seen| is_on(seen) || !seen.verdicts.is_empty()).await?;
        if is_on(&watcher.seen) {
            return Ok((id, watcher));
        }
        assert_eq!(watcher.seen.verdict().reason, Reason::TimedOut, "it ends before it runs");
    }
    anyhow::bail!("its processes do not start")
}

async fn ends_all(worker: &TestWorker, how: How, tree: (&str, &str), tty: bool) -> Result<()> {
    let (what, line) = tree;
    let marker = Marker::new();
    let mut spec = marker.on(StartSpec::shell(line));
    spec.tty = tty.then(TtySize::default);
    spec.grace_ms = Some(200);
    let (id, watcher) = start(worker, how, spec).await?;
    if how == How::Cancel {
        assert!(!marker.processes().is_empty(), "{what}: the marker is found");
        worker.client().await?.cancel(id, None).await?;
    }
    let seen = watcher.rest().await?;
    let reason = if how == How::Cancel { Reason::Cancelled } else { Reason::TimedOut };
    assert_eq!(seen.verdict().reason, reason, "{what}");
    marker.count_becomes(0).await?;
    // A dead process is listed until init has waited for it.
    let client = worker.client().await?;
    let nothing = async || client.processes(id).await.is_ok_and(|processes| processes.is_empty());
    eventually("an empty list", nothing).await.with_context(|| what.to_owned())
}

#[tokio::test]
async fn cancel_ends_every_process_of_every_tree() -> Result<()> {
    let worker = worker().await?;
    for tree in TREES {
        ends_all(&worker, How::Cancel, tree, false).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_timeout_ends_every_process_of_every_tree() -> Result<()> {
    let worker = worker().await?;
    for tree in TREES {
        ends_all(&worker, How::Timeout, tree, false).await?;
    }
    Ok(())
}

#[tokio::test]
async fn cancel_ends_trees_on_a_terminal() -> Result<()> {
    let worker = worker().await?;
    for tree in TREES {
        ends_all(&worker, How::Cancel, tree, true).await?;
    }
    Ok(())
}

#[tokio::test]
async fn cancel_ends_trees_without_walls() -> Result<()> {
    let worker = TestWorker::with(Options { pool: Some(1), no_walls: true, ..Options::default() }).await?;
    for (what, line) in TREES {
        let marker = Marker::new();
        let id = worker.begin(&marker.on(StartSpec::shell(line))).await?;
        let mut watcher = worker.watch(id).await?;
        watcher.until_printed("on").await?;
        worker.client().await?.cancel(id, Some(Duration::from_millis(200))).await?;
        assert_eq!(watcher.rest().await?.verdict().reason, Reason::Cancelled, "{what}");
        marker.count_becomes(0).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_exit_is_reported_while_a_grandchild_holds_the_pipes() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    // The grandchild floods, so that the pipe is never empty.
    let mut spec = marker.on(StartSpec::shell("setsid yes & sleep 0.1; echo end; exit 4"));
    spec.limits.output_bytes = Some(1 << 20);
    let id = worker.begin(&spec).await?;
    let client = worker.client().await?;
    let options =
        FollowOptions { streams: vec![headwater_protocol::Stream::Stderr], ..FollowOptions::default() };
    let seen = collect(client.follow(id, options).await?).await?;
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Exited, Some(4)));
    // Told, and the grandchild lives: so it was not waited for.
    assert!(matches!(client.execution(id).await?.state, ExecutionState::Exited { .. }));
    marker.count_becomes(1).await?;
    client.cancel(id, Some(Duration::ZERO)).await?;
    marker.count_becomes(0).await
}

#[tokio::test]
async fn a_stopped_program_continues_on_sigcont() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let id = worker.begin(&marker.on(StartSpec::shell("echo on; kill -STOP $$; echo off"))).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("on").await?;
    eventually("its stop", async || {
        marker.processes().iter().any(|pid| status(*pid, "State").is_some_and(|state| state.starts_with('T')))
    })
    .await?;
    worker.client().await?.signal(id, 18, false).await?;
    assert_eq!(watcher.rest().await?.text(), "on\noff\n");
    Ok(())
}

#[tokio::test]
async fn a_fork_bomb_is_ended_by_its_timeout() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let mut spec = marker.on(StartSpec::code("bash", "f() { f | f & }; f; sleep 1000"));
    (spec.timeout_ms, spec.grace_ms, spec.limits.pids) = (Some(500), Some(100), Some(64));
    let id = worker.begin(&spec).await?;
    // Output is of no interest: bash complains about forks.
    let info = worker.client().await?.wait(id, PATIENCE, true).await?;
    assert_eq!(info.state.name(), "closed");
    marker.count_becomes(0).await
}
