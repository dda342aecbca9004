//! The worker goes and another comes: programs, deadlines, input and logs go on as if nothing had happened.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionState, Reason, SessionState, StartSpec, Stdin};
use headwater_tests::host::{Marker, cgroups, eventually, is_alive};
use headwater_tests::{Options, TestWorker, binary};

use crate::worker;

#[tokio::test]
async fn sessions_and_executions_are_listed_as_before() -> Result<()> {
    let mut worker = worker().await?;
    let client = worker.client().await?;
    let (one, two) = (worker.session().await?, worker.session().await?);
    let done = worker.begin_in(one, &StartSpec::shell("echo done; exit 3")).await?;
    let failed = worker.begin_in(one, &StartSpec::argv(["no-such-command"])).await?;
    worker.read(done).await?;
    worker.read(failed).await?;
    let running = worker.begin_in(one, &StartSpec::shell("echo on; sleep 1000")).await?;
    worker.watch(running).await?.until_printed("on").await?;
    client.end_session(two, false).await?;
    let before = (client.sessions(true).await?, client.executions(None, false).await?);
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    let after = (client.sessions(true).await?, client.executions(None, false).await?);
    assert_eq!(before, after);
    assert_eq!(worker.read(done).await?.text(), "done\n");
    assert!(matches!(client.execution(running).await?.state, ExecutionState::Running { .. }));
    // A worker that did not start it can end it.
    client.cancel(running, None).await?;
    let seen = worker.read(running).await?;
    assert_eq!((seen.text().as_str(), seen.verdict().reason), ("on\n", Reason::Cancelled));
    assert_eq!(worker.run_in(one, &StartSpec::shell("echo more")).await?.text(), "more\n");
    Ok(())
}

#[tokio::test]
async fn input_goes_on_after_a_restart_and_a_chunk_sent_again_counts_once() -> Result<()> {
    let mut worker = worker().await?;
    let mut spec = StartSpec::argv(["cat"]);
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let mut watcher = worker.watch(id).await?;
    worker.client().await?.stdin(id).await?.write("before ".into()).await?;
    watcher.until_printed("before ").await?;
    worker.kill();
    worker.start_again().await?;
    let mut stdin = worker.client().await?.stdin(id).await?;
    assert_eq!(stdin.offset(), 7);
    stdin.write_again(0, "before after".into()).await?;
    stdin.end().await?;
    let seen = watcher.rest().await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("before after", Some(0)));
    Ok(())
}

#[tokio::test]
async fn the_end_of_input_that_was_sent_before_a_restart_stays_sent() -> Result<()> {
    let mut worker = worker().await?;
    let mut spec = StartSpec::shell("cat; echo over; read x; sleep 1000");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let mut watcher = worker.watch(id).await?;
    worker.client().await?.stdin(id).await?.end().await?;
    worker.kill();
    worker.start_again().await?;
    watcher.until_printed("over").await?;
    assert!(worker.client().await?.stdin(id).await.is_err(), "nothing can be written any more");
    Ok(())
}

#[tokio::test]
async fn a_terminal_can_be_typed_to_and_resized_after_a_restart() -> Result<()> {
    let mut worker = worker().await?;
    let mut spec = StartSpec::shell("stty -echo; echo go; read line; stty size; echo \"[$line]\"");
    spec.tty = Some(headwater_protocol::TtySize::default());
    let id = worker.begin(&spec).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("go").await?;
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    client.resize(id, headwater_protocol::TtySize { rows: 7, cols: 9 }).await?;
    client.stdin(id).await?.write("hello\n".into()).await?;
    assert_eq!(watcher.rest().await?.screen(), "go\r\n7 9\r\n[hello]\r\n");
    Ok(())
}

#[tokio::test]
async fn output_and_exits_while_no_worker_runs_are_not_lost() -> Result<()> {
    let mut worker = worker().await?;
    let marker = Marker::new();
    let session = worker.session().await?;
    let line = "echo before; while ! test -e go; do sleep 0.02; done; seq 50000; seq 50000 >&2; exit 42";
    let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
    worker.watch(id).await?.until_printed("before").await?;
    worker.kill();
    std::fs::write(worker.workspace(session).join("go"), "")?;
    marker.count_becomes(0).await?;
    worker.start_again().await?;
    let seen = worker.read(id).await?;
    let numbers: String = (1..=50_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(seen.text(), format!("before\n{numbers}"));
    assert_eq!(seen.errors(), numbers);
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Exited, Some(42)));
    Ok(())
}

#[tokio::test]
async fn a_deadline_that_passes_while_no_worker_runs_is_enforced() -> Result<()> {
    let mut worker = worker().await?;
    let marker = Marker::new();
    let mut spec = marker.on(StartSpec::shell("trap '' TERM; echo on; setsid sleep 1000 & sleep 1000"));
    (spec.timeout_ms, spec.grace_ms) = (Some(10_000), Some(200));
    let id = worker.begin(&spec).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("on").await?;
    worker.kill();
    marker.count_becomes(0).await?;
    worker.start_again().await?;
    let seen = watcher.rest().await?;
    assert_eq!((seen.text().as_str(), seen.verdict().reason), ("on\n", Reason::TimedOut));
    // By init's own clock: it did not end with the worker, but with its time and its grace.
    assert!(seen.verdict().duration_ms >= 10_200, "{:?}", seen.verdict());
    Ok(())
}

#[tokio::test]
async fn a_session_that_no_worker_comes_back_for_ends_itself() -> Result<()> {
    for no_walls in [false, true] {
        let config = Some("orphan_timeout = \"500ms\"".into());
        let mut worker =
            TestWorker::with(Options { pool: Some(1), no_walls, config, ..Options::default() }).await?;
        let marker = Marker::new();
        let session = worker.session().await?;
        let line = "echo on; (trap '' TERM; setsid sleep 1000) & sleep 1000";
        let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
        worker.watch(id).await?.until_printed("on").await?;
        let init = marker.init().await?;
        let groups = cgroups(worker.data(), session);
        worker.kill();
        marker.count_becomes(0).await?;
        eventually("the end of init", async || !is_alive(init)).await?;
        worker.start_again().await?;
        let seen = worker.read(id).await?;
        assert_eq!((seen.text().as_str(), seen.verdict().reason), ("on\n", Reason::Lost));
        let info = worker.client().await?.session(session).await?;
        assert_eq!(info.state, SessionState::Hibernated);
        assert!(worker.workspace(session).exists());
        assert!(!groups.is_empty(), "this host has cgroups");
        eventually("the end of its cgroups", async || !groups.iter().any(|group| group.exists())).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_worker_stopped_by_sigterm_leaves_programs_running() -> Result<()> {
    let mut worker = worker().await?;
    let marker = Marker::new();
    let session = worker.session().await?;
    let line = "echo before; while ! test -e go; do sleep 0.02; done; echo after; exit 5";
    let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("before").await?;
    let status = worker.terminate()?;
    assert!(status.success(), "{status}");
    assert!(!marker.processes().is_empty(), "the program runs on");
    assert!(!worker.data().join("worker.sock").exists());
    std::fs::write(worker.workspace(session).join("go"), "")?;
    marker.count_becomes(0).await?;
    worker.start_again().await?;
    let seen = watcher.rest().await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("before\nafter\n", Some(5)));
    Ok(())
}

#[tokio::test]
async fn a_second_worker_for_the_same_folder_is_refused_and_the_first_does_not_notice() -> Result<()> {
    let worker = worker().await?;
    let mut second = Command::new(binary());
    second.args(["worker", "--data"]).arg(worker.data()).stdin(Stdio::null());
    let output = second.output()?;
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("already running"), "{output:?}");
    assert_eq!(worker.run(&StartSpec::shell("echo fine")).await?.text(), "fine\n");
    Ok(())
}

#[tokio::test]
async fn prepared_sessions_of_a_killed_worker_are_cleared_away() -> Result<()> {
    let mut worker = TestWorker::with(Options { pool: Some(3), ..Options::default() }).await?;
    let session = worker.session().await?;
    let group = cgroups(worker.data(), session).pop().context("this host has cgroups")?;
    let all = group.parent().context("no parent")?.to_owned();
    let count =
        || std::fs::read_dir(&all).map_or(0, |all| all.flatten().filter(|e| e.path().is_dir()).count());
    eventually("a full pool", async || count() == 4).await?;
    for _ in 0..3 {
        worker.kill();
        worker.start_again().await?;
    }
    let slots = || std::fs::read_dir(worker.data().join("slots")).map_or(0, Iterator::count);
    eventually("only its own prepared sessions", async || count() == 4 && slots() == 3).await
}
