//! The worker comes and goes with the commands: one is started when it is needed, and `stop` leaves nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use headwater_protocol::StartSpec;
use headwater_tests::host::{self, Marker};
use headwater_tests::{Options, TestWorker, binary};
use tempfile::TempDir;

use crate::command::{Running, answer, objects, run, start};
use crate::worker;

/// The processes that are workers of this data folder. A child that a worker has just made looks like one until it has
/// become something else, and is none.
pub(crate) fn workers(data: &Path) -> Vec<i32> {
    let is_one = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let data = data.as_os_str().as_encoded_bytes();
        words.get(1) == Some(&&b"worker"[..]) && words.contains(&data) && host::is_alive(*pid)
    };
    let found: Vec<i32> = host::pids().into_iter().filter(is_one).collect();
    found.iter().copied().filter(|pid| parent(*pid).is_none_or(|parent| !found.contains(&parent))).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// A data folder where nothing has run yet.
struct Fresh {
    folder: TempDir,
}

impl Fresh {
    fn new() -> Result<Self> {
        Ok(Self { folder: tempfile::Builder::new().prefix("hw-").tempdir()? })
    }

    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.arg("--data").arg(self.data()).args(words).env_remove("HEADWATER_DATA").stdin(Stdio::null());
        command
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _ = self
            .command(&["stop", "--end-sessions", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

#[tokio::test]
async fn ten_clients_at_once_start_one_worker() -> Result<()> {
    let fresh = Fresh::new()?;
    let clients: Vec<Running> = (0..10)
        .map(|n| Running::start(fresh.command(&["run", "--", "echo", &n.to_string()])))
        .collect::<Result<_>>()?;
    for (n, client) in clients.into_iter().enumerate() {
        let done = client.finish()?;
        assert_eq!((done.code, done.text()), (Some(0), format!("{n}\n")), "{}", done.errors());
    }
    // Those that came second end a moment later.
    headwater_tests::host::eventually("one worker", async || workers(&fresh.data()).len() == 1).await?;
    let done = Running::start(fresh.command(&["stop"]))?.finish()?;
    assert_eq!((done.code, done.errors().as_str()), (Some(0), ""));
    assert!(done.text().starts_with("stopped: 0 sessions hibernated"), "{}", done.text());
    assert_eq!(workers(&fresh.data()), [0; 0]);
    Ok(())
}

#[tokio::test]
async fn a_worker_that_does_not_answer_in_time_is_not_left_behind() -> Result<()> {
    let fresh = Fresh::new()?;
    std::fs::create_dir(fresh.data())?;
    // The worker reads this file when it starts, and a FIFO without a writer makes it wait.
    let made = Command::new("mkfifo").arg(fresh.data().join("removed.jsonl")).status()?;
    assert!(made.success());
    let serve = Running::start(fresh.command(&["serve", "--listen", "127.0.0.1:0"]))?;
    headwater_tests::host::eventually("a worker", async || !workers(&fresh.data()).is_empty()).await?;
    let done = serve.finish()?;
    assert_eq!(done.code, Some(5), "{}", done.errors());
    assert!(done.errors().contains("does not answer"), "{}", done.errors());
    assert_eq!(workers(&fresh.data()), [0; 0]);
    Ok(())
}

#[tokio::test]
async fn a_folder_where_nothing_ran_starts_nothing() -> Result<()> {
    let fresh = Fresh::new()?;
    for words in [&["ps"][..], &["logs", "x"], &["sessions"], &["kill", "x"]] {
        let done = Running::start(fresh.command(words))?.finish()?;
        assert_eq!(done.code, Some(3), "{words:?}");
        assert!(
            done.errors().contains("does not exist") && done.errors().contains("hint:"),
            "{}",
            done.errors()
        );
    }
    let stop = Running::start(fresh.command(&["stop"]))?.finish()?;
    assert_eq!((stop.code, stop.errors().as_str()), (Some(0), "headwater: no worker is running\n"));
    assert!(!fresh.data().exists());
    Ok(())
}

/// A session with something in it that does not end by itself.
async fn busy(worker: &TestWorker) -> Result<Marker> {
    let marker = Marker::new();
    let session = worker.session().await?;
    // Always three processes: a loop would have one less between two turns.
    let line = "setsid sleep 1000 & trap '' TERM; sleep 1000; exit 1";
    worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
    headwater_tests::host::eventually("it runs", async || marker.processes().len() >= 3).await?;
    Ok(marker)
}

/// Nothing of the folder is left alive, or mounted.
async fn nothing_is_left(worker: &TestWorker, marker: &Marker) -> Result<()> {
    marker.count_becomes(0).await?;
    assert_eq!(workers(worker.data()), [0; 0]);
    assert_eq!(host::mounts(worker.data()), Vec::<String>::new());
    assert!(!worker.data().join("worker.sock").exists());
    Ok(())
}

/// A worker that gives programs a short warning.
async fn hasty() -> Result<TestWorker> {
    let config = Some("[hibernation]\nwarning = \"300ms\"\n".into());
    TestWorker::with(Options { pool: Some(1), config, ..Options::default() }).await
}

#[tokio::test]
async fn stop_ends_the_worker_and_all_that_runs() -> Result<()> {
    let worker = hasty().await?;
    let marker = busy(&worker).await?;
    assert_eq!(answer(&worker, &["stop"])?, "stopped: 1 session hibernated, 1 execution ended");
    nothing_is_left(&worker, &marker).await?;
    // The log is kept.
    let all = objects(&worker, &["ps", "--all", "--json"])?;
    assert!(all[0]["exit"]["reason"].is_string(), "{all:?}");
    Ok(())
}

#[tokio::test]
async fn stop_ends_what_a_killed_worker_left() -> Result<()> {
    let mut worker = hasty().await?;
    let marker = busy(&worker).await?;
    worker.kill();
    assert!(marker.processes().len() >= 3, "programs outlive the worker");
    answer(&worker, &["stop"])?;
    nothing_is_left(&worker, &marker).await
}

#[tokio::test]
async fn stop_warns_programs_and_keeps_workspaces_which_the_next_use_finds() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--name", "dev"])?;
    let line =
        "trap 'echo warned >> kept; exit 0' TERM; echo first > kept; echo on; while :; do sleep 0.05; done";
    let mut running = start(&worker, &["run", "--session", "dev", "--shell", line])?;
    running.stdout.until_printed("on")?;
    assert_eq!(answer(&worker, &["stop"])?, "stopped: 1 session hibernated, 1 execution ended");
    let workspace = worker.workspace(id.parse()?);
    assert_eq!(std::fs::read_to_string(workspace.join("kept"))?, "first\nwarned\n");
    // The next command starts a worker: the session is found by its name, and wakes.
    let listed = objects(&worker, &["sessions", "--json"])?;
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &"hibernated".into()));
    assert_eq!(answer(&worker, &["run", "--session", "dev", "--", "cat", "kept"])?, "first\nwarned");
    // What `stop` does not do, `--end-sessions` does: so the check above can fail.
    let done = answer(&worker, &["stop", "--end-sessions", "--yes"])?;
    assert_eq!(done, "stopped: 0 sessions hibernated, 1 session ended, 0 executions ended");
    assert!(!workspace.exists());
    Ok(())
}

#[tokio::test]
async fn a_one_shot_session_ends_with_stop_and_its_program_is_warned() -> Result<()> {
    let worker = worker().await?;
    let line = "trap 'echo warned; exit 3' TERM; echo on; while :; do sleep 0.05; done";
    let mut running = start(&worker, &["run", "--shell", line])?;
    running.stdout.until_printed("on")?;
    let done = answer(&worker, &["stop"])?;
    assert_eq!(done, "stopped: 0 sessions hibernated, 1 session ended, 1 execution ended");
    assert_eq!(objects(&worker, &["sessions", "--json"])?.len(), 0);
    let id = objects(&worker, &["ps", "--all", "--json"])?[0]["id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(answer(&worker, &["logs", &id])?, "on\nwarned", "its log stays");
    Ok(())
}

#[tokio::test]
async fn no_hint_and_no_help_text_leads_to_the_end_of_sessions() -> Result<()> {
    let worker = worker().await?;
    let other = run(&worker, &["run", "--sandbox", "none", "--", "true"])?;
    assert!(other.errors().contains("`headwater stop`: it hibernates"), "{}", other.errors());
    let help = answer(&worker, &["stop", "--help"])?;
    assert!(help.contains("hibernated") && help.contains("--end-sessions"), "{help}");
    let both = run(&worker, &["stop", "--keep-sessions", "--end-sessions"])?;
    assert_eq!(both.code, Some(2));
    Ok(())
}

#[tokio::test]
async fn a_worker_can_be_ended_alone_and_programs_run_on() -> Result<()> {
    let worker = worker().await?;
    let marker = busy(&worker).await?;
    answer(&worker, &["stop", "--keep-sessions"])?;
    assert_eq!(workers(worker.data()), [0; 0]);
    assert!(marker.processes().len() >= 3);
    // The next command starts a worker that finds them.
    let listed = objects(&worker, &["ps", "--json"])?;
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &"running".into()));
    answer(&worker, &["kill", "--now", listed[0]["id"].as_str().unwrap_or_default()])?;
    marker.count_becomes(0).await
}

#[tokio::test]
async fn a_second_worker_on_a_folder_is_refused() -> Result<()> {
    let worker = worker().await?;
    let done = run(&worker, &["worker"])?;
    assert_eq!(done.code, Some(75));
    assert_eq!(answer(&worker, &["run", "--", "echo", "unharmed"])?, "unharmed");
    Ok(())
}
