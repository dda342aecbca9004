//! Package managers as people use them in a shell, without having prepared anything.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};
use headwater_protocol::{Network, SessionId, SessionSpec, StartSpec, Stdin};
use headwater_tests::{Options, TestWorker};
use serde_json::json;

use crate::outlet::{run, session, succeed, worker};
use crate::registry::Registry;
use crate::sample_packages::{sha256, wheel};

const FILE: &str = "tiny-1.0-py3-none-any.whl";
const SHOW: &str = "import sys, tiny; print(sys.prefix, tiny.version)";

async fn without_walls() -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(0), no_walls: true, ..Options::default() }).await
}

/// A session with a wheel in its workspace.
async fn with_wheel(worker: &TestWorker) -> Result<SessionId> {
    let id = worker.session().await?;
    let hex: String = wheel("tiny", "1.0")?.iter().map(|byte| format!("{byte:02x}")).collect();
    let code = format!("open('{FILE}', 'wb').write(bytes.fromhex('{hex}'))");
    let seen = worker.run_in(id, &StartSpec::argv(["python3", "-c", &code])).await?;
    anyhow::ensure!(seen.verdict().code == Some(0), "{}", seen.errors());
    Ok(id)
}

#[tokio::test]
async fn pip_in_a_shell_line_creates_the_environment_of_the_workspace_and_everything_uses_it() -> Result<()> {
    let registry = Registry::new().await?;
    let wheel = wheel("tiny", "1.0")?;
    let page = json!({ "meta": { "api-version": "1.1" }, "name": "tiny", "versions": ["1.0"], "files": [
        { "filename": FILE, "url": format!("../../files/{FILE}"), "hashes": { "sha256": sha256(&wheel) } },
    ]});
    registry.put("/simple/tiny/", "application/vnd.pypi.simple.v1+json", page.to_string());
    registry.put(&format!("/files/{FILE}"), "application/octet-stream", wheel);
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    // Asking creates nothing.
    succeed(&worker, id, "pip list && test ! -e .venv").await?;
    succeed(&worker, id, "pip install --disable-pip-version-check tiny").await?;
    let expected = "/workspace/.venv 1.0\n";
    for line in [
        format!("python -c '{SHOW}'"),
        format!("python3 -c '{SHOW}'"),
        format!("bash -lc \"python -c '{SHOW}'\""),
    ] {
        assert_eq!(succeed(&worker, id, &line).await?, expected, "{line}");
    }
    let argv = worker.run_in(id, &StartSpec::argv(["python3", "-c", SHOW])).await?;
    assert_eq!(argv.text(), expected);
    let code = worker.run_in(id, &StartSpec::code("python", SHOW)).await?;
    assert_eq!(code.text(), expected);
    Ok(())
}

#[tokio::test]
async fn every_way_to_call_pip_leads_to_the_same_environment_with_and_without_isolation() -> Result<()> {
    for worker in [TestWorker::small().await?, without_walls().await?] {
        for pip in ["pip3", "python3 -m pip", "python -m pip"] {
            let id = with_wheel(&worker).await?;
            let line = format!("{pip} install --disable-pip-version-check --no-index ./{FILE}");
            succeed(&worker, id, &line).await?;
            let shown = succeed(&worker, id, &format!("python -c '{SHOW}' && echo $HOME")).await?;
            let (prefix, home) = shown.split_once(" 1.0\n").context("no version")?;
            assert_eq!(prefix, format!("{}/.venv", home.trim()), "{pip}");
            // From now on it is the environment's own.
            let own = succeed(&worker, id, "python -m pip uninstall --yes tiny && command -v pip").await?;
            assert!(own.ends_with(".venv/bin/pip\n"), "{own}");
            assert_ne!(run(&worker, id, "python -c 'import tiny'").await?.verdict().code, Some(0));
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_pip_of_another_environment_installs_there() -> Result<()> {
    let worker = TestWorker::small().await?;
    let id = with_wheel(&worker).await?;
    let line =
        format!("python3 -m venv my-lib/env && my-lib/env/bin/python -m pip install --no-index ./{FILE}");
    succeed(&worker, id, &line).await?;
    let shown =
        succeed(&worker, id, &format!("my-lib/env/bin/python -c '{SHOW}'; ls -d .venv || true")).await?;
    assert_eq!(shown, "/workspace/my-lib/env 1.0\n");
    Ok(())
}

#[tokio::test]
async fn python_is_a_program_everywhere_and_its_environments_work() -> Result<()> {
    for worker in [TestWorker::small().await?, without_walls().await?] {
        let id = worker.session().await?;
        succeed(&worker, id, "python -c 'import ssl, json' && python -m venv --without-pip env").await?;
        assert_eq!(succeed(&worker, id, "env/bin/python -c 'import json; print(1)'").await?, "1\n");
    }
    Ok(())
}

#[tokio::test]
async fn programs_that_npm_installs_globally_are_found() -> Result<()> {
    for worker in [TestWorker::small().await?, without_walls().await?] {
        let id = worker.session().await?;
        let make = r#"mkdir tool && cd tool && printf '#!/bin/sh\necho it runs\n' > run.sh && chmod +x run.sh &&
            echo '{"name":"hw-tool","version":"1.0.0","bin":{"hw-tool":"run.sh"}}' > package.json && npm pack --silent"#;
        succeed(&worker, id, make).await?;
        succeed(
            &worker,
            id,
            "npm install --offline --no-audit --no-fund --cache /tmp/npm-$$ -g ./tool/hw-tool-1.0.0.tgz",
        )
        .await?;
        assert_eq!(succeed(&worker, id, "hw-tool").await?, "it runs\n");
        let seen = worker.run_in(id, &StartSpec::argv(["hw-tool"])).await?;
        assert_eq!(seen.text(), "it runs\n");
        assert_eq!(succeed(&worker, id, "ls").await?, "tool\n", "nothing in sight but what the user made");
    }
    Ok(())
}

#[tokio::test]
async fn programs_that_cargo_installs_are_found() -> Result<()> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8(sysroot.stdout)?;
    let config = format!("[[binds]]\nhost = \"{}\"\ninside = \"/rust\"\n", sysroot.trim());
    let worker =
        TestWorker::with(Options { pool: Some(0), config: Some(config), ..Options::default() }).await?;
    let id = worker.session().await?;
    let line = "export PATH=$PATH:/rust/bin && cargo init --quiet --vcs none --name hw-made made && \
                cargo install --quiet --offline --debug --path made";
    succeed(&worker, id, line).await?;
    assert_eq!(succeed(&worker, id, "hw-made").await?, "Hello, world!\n");
    Ok(())
}

#[tokio::test]
async fn the_environment_that_a_user_sets_wins_over_the_defaults() -> Result<()> {
    let worker = TestWorker::small().await?;
    let own = ["PATH", "PIP_PYTHON", "npm_config_prefix", "CARGO_INSTALL_ROOT", "PYTHONUNBUFFERED"];
    let env: BTreeMap<_, _> =
        own.iter().map(|name| ((*name).to_owned(), "/usr/bin:/bin".to_owned())).collect();
    let spec = SessionSpec { env, ..SessionSpec::default() };
    let id = worker.client().await?.create_session(None, &spec).await?.id;
    for line in ["env", "bash -lc env"] {
        let text = succeed(&worker, id, line).await?;
        for name in own {
            assert!(text.lines().any(|line| line == format!("{name}=/usr/bin:/bin")), "{name} in {text}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_python_prints_in_a_shell_line_arrives_while_it_runs() -> Result<()> {
    let worker = TestWorker::small().await?;
    let id = worker.session().await?;
    succeed(&worker, id, "echo 'import sys; print(1); sys.stdin.readline(); print(2)' > x.py").await?;
    let mut spec = StartSpec::shell("python3 x.py");
    spec.stdin = Stdin::Open;
    let execution = worker.begin_in(id, &spec).await?;
    let mut watcher = worker.watch(execution).await?;
    watcher.until(|seen| seen.text() == "1\n").await?;
    worker.client().await?.stdin(execution).await?.write("\n".into()).await?;
    assert_eq!(watcher.rest().await?.text(), "1\n2\n");
    Ok(())
}
