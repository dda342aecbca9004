//! Commands on the files and the life of a session: `cp`, `snapshot`, `fork`, `hibernate`, `exec`, `wait`, `stats`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use headwater_tests::host::eventually;

use crate::command::{answer, objects, run};
use crate::worker;

#[tokio::test]
async fn files_and_folders_are_copied_in_both_directions() -> Result<()> {
    let worker = worker().await?;
    let here = tempfile::tempdir()?;
    let at = |name: &str| here.path().join(name).display().to_string();
    answer(&worker, &["sessions", "create", "--name", "dev"])?;
    fs::create_dir_all(here.path().join("src/deep"))?;
    fs::write(here.path().join("src/deep/a.txt"), "a")?;
    fs::write(here.path().join("src/run.sh"), "#!/bin/sh\necho ran\n")?;
    fs::set_permissions(here.path().join("src/run.sh"), fs::Permissions::from_mode(0o755))?;
    std::os::unix::fs::symlink("deep/a.txt", here.path().join("src/link"))?;
    let large: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[1]).collect();
    fs::write(here.path().join("large"), &large)?;
    // A file into the workspace, under another name, and into a folder.
    answer(&worker, &["cp", &at("large"), "dev:"])?;
    answer(&worker, &["cp", &at("src/deep/a.txt"), "dev:new/b.txt"])?;
    answer(&worker, &["cp", &at("large"), "dev:new"])?;
    // A folder: new, into one that exists, and its contents.
    answer(&worker, &["cp", &at("src"), "dev:project"])?;
    answer(&worker, &["cp", &at("src"), "dev:project"])?;
    answer(&worker, &["cp", &at("src/."), "dev:/workspace/flat"])?;
    let found =
        answer(&worker, &["exec", "dev", "--shell", "find . -type f -o -type l | sort; project/run.sh"])?;
    let expected = "./flat/deep/a.txt\n./flat/link\n./flat/run.sh\n./large\n./new/b.txt\n./new/large\n\
                    ./project/deep/a.txt\n./project/link\n./project/run.sh\n./project/src/deep/a.txt\n\
                    ./project/src/link\n./project/src/run.sh\nran";
    assert_eq!(found, expected);
    // And back.
    answer(&worker, &["cp", "dev:new/large", &at("back")])?;
    assert_eq!(fs::read(here.path().join("back"))?, large);
    fs::create_dir(here.path().join("into"))?;
    answer(&worker, &["cp", "dev:project", &at("into")])?;
    answer(&worker, &["cp", "dev:new/b.txt", &at("into")])?;
    answer(&worker, &["cp", "dev:.", &at("all")])?;
    assert_eq!(fs::read_to_string(here.path().join("into/project/src/deep/a.txt"))?, "a");
    assert_eq!(fs::read_to_string(here.path().join("into/b.txt"))?, "a");
    assert_eq!(fs::read_link(here.path().join("all/project/link"))?.to_str(), Some("deep/a.txt"));
    assert_eq!(fs::metadata(here.path().join("all/project/run.sh"))?.permissions().mode() & 0o111, 0o111);
    Ok(())
}

#[tokio::test]
async fn a_copy_that_cannot_be_made_says_why_and_leaves_nothing() -> Result<()> {
    let worker = worker().await?;
    let here = tempfile::tempdir()?;
    let at = |name: &str| here.path().join(name).display().to_string();
    answer(&worker, &["sessions", "create", "--name", "dev"])?;
    for (words, code, said) in [
        (&["cp", &at("missing"), "dev:"][..], 3, "does not exist"),
        (&["cp", "dev:missing", &at("x")], 3, "`missing` does not exist"),
        (&["cp", "nobody:x", &at("x")], 3, "there is no session `nobody`"),
        (&["cp", "a", "b"], 2, "SESSION:PATH"),
        (&["cp", "dev:a", "dev:b"], 2, "one session to another"),
        (&["cp", "/dev/null", "dev:x"], 4, "neither a file nor a folder"),
    ] {
        let done = run(&worker, words)?;
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.errors());
        assert!(done.errors().contains(said), "{words:?}: {}", done.errors());
    }
    assert_eq!(fs::read_dir(here.path())?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn a_workspace_is_snapshotted_restored_and_forked() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--name", "dev"])?;
    answer(&worker, &["exec", "dev", "--shell", "echo one > file"])?;
    let snapshot = answer(&worker, &["snapshot", "create", "dev", "--name", "first"])?;
    answer(&worker, &["exec", "dev", "--shell", "echo two > file"])?;
    let listed = answer(&worker, &["snapshot", "list", "dev"])?;
    assert!(listed.starts_with("SNAPSHOT ") && listed.contains("first"), "{listed}");
    assert_eq!(objects(&worker, &["snapshot", "list", &id[..12], "--json"])?[0]["id"], snapshot.as_str());
    let fork = answer(&worker, &["fork", "dev", "--name", "copy", "--snapshot", "first"])?;
    assert_ne!(fork, id);
    assert_eq!(answer(&worker, &["exec", "copy", "--", "cat", "file"])?, "one");
    let refused = run(&worker, &["fork", "dev", "--name", "copy"])?;
    assert_eq!(refused.code, Some(4), "{}", refused.errors());
    let unconfirmed = run(&worker, &["snapshot", "restore", "dev", "first"])?;
    assert_eq!(unconfirmed.code, Some(2), "{}", unconfirmed.errors());
    assert_eq!(answer(&worker, &["exec", "dev", "--", "cat", "file"])?, "two");
    answer(&worker, &["snapshot", "restore", "dev", &snapshot[..12], "--yes"])?;
    assert_eq!(answer(&worker, &["exec", "dev", "--", "cat", "file"])?, "one");
    answer(&worker, &["snapshot", "remove", "dev", "first"])?;
    assert!(objects(&worker, &["snapshot", "list", "dev", "--json"])?.is_empty());
    assert_eq!(run(&worker, &["snapshot", "restore", "dev", "first", "--yes"])?.code, Some(3));
    Ok(())
}

#[tokio::test]
async fn a_hibernated_session_is_listed_found_by_name_and_resumed() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--name", "sleeper"])?;
    answer(&worker, &["exec", "sleeper", "--shell", "echo kept > file"])?;
    answer(&worker, &["hibernate", "sleeper"])?;
    let listed = objects(&worker, &["sessions", "--json"])?;
    assert_eq!((&listed[0]["id"], &listed[0]["state"]), (&id.as_str().into(), &"hibernated".into()));
    assert_eq!(objects(&worker, &["sessions", "show", "sleeper", "--json"])?[0]["id"], id.as_str());
    let taken = run(&worker, &["sessions", "create", "--name", "sleeper"])?;
    assert_eq!(taken.code, Some(4), "{}", taken.errors());
    assert_eq!(answer(&worker, &["exec", "sleeper", "--", "cat", "file"])?, "kept");
    Ok(())
}

#[tokio::test]
async fn exec_runs_in_the_session_and_exits_as_the_program_does() -> Result<()> {
    let worker = worker().await?;
    answer(&worker, &["sessions", "create", "--name", "dev", "--env", "FROM=session"])?;
    assert_eq!(answer(&worker, &["exec", "dev", "sh", "-c", "echo $FROM"])?, "session");
    assert_eq!(run(&worker, &["exec", "dev", "--", "sh", "-c", "exit 7"])?.code, Some(7));
    assert_eq!(run(&worker, &["exec", "nobody", "true"])?.code, Some(125));
    assert_eq!(run(&worker, &["exec", "dev", "--tymeout", "5s", "true"])?.code, Some(2));
    Ok(())
}

#[tokio::test]
async fn wait_prints_the_exit_codes_and_gives_up_after_its_time() -> Result<()> {
    let worker = worker().await?;
    let first = answer(&worker, &["run", "--detach", "--shell", "exit 3"])?;
    let second = answer(&worker, &["run", "--detach", "--", "true"])?;
    assert_eq!(answer(&worker, &["wait", &first, &second])?, "3\n0");
    let third = answer(&worker, &["run", "--detach", "--", "sleep", "1000"])?;
    assert_eq!(run(&worker, &["wait", &third, "--timeout", "100ms"])?.code, Some(124));
    assert_eq!(run(&worker, &["wait", "nothing"])?.code, Some(3));
    Ok(())
}

#[tokio::test]
async fn stats_show_what_running_sessions_use() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--name", "busy"])?;
    answer(&worker, &["run", "--session", "busy", "--detach", "--", "sleep", "1000"])?;
    let used = || objects(&worker, &["stats", "busy", "--json"]);
    let has_process =
        async || used().is_ok_and(|all| all.len() == 1 && all[0]["processes"].as_u64() >= Some(1));
    eventually("a process is counted", has_process).await?;
    assert_eq!(used()?[0]["session_id"], id.as_str());
    let table = answer(&worker, &["stats"])?;
    assert!(table.starts_with("SESSION ") && table.contains("busy"), "{table}");
    Ok(())
}

#[tokio::test]
async fn languages_are_listed_and_the_suffix_of_a_file_selects_one() -> Result<()> {
    let worker = worker().await?;
    let listed = objects(&worker, &["languages", "--json"])?;
    assert!(listed.iter().any(|one| one["name"] == "python" && one["available"] == true), "{listed:?}");
    assert!(answer(&worker, &["languages"])?.starts_with("LANGUAGE "));
    let here = tempfile::tempdir()?;
    let path = here.path().join("x.py");
    fs::write(&path, "import sys\nprint('python', sys.argv[1:])\n")?;
    let path = path.display().to_string();
    assert_eq!(answer(&worker, &["run", "--file", &path, "--", "a", "-b"])?, "python ['a', '-b']");
    let unknown = here.path().join("x.unknown").display().to_string();
    fs::write(&unknown, "")?;
    let done = run(&worker, &["run", "--file", &unknown])?;
    assert_eq!(done.code, Some(125));
    assert!(done.errors().contains("`.unknown`") && done.errors().contains("--lang"), "{}", done.errors());
    answer(&worker, &["sessions", "create", "--name", "dev"])?;
    assert_eq!(answer(&worker, &["packages", "dev"])?, "PACKAGE  VERSION");
    Ok(())
}

#[tokio::test]
async fn the_network_of_a_run_and_of_a_session_can_be_chosen() -> Result<()> {
    let worker = worker().await?;
    let id = answer(&worker, &["sessions", "create", "--network", "packages"])?;
    assert_eq!(objects(&worker, &["sessions", "show", &id, "--json"])?[0]["network"], "packages");
    assert_eq!(answer(&worker, &["run", "--network", "packages", "--", "echo", "hi"])?, "hi");
    let refused = run(&worker, &["run", "--network", "full", "--", "true"])?;
    assert_eq!(refused.code, Some(125), "the default configuration does not allow it: {}", refused.errors());
    Ok(())
}
