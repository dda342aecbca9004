//! kill -9 of an init: what ran in its session ends as `lost`, its logs are intact, and nothing is left behind but the
//! workspace, on which the session goes on.

use anyhow::{Context, Result};
use headwater_protocol::{Reason, SessionId, SessionState, StartSpec, TtySize};
use headwater_tests::host::{Marker, cgroups, eventually, mounts, signal};
use headwater_tests::{Options, TestWorker};
use rustix::process::Signal;

/// Prints, and leaves processes behind that ignore signals, in another process session, without a parent.
const STUBBORN: &str = "echo it > kept; seq 20000; (trap '' TERM HUP INT; setsid sh -c 'sleep 1000 & sleep 1000' &) & echo on; sleep 1000";

fn expected() -> String {
    (1..=20_000).map(|n| format!("{n}\n")).collect::<String>() + "on\n"
}

async fn nothing_is_left(
    worker: &TestWorker,
    session: SessionId,
    groups: &[std::path::PathBuf],
) -> Result<()> {
    let client = worker.client().await?;
    eventually("the sleep of the session", async || {
        client.session(session).await.is_ok_and(|info| info.state == SessionState::Hibernated)
    })
    .await?;
    assert!(worker.workspace(session).join("kept").exists());
    eventually("the end of its cgroups", async || !groups.iter().any(|group| group.exists())).await?;
    assert_eq!(mounts(worker.data()), Vec::<String>::new());
    let woken = worker.run_in(session, &StartSpec::shell("cat kept; echo more >> kept")).await?;
    assert_eq!((woken.text().as_str(), woken.verdict().code), ("it\n", Some(0)));
    // The worker is none the worse for it.
    assert_eq!(worker.run(&StartSpec::shell("echo fine")).await?.text(), "fine\n");
    Ok(())
}

async fn init_is_killed(options: Options) -> Result<()> {
    let worker = TestWorker::with(options).await?;
    let marker = Marker::new();
    let session = worker.session().await?;
    let piped = worker.begin_in(session, &marker.on(StartSpec::shell(STUBBORN))).await?;
    let mut spec = StartSpec::shell(STUBBORN);
    spec.tty = Some(TtySize::default());
    let typed = worker.begin_in(session, &marker.on(spec)).await?;
    let done = worker.begin_in(session, &StartSpec::shell("echo done; exit 3")).await?;
    worker.read(done).await?;
    let (mut piped, mut typed) = (worker.watch(piped).await?, worker.watch(typed).await?);
    piped.until_printed("on\n").await?;
    typed.until_printed("on\r\n").await?;
    eventually("all its processes", async || marker.processes().len() >= 8).await?;
    let groups = cgroups(worker.data(), session);
    signal(marker.init().await?, Signal::KILL)?;
    marker.count_becomes(0).await.context("nothing may outlive init")?;
    let (piped, typed) = (piped.rest().await?, typed.rest().await?);
    assert_eq!((piped.verdict().reason, piped.verdict().code), (Reason::Lost, None));
    assert_eq!(typed.verdict().reason, Reason::Lost);
    assert!(piped.text() == expected() && typed.screen() == expected().replace('\n', "\r\n"));
    nothing_is_left(&worker, session, &groups).await?;
    let done = worker.read(done).await?;
    assert_eq!((done.text().as_str(), done.verdict().code), ("done\n", Some(3)));
    Ok(())
}

#[tokio::test]
async fn with_walls_nothing_survives_init_and_the_log_is_intact() -> Result<()> {
    init_is_killed(Options { pool: Some(1), ..Options::default() }).await
}

#[tokio::test]
async fn without_walls_nothing_survives_init_and_the_log_is_intact() -> Result<()> {
    init_is_killed(Options { pool: Some(1), no_walls: true, ..Options::default() }).await
}

#[tokio::test]
async fn for_an_ordinary_user_with_walls_nothing_survives_init() -> Result<()> {
    init_is_killed(Options { pool: Some(1), uid: Some(54_321), ..Options::default() }).await
}

#[tokio::test]
async fn for_an_ordinary_user_without_walls_nothing_survives_init() -> Result<()> {
    init_is_killed(Options { pool: Some(1), uid: Some(54_322), no_walls: true, ..Options::default() }).await
}

#[tokio::test]
async fn an_init_killed_while_no_worker_was_there_is_found_out_by_the_next() -> Result<()> {
    for no_walls in [false, true] {
        let mut worker = TestWorker::with(Options { pool: Some(1), no_walls, ..Options::default() }).await?;
        let marker = Marker::new();
        let session = worker.session().await?;
        let id = worker.begin_in(session, &marker.on(StartSpec::shell(STUBBORN))).await?;
        worker.watch(id).await?.until_printed("on\n").await?;
        let groups = cgroups(worker.data(), session);
        eventually("all its processes", async || marker.processes().len() >= 4).await?;
        let init = marker.init().await?;
        worker.kill();
        signal(init, Signal::KILL)?;
        worker.start_again().await?;
        let seen = worker.read(id).await?;
        assert_eq!(seen.verdict().reason, Reason::Lost);
        assert!(seen.text() == expected());
        marker.count_becomes(0).await?;
        nothing_is_left(&worker, session, &groups).await?;
    }
    Ok(())
}
