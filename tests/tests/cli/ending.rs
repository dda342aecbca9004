//! `sessions end` means the same on this machine and through a server, where it is `DELETE`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::{Engine, answer, headwater, objects, run};
use crate::pty::Pty;
use crate::worker;

/// The data folder behind it.
fn data(engine: &impl Engine) -> Result<PathBuf> {
    let command = engine.command();
    let mut set = command.get_envs().filter(|(name, _)| *name == "HEADWATER_DATA");
    Ok(set.next().and_then(|(_, value)| value).context("no data folder")?.into())
}

#[tokio::test]
async fn ending_a_session_deletes_its_logs_too_unless_they_are_kept_and_is_confirmed() -> Result<()> {
    let engine = worker().await?;
    let id = answer(&engine, &["sessions", "create", "--name", "dev"])?;
    answer(&engine, &["run", "--session", "dev", "--shell", "echo hello | tee file"])?;
    let workspace = data(&engine)?.join("sessions").join(&id).join("workspace");
    // Without a terminal it cannot ask, and `--yes` is missing.
    let refused = run(&engine, &["sessions", "end", "dev"])?;
    assert_eq!(refused.code, Some(2), "{}", refused.errors());
    assert!(refused.errors().contains("delete its workspace, snapshots, executions and logs"));
    assert!(refused.errors().contains("hint:") && refused.errors().contains("--yes"), "{}", refused.errors());
    assert!(workspace.join("file").exists());
    // A person is asked, and changes their mind.
    let mut person = Pty::with(&headwater(&engine, &["sessions", "end", "dev"]))?;
    person.screen.until_printed("[y/N]")?;
    person.types(b"n\n")?;
    assert_eq!(person.finish()?.0, Some(4));
    assert!(workspace.join("file").exists());
    answer(&engine, &["sessions", "end", "dev", "--keep-logs", "--yes"])?;
    assert!(!workspace.exists(), "the workspace is deleted");
    let all = objects(&engine, &["sessions", "--all", "--json"])?;
    assert_eq!((all.len(), &all[0]["state"]), (1, &"ended".into()));
    let kept = objects(&engine, &["ps", "--all", "--json"])?;
    assert_eq!(answer(&engine, &["logs", kept[0]["id"].as_str().context("no id")?])?, "hello");
    answer(&engine, &["sessions", "end", &id, "--yes"])?;
    assert_eq!(objects(&engine, &["sessions", "--all", "--json"])?.len(), 0);
    assert_eq!(objects(&engine, &["ps", "--all", "--json"])?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_hibernated_session_is_listed_and_is_found_by_its_name() -> Result<()> {
    let engine = worker().await?;
    let id = answer(&engine, &["sessions", "create", "--name", "dev"])?;
    answer(&engine, &["run", "--session", "dev", "--shell", "echo here > file"])?;
    let worker = headwater_contract::connect(&data(&engine)?.join("worker.sock")).await?;
    worker.hibernate_session(id.parse()?).await?;
    let listed = objects(&engine, &["sessions", "--json"])?;
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &"hibernated".into()));
    let again = run(&engine, &["sessions", "create", "--name", "dev"])?;
    assert_eq!(again.code, Some(4), "its name is taken: {}", again.errors());
    assert_eq!(answer(&engine, &["run", "--session", "dev", "--", "cat", "file"])?, "here");
    Ok(())
}
