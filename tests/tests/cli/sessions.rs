//! `sessions`, `ps`, `kill`, `forget`: by id, by the beginning of one, by name.

use anyhow::{Context, Result};

use crate::command::{answer, objects, run, start};
use crate::worker;

#[tokio::test]
async fn a_session_is_created_used_listed_and_ended() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--name", "dev", "--env", "FROM=session"])?;
    assert!(id.starts_with("ses_") && id.len() == 36, "{id}");
    // By name, by id and by the beginning of it: the same files, the same environment.
    answer(&worker, &["run", "--session", "dev", "--shell", "echo $FROM > file"])?;
    for text in [&id, &id[..12], &id[4..12], "dev"] {
        assert_eq!(answer(&worker, &["run", "--session", text, "--", "cat", "file"])?, "session", "{text}");
        assert_eq!(objects(&worker, &["sessions", "show", text, "--json"])?[0]["id"], id.as_str());
    }
    let table = answer(&worker, &["sessions"])?;
    assert!(table.starts_with("SESSION ") && table.contains(&id) && table.contains("dev"), "{table}");
    let listed = objects(&worker, &["sessions", "--json"])?;
    assert_eq!((listed.len(), &listed[0]["name"], &listed[0]["state"]), (1, &"dev".into(), &"ready".into()));

    answer(&worker, &["sessions", "end", "dev", "--keep-logs", "--yes"])?;
    assert_eq!(objects(&worker, &["sessions", "list", "--json"])?.len(), 0);
    let ended = objects(&worker, &["sessions", "--all", "--json"])?;
    assert!(ended.iter().any(|one| one["id"] == id.as_str() && one["state"] == "ended"), "{ended:?}");
    assert!(!worker.workspace(id.parse()?).exists(), "the workspace is gone");
    // The logs stay until they are forgotten.
    let of_session = ["ps", "--all", "--session", &id, "--json"];
    assert_eq!(objects(&worker, &of_session)?.len(), 5);
    assert_eq!(run(&worker, &["run", "--session", "dev", "--", "true"])?.code, Some(125));
    Ok(())
}

#[tokio::test]
async fn a_name_is_one_sessions_at_a_time() -> Result<()> {
    let worker = worker().await?;
    let first = answer(&worker, &["sessions", "create", "--name", "dev"])?;
    let again = run(&worker, &["sessions", "create", "--name", "dev"])?;
    assert_eq!(again.code, Some(4));
    assert!(again.errors().contains(&first) && again.errors().contains("hint:"), "{}", again.errors());
    answer(&worker, &["sessions", "end", "dev", "--yes"])?;
    let second = answer(&worker, &["sessions", "create", "--name", "dev"])?;
    assert_eq!(objects(&worker, &["sessions", "show", "dev", "--json"])?[0]["id"], second.as_str());
    Ok(())
}

#[tokio::test]
async fn a_one_shot_session_is_gone_after_its_run() -> Result<()> {
    let worker = worker().await?;
    assert_eq!(answer(&worker, &["run", "--", "echo", "hello"])?, "hello");
    let none = async || objects(&worker, &["sessions", "--json"]).is_ok_and(|all| all.is_empty());
    headwater_tests::host::eventually("its session has ended", none).await?;
    let all = objects(&worker, &["ps", "--all", "--json"])?;
    let id = all[0]["id"].as_str().context("no id")?;
    assert_eq!(answer(&worker, &["logs", id])?, "hello");
    Ok(())
}

#[tokio::test]
async fn a_running_execution_is_listed_with_its_processes_and_killed_as_a_tree() -> Result<()> {
    let worker = worker().await?;
    let line = "setsid sleep 1000 & sleep 1000 & echo ready; wait";
    let mut running = start(&worker, &["run", "--shell", line])?;
    running.stdout.until_printed("ready")?;
    let processes = || -> Result<usize> {
        let listed = objects(&worker, &["ps", "--processes", "--json"])?;
        Ok(listed[0]["processes"].as_array().map_or(0, Vec::len))
    };
    headwater_tests::host::eventually("three processes", async || processes().is_ok_and(|n| n == 3)).await?;
    let listed = objects(&worker, &["ps", "--json"])?;
    let id = listed[0]["id"].as_str().context("no id")?;
    assert_eq!((&listed[0]["state"], &listed[0]["stdout_bytes"]), (&"running".into(), &6.into()));
    assert!(answer(&worker, &["ps"])?.contains("sleep 1000"), "the command is shown");
    // It cannot be forgotten while it runs.
    let early = run(&worker, &["forget", id])?;
    assert_eq!(early.code, Some(4), "{}", early.errors());
    answer(&worker, &["kill", &id[..10]])?;
    assert_eq!(running.finish()?.code, Some(130));
    let nothing = async || objects(&worker, &["ps", "--json"]).is_ok_and(|all| all.is_empty());
    headwater_tests::host::eventually("nothing runs", nothing).await?;
    // It can be forgotten when its log is closed, a moment after its end.
    answer(&worker, &["logs", "-f", id])?;
    answer(&worker, &["forget", id])?;
    assert_eq!(run(&worker, &["logs", id])?.code, Some(3));
    assert_eq!(objects(&worker, &["ps", "--all", "--json"])?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn ending_a_session_ends_its_programs_and_forget_removes_the_logs() -> Result<()> {
    let worker = worker().await?;
    answer(&worker, &["sessions", "create", "--name", "work"])?;
    let mut running =
        start(&worker, &["run", "--session", "work", "--shell", "echo ready; exec sleep 1000"])?;
    running.stdout.until_printed("ready")?;
    answer(&worker, &["sessions", "end", "work", "--forget"])?;
    let done = running.finish()?;
    assert!(done.code.is_some_and(|code| code != 0), "{done:?}");
    assert_eq!(objects(&worker, &["ps", "--all", "--json"])?.len(), 0);
    assert_eq!(objects(&worker, &["sessions", "--all", "--json"])?.len(), 0);
    Ok(())
}
