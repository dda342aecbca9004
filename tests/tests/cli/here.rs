//! `headwater run --here`: the current folder as the workspace.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use headwater_tests::TestWorker;
use headwater_tests::host::eventually;

use crate::command::{Done, Running, headwater, objects, run};
use crate::worker;

/// A worker, and a project beside its data folder.
async fn project() -> Result<(TestWorker, PathBuf)> {
    let worker = worker().await?;
    let folder = fs::canonicalize(worker.scratch())?.join("project");
    fs::create_dir_all(folder.join("sub"))?;
    fs::write(folder.join("a.txt"), "hello\n")?;
    Ok((worker, folder))
}

/// Runs a command in this folder.
fn run_in(worker: &TestWorker, folder: &Path, words: &[&str]) -> Result<Done> {
    let mut command = headwater(worker, words);
    command.current_dir(folder);
    Running::start(command)?.finish()
}

/// A temporary session ends a moment after its program.
async fn no_session_is_left(worker: &TestWorker) -> Result<()> {
    let is_empty = || Ok::<_, anyhow::Error>(objects(worker, &["sessions", "--json"])?.is_empty());
    eventually("the end of the sessions", async || is_empty().is_ok_and(|empty| empty)).await
}

#[tokio::test]
async fn programs_run_in_the_current_folder_and_change_it() -> Result<()> {
    let (worker, folder) = project().await?;
    let line = "pwd; cat a.txt; echo new > sub/new; ls ..";
    let done = run_in(&worker, &folder, &["run", "--here", "--shell", line])?;
    assert_eq!(done.text(), format!("{}\nhello\nproject\n", folder.display()), "{}", done.errors());
    assert_eq!(done.code, Some(0));
    let new = folder.join("sub/new");
    assert_eq!((fs::read_to_string(&new)?.as_str(), fs::metadata(&new)?.uid()), ("new\n", 0));
    // From a folder in it, with relative paths; the folder above is not part of the session.
    let words =
        ["run", "--here", "--writable", "../a.txt", "--shell", "echo more >> ../a.txt; ls .. && touch ../x"];
    let done = run_in(&worker, &folder.join("sub"), &words)?;
    assert_eq!((done.text().as_str(), done.code), ("a.txt\nsub\n", Some(1)), "{}", done.errors());
    assert_eq!(fs::read_to_string(folder.join("a.txt"))?, "hello\nmore\n");
    assert!(!folder.join("x").exists());
    // Nothing of the temporary sessions is left, and the folder is.
    no_session_is_left(&worker).await?;
    assert_eq!(fs::read_dir(&folder)?.count(), 2);
    Ok(())
}

#[tokio::test]
async fn the_sandbox_of_the_current_folder_is_chosen_by_name() -> Result<()> {
    let (worker, folder) = project().await?;
    let write = "echo x > x; echo y > ../y; ls /root >/dev/null && echo root";
    let with =
        |sandbox: &str| run_in(&worker, &folder, &["run", "--here", "--sandbox", sandbox, "--shell", write]);
    let exists = |name: &str| folder.join(name).exists();
    assert_ne!(with("read-only")?.code, Some(0));
    assert!(!exists("x") && !exists("../y"));
    assert_ne!(with("workspace-write")?.code, Some(0));
    assert!(exists("x") && !exists("../y"));
    let open = with("danger-full-access")?;
    assert_eq!((open.code, open.text().as_str()), (Some(0), "root\n"), "{}", open.errors());
    assert!(exists("../y"));
    let home = run_in(
        &worker,
        &folder,
        &["run", "--here", "--sandbox", "danger-full-access", "--shell", "echo $HOME"],
    )?;
    assert_eq!(home.text().trim(), std::env::var("HOME").unwrap_or_default());
    no_session_is_left(&worker).await
}

#[tokio::test]
async fn wrong_combinations_are_refused_before_anything_runs() -> Result<()> {
    let (worker, folder) = project().await?;
    for (words, said) in [
        (&["--here", "--sandbox", "full"][..], "not possible with `--here`"),
        (&["--here", "--sandbox", "none"], "not possible with `--here`"),
        (&["--sandbox", "read-only"], "is for the current folder"),
        (&["--here", "--session", "x"], "cannot be used with"),
        (&["--writable", "/x"], "--here"),
        (&["--here", "--disk", "1Gi"], "no disk limit"),
        (&["--here", "--sandbox", "danger-full-access", "--network", "none"], "cannot restrict the network"),
        (&["--here", "--writable", "missing"], "does not exist"),
        (&["--here", "--writable", "/etc"], "cannot be part of an in-place session"),
    ] {
        let words = [&["run"], words, &["--", "touch", "ran"]].concat();
        let done = run_in(&worker, &folder, &words)?;
        assert!(matches!(done.code, Some(2 | 125)), "{words:?}: {:?}", done.code);
        assert!(done.errors().contains(said), "{words:?}: {}", done.errors());
        assert!(!folder.join("ran").exists(), "{words:?}");
    }
    let words = ["--server", "http://127.0.0.1:1", "--token", "x", "run", "--here", "--", "true"];
    let done = run_in(&worker, &folder, &words)?;
    assert!(done.errors().contains("works on this machine"), "{}", done.errors());
    let done = run(&worker, &["exec", "x", "--here", "--", "true"])?;
    assert_eq!(done.code, Some(2), "`exec` has no folder: {}", done.errors());
    Ok(())
}
