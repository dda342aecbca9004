//! The exit code of `headwater run` for every reason.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::command::{Done, answer, lines_of_json, objects, run, start};
use crate::worker;

fn verdict(done: &Done) -> Result<Value> {
    let events = lines_of_json(&done.stdout)?;
    let mut exited = events.into_iter().filter(|event| event["type"] == "exited");
    let verdict = exited.next().context("no verdict")?;
    anyhow::ensure!(exited.next().is_none(), "two verdicts");
    Ok(verdict)
}

#[tokio::test]
async fn every_reason_has_its_exit_code_and_says_why() -> Result<()> {
    let worker = worker().await?;
    let memory = "x = bytearray(256 << 20)";
    let limit = |which: &str, limit: u64| json!({"kind": "limit", "which": which, "limit": limit});
    for (words, reason, code, said, detail) in [
        (&["--", "true"][..], "exited", 0, "", Value::Null),
        (&["--", "sh", "-c", "exit 7"], "exited", 7, "", Value::Null),
        (&["--", "sh", "-c", "exit 255"], "exited", 255, "", Value::Null),
        (&["--", "sh", "-c", "kill -SEGV $$"], "signalled", 139, "SIGSEGV", Value::Null),
        (&["--", "sh", "-c", "kill -KILL $$"], "signalled", 137, "SIGKILL", Value::Null),
        (
            &["--timeout", "100ms", "--", "sleep", "1000"],
            "timed_out",
            124,
            "timed out",
            json!({"kind": "timed_out", "after_ms": 100}),
        ),
        (
            &["--memory", "64Mi", "--lang", "python", memory],
            "oom",
            137,
            "memory",
            limit("memory_bytes", 64 << 20),
        ),
        (
            &["--", "no-such-program"],
            "setup_failed",
            127,
            "command not found: `no-such-program`",
            json!({"kind": "command_not_found", "name": "no-such-program"}),
        ),
        (
            &["--", "/etc/passwd"],
            "setup_failed",
            126,
            "not executable",
            json!({"kind": "not_executable", "name": "/etc/passwd"}),
        ),
        (
            &["--cwd", "/nowhere", "--", "true"],
            "setup_failed",
            125,
            "`/nowhere`",
            json!({"kind": "bad_working_directory", "path": "/nowhere"}),
        ),
        (
            &["--output-limit", "64Ki", "--on-output-limit", "stop", "--", "yes"],
            "output_limit",
            125,
            "output limit exceeded",
            limit("output_bytes", 64 << 10),
        ),
    ] {
        let done = run(&worker, &[&["run"], words].concat())?;
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.errors());
        assert_eq!(said.is_empty(), done.stderr.is_empty(), "{words:?}: {}", done.errors());
        assert!(done.errors().contains(said), "{words:?}: {}", done.errors());
        let events = run(&worker, &[&["run", "--json"], words].concat())?;
        assert_eq!((events.code, events.errors().as_str()), (Some(code), ""), "{words:?}");
        let verdict = verdict(&events)?;
        assert_eq!((&verdict["reason"], &verdict["detail"]), (&json!(reason), &detail), "{words:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_execution_killed_by_another_command_is_cancelled_and_a_signalled_one_is_signalled() -> Result<()>
{
    let worker = worker().await?;
    for (kill, code, said) in [
        (&["kill"][..], 130, "cancelled"),
        (&["kill", "--now"], 130, "cancelled"),
        (&["kill", "-s", "USR1"], 138, "SIGUSR1"),
    ] {
        let mut running = start(&worker, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
        running.stdout.until_printed("ready")?;
        let listed = objects(&worker, &["ps", "--json"])?;
        let id = listed[0]["id"].as_str().context("no id")?;
        answer(&worker, &[kill, &[id]].concat())?;
        let done = running.finish()?;
        assert_eq!(done.code, Some(code), "{kill:?}");
        assert!(done.errors().contains(said), "{}", done.errors());
    }
    Ok(())
}
