//! The environment of a program: its folder, its variables, and nothing of the worker's.

use std::collections::BTreeMap;

use anyhow::Result;
use headwater_protocol::{SessionSpec, StartSpec};
use headwater_tests::{Options, TestWorker};

use crate::worker;

#[tokio::test]
async fn a_program_runs_in_the_workspace_by_default() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let run = async |cwd: Option<&str>| {
        let mut spec = StartSpec::shell("pwd");
        spec.cwd = cwd.map(str::to_owned);
        worker.run_in(session, &spec).await.map(|seen| seen.text())
    };
    assert_eq!(run(None).await?, "/workspace\n");
    assert_eq!(run(Some("/tmp")).await?, "/tmp\n");
    std::fs::create_dir_all(worker.workspace(session).join("a/b c"))?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(worker.workspace(session).join("a/b c"), permissions)?;
    assert_eq!(run(Some("a/b c")).await?, "/workspace/a/b c\n");
    Ok(())
}

#[tokio::test]
async fn the_environment_is_ours_the_sessions_and_the_executions_and_no_more() -> Result<()> {
    // The worker has the whole environment of the test, cargo's variables among it.
    for no_walls in [false, true] {
        let worker = TestWorker::with(Options { pool: Some(0), no_walls, ..Options::default() }).await?;
        let env = BTreeMap::from([("A".into(), "session".into()), ("B".into(), "session".into())]);
        let of_session = SessionSpec { env, ..SessionSpec::default() };
        let session = worker.client().await?.create_session(None, &of_session).await?.id;
        let mut spec = StartSpec::argv(["env", "-0"]);
        spec.env = BTreeMap::from([("B".into(), "execution".into()), ("C".into(), "x=y\nz".into())]);
        let text = worker.run_in(session, &spec).await?.text();
        let env: BTreeMap<_, _> =
            text.split_terminator('\0').filter_map(|pair| pair.split_once('=')).collect();
        let names: Vec<_> = env.keys().copied().collect();
        let expected = [
            "A",
            "B",
            "C",
            "CARGO_INSTALL_ROOT",
            "GOBIN",
            "HOME",
            "LANG",
            "LOGNAME",
            "PATH",
            "PIP_PYTHON",
            "PYTHONUNBUFFERED",
            "SHELL",
            "TERM",
            "TMPDIR",
            "USER",
            "npm_config_prefix",
        ];
        assert_eq!(names, expected);
        assert_eq!((env["A"], env["B"], env["C"]), ("session", "execution", "x=y\nz"));
    }
    Ok(())
}

#[tokio::test]
async fn a_file_that_one_execution_leaves_is_found_by_the_next() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("echo kept > file; echo kept > /tmp/file")).await?;
    let seen = worker.run_in(session, &StartSpec::shell("cat file /tmp/file")).await?;
    assert_eq!(seen.text(), "kept\nkept\n");
    let other = worker.run(&StartSpec::shell("ls -A . /tmp")).await?;
    assert_eq!(other.text(), ".:\n\n/tmp:\n");
    Ok(())
}

#[tokio::test]
async fn a_program_gets_three_descriptors_and_no_more() -> Result<()> {
    for no_walls in [false, true] {
        let worker = TestWorker::with(Options { pool: Some(0), no_walls, ..Options::default() }).await?;
        // `ls` itself has the fourth: the folder that it lists.
        let seen = worker.run(&StartSpec::argv(["ls", "/proc/self/fd"])).await?;
        assert_eq!(seen.text(), "0\n1\n2\n3\n");
    }
    Ok(())
}
