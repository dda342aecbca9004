//! Sessions and executions of a server, by id, by the beginning of one, by name.

use anyhow::{Context, Result};
use headwater_tests::host::eventually;

use crate::command::{answer, objects, run, start};
use crate::worker;

#[tokio::test]
async fn a_session_is_created_used_listed_and_removed() -> Result<()> {
    let server = worker().await?;
    let id = answer(&server, &["sessions", "create", "--name", "dev", "--env", "FROM=session"])?;
    assert!(id.starts_with("ses_") && id.len() == 36, "{id}");
    answer(&server, &["run", "--session", "dev", "--shell", "echo $FROM > file"])?;
    for text in [&id, &id[..12], &id[4..12], "dev"] {
        assert_eq!(answer(&server, &["run", "--session", text, "--", "cat", "file"])?, "session", "{text}");
        assert_eq!(objects(&server, &["sessions", "show", text, "--json"])?[0]["id"], id.as_str());
    }
    let table = answer(&server, &["sessions"])?;
    assert!(table.starts_with("SESSION ") && table.contains(&id) && table.contains("dev"), "{table}");
    assert_eq!(objects(&server, &["ps", "--all", "--session", "dev", "--json"])?.len(), 5);
    let again = run(&server, &["sessions", "create", "--name", "dev"])?;
    assert_eq!(again.code, Some(4), "{}", again.errors());
    answer(&server, &["sessions", "end", "dev", "--forget"])?;
    assert_eq!(objects(&server, &["sessions", "--all", "--json"])?.len(), 0);
    assert_eq!(objects(&server, &["ps", "--all", "--json"])?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_running_execution_is_listed_with_its_processes_and_killed_as_a_tree() -> Result<()> {
    let server = worker().await?;
    let line = "setsid sleep 1000 & sleep 1000 & echo ready; wait";
    let mut running = start(&server, &["run", "--shell", line])?;
    running.stdout.until_printed("ready")?;
    let processes = || -> Result<usize> {
        let listed = objects(&server, &["ps", "--processes", "--json"])?;
        Ok(listed[0]["processes"].as_array().map_or(0, Vec::len))
    };
    eventually("three processes", async || processes().is_ok_and(|n| n == 3)).await?;
    let listed = objects(&server, &["ps", "--json"])?;
    let id = listed[0]["id"].as_str().context("no id")?;
    assert_eq!((&listed[0]["state"], &listed[0]["stdout_bytes"]), (&"running".into(), &6.into()));
    assert!(answer(&server, &["ps"])?.contains("sleep 1000"), "the command is shown");
    let early = run(&server, &["forget", id])?;
    assert_eq!(early.code, Some(4), "{}", early.errors());
    answer(&server, &["kill", &id[..10]])?;
    assert_eq!(running.finish()?.code, Some(130));
    let nothing = async || objects(&server, &["ps", "--json"]).is_ok_and(|all| all.is_empty());
    eventually("nothing runs", nothing).await?;
    // It can be forgotten when its log is closed, a moment after its end.
    answer(&server, &["logs", "-f", id])?;
    answer(&server, &["forget", id])?;
    assert_eq!(run(&server, &["logs", id])?.code, Some(3));
    assert_eq!(objects(&server, &["ps", "--all", "--json"])?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_one_shot_session_has_the_requested_limits_and_is_gone_after_its_run() -> Result<()> {
    let server = worker().await?;
    let words = ["run", "--pids", "4", "--shell", "for i in 1 2 3 4 5 6; do sleep 1000 & done; echo done"];
    let done = run(&server, &words)?;
    assert!(done.code != Some(0), "more processes than the limit are refused: {}", done.text());
    let none = async || objects(&server, &["sessions", "--json"]).is_ok_and(|all| all.is_empty());
    eventually("its session has ended", none).await?;
    assert_eq!(objects(&server, &["ps", "--all", "--json"])?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_list_of_many_pages_is_shown_whole() -> Result<()> {
    let server = worker().await?;
    let session = answer(&server, &["sessions", "create"])?;
    let client = server.client()?;
    let request = headwater_protocol::api::StartRequest {
        argv: Some(vec!["true".into()]),
        ..headwater_protocol::api::StartRequest::default()
    };
    // One more than a page has by default.
    for _ in 0..101 {
        client.start(Some(session.parse()?), &request, None).await?;
    }
    assert_eq!(objects(&server, &["ps", "--all", "--json"])?.len(), 101);
    Ok(())
}
