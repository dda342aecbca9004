//! Where a command acts, its exit codes, and failures to start.

use std::net::TcpListener;
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::command::{Running, answer, headwater, objects, run};
use crate::starting::workers;
use crate::worker;

#[tokio::test]
async fn a_server_is_refused_where_it_means_nothing() -> Result<()> {
    let worker = worker().await?;
    answer(&worker, &["run", "--", "true"])?;
    for name in ["stop", "doctor", "config", "serve", "worker"] {
        let done = run(&worker, &["--server", "http://127.0.0.1:1", name])?;
        assert_eq!(done.code, Some(2), "{name}: {}", done.errors());
        assert!(done.errors().contains("`--server` means nothing"), "{name}: {}", done.errors());
        let mut command = headwater(&worker, &[name]);
        command.env("HEADWATER_URL", "http://127.0.0.1:1");
        let done = Running::start(command)?.finish()?;
        assert_eq!(done.code, Some(2), "{name}: {}", done.errors());
        assert!(done.errors().contains("HEADWATER_URL"), "{name}: {}", done.errors());
    }
    assert_eq!(workers(worker.data()).len(), 1, "the worker was not stopped");
    for name in ["completion", "man"] {
        let words: &[&str] = if name == "completion" { &[name, "bash"] } else { &[name] };
        let mut command = headwater(&worker, words);
        command.env("HEADWATER_URL", "http://127.0.0.1:1");
        assert_eq!(Running::start(command)?.finish()?.code, Some(0), "{name} needs no server");
    }
    Ok(())
}

#[tokio::test]
async fn a_closed_pipe_is_not_a_failure_of_a_list() -> Result<()> {
    let worker = worker().await?;
    for words in [
        &["config"][..],
        &["config", "--json"],
        &["doctor"],
        &["languages"],
        &["sessions"],
        &["ps"],
        &["completion", "zsh"],
        &["man"],
        &["version"],
        &["--help"],
    ] {
        // The reading end is closed before anything is written.
        let (reader, writer) = std::io::pipe()?;
        drop(reader);
        let mut command = headwater(&worker, words);
        let done = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!said.contains("panicked"), "{words:?}: {said}");
        assert_eq!(done.status.code(), Some(0), "{words:?}: {said}");
    }
    // An error that nobody reads is still an error, and not a panic.
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let mut command = headwater(&worker, &["sessions", "show", "nobody"]);
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).status()?;
    assert_eq!(done.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn every_command_has_the_exit_codes_of_the_table() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--name", "dev"])?;
    for (words, code) in [
        (&["run", "--", "sh", "-c", "exit 7"][..], 7),
        (&["run"], 125),
        (&["run", "--tymeout", "5s", "true"], 2),
        (&["exec", "dev", "--", "true"], 0),
        (&["exec", "nobody", "true"], 125),
        (&["shell", "nobody"], 125),
        (&["attach", "nothing"], 125),
        (&["sessions", "show", "nobody"], 3),
        (&["sessions", "create", "--name", "dev"], 4),
        (&["ps"], 0),
        (&["logs", "nothing"], 3),
        (&["wait", "nothing"], 3),
        (&["kill", "nothing"], 3),
        (&["forget", "nothing"], 3),
        (&["prune", "--session", "nobody"], 3),
        (&["cp", "a", "b"], 2),
        (&["stats", "nobody"], 3),
        (&["snapshot", "list", "nobody"], 3),
        (&["fork", "nobody"], 3),
        (&["hibernate", "nobody"], 3),
        (&["packages", "nobody"], 3),
        (&["languages"], 0),
        // They need a server, and none runs.
        (&["share", "list", "dev"], 5),
        (&["usage"], 5),
        (&["audit"], 5),
        (&["open", "--print"], 5),
        (&["token", "list"], 3),
        (&["user", "list"], 3),
        (&["config", "--config", "/no/such/file"], 2),
        (&["serve", "--config", "/no/such/file"], 2),
        (&["worker", "--config", "/no/such/file"], 2),
        (&["worker"], 75),
        (&["login", "ftp://x", "--token", "t"], 2),
        (&["context", "use", "nowhere"], 3),
        (&["completion", "bash"], 0),
        (&["completion", "cobol"], 2),
        (&["man"], 0),
        (&["version"], 0),
        (&["sessions", "end", "dev"], 2),
        (&["sessions", "end", "dev", "--yes"], 0),
        (&["nonsense"], 2),
    ] {
        let mut command = headwater(&worker, words);
        command.env("HEADWATER_CONTEXTS", worker.data().join("contexts.json"));
        let done = Running::start(command)?.finish()?;
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.errors());
    }
    assert_eq!(
        objects(&worker, &["sessions", "--all", "--json"])?.iter().filter(|one| one["id"] == id).count(),
        0
    );
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_listen_leaves_no_worker() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("hw-").tempdir()?;
    let data = folder.path().join("data");
    let busy = TcpListener::bind("127.0.0.1:0")?;
    let mut command = std::process::Command::new(headwater_tests::binary());
    command.arg("--data").arg(&data).args(["serve", "--listen"]).arg(busy.local_addr()?.to_string());
    command.env_remove("HEADWATER_DATA").env_remove("HEADWATER_URL");
    let done = Running::start(command)?.finish()?;
    assert_eq!(done.code, Some(4), "{}", done.errors());
    assert!(done.errors().contains("cannot listen"), "{}", done.errors());
    assert_eq!(workers(&data), Vec::<i32>::new());
    Ok(())
}

#[tokio::test]
async fn an_invalid_variable_is_named_and_not_a_file_that_does_not_exist() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("hw-").tempdir()?;
    for name in ["config", "doctor", "serve", "worker"] {
        let mut command = std::process::Command::new(headwater_tests::binary());
        command.arg("--data").arg(folder.path()).arg(name).env("SESSION_MAX_MEMORY", "lots");
        command.env_remove("HEADWATER_DATA").env_remove("HEADWATER_URL");
        let done = Running::start(command)?.finish()?;
        let said = format!("{}{}", done.text(), done.errors());
        assert_ne!(done.code, Some(0), "{name}: {said}");
        assert!(said.contains("`SESSION_MAX_MEMORY`") && said.contains("`lots`"), "{name}: {said}");
        assert!(!said.contains("headwater.toml` is not a valid"), "{name}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn the_manual_has_a_page_for_every_command() -> Result<()> {
    let worker = worker().await?;
    let folder = tempfile::tempdir()?;
    answer(&worker, &["man", folder.path().to_str().context("not text")?])?;
    for name in ["headwater.1", "headwater-run.1", "headwater-sessions-create.1"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    assert!(answer(&worker, &["man"])?.contains("headwater"));
    let version = answer(&worker, &["version"])?;
    assert!(version.starts_with("headwater ") && version.contains("\nworker "), "{version}");
    Ok(())
}
