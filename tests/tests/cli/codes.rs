//! The exit code of `headwater run` for every reason.

use anyhow::{Context, Result};
use serde_json::Value;

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
    for (words, reason, code, said) in [
        (&["--", "true"][..], "exited", 0, ""),
        (&["--", "sh", "-c", "exit 7"], "exited", 7, ""),
        (&["--", "sh", "-c", "exit 255"], "exited", 255, ""),
        (&["--", "sh", "-c", "kill -SEGV $$"], "signalled", 139, "SIGSEGV"),
        (&["--", "sh", "-c", "kill -KILL $$"], "signalled", 137, "SIGKILL"),
        (&["--timeout", "100ms", "--", "sleep", "1000"], "timed_out", 124, "timed out"),
        (&["--memory", "64Mi", "--lang", "python", memory], "oom", 137, "memory"),
        (&["--", "no-such-program"], "setup_failed", 127, "command not found: `no-such-program`"),
        (&["--", "/etc/passwd"], "setup_failed", 126, "not executable"),
        (&["--cwd", "/nowhere", "--", "true"], "setup_failed", 125, "`/nowhere`"),
        (
            &["--output-limit", "64Ki", "--on-output-limit", "stop", "--", "yes"],
            "output_limit",
            125,
            "printing more",
        ),
    ] {
        let done = run(&worker, &[&["run"], words].concat())?;
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.errors());
        assert_eq!(said.is_empty(), done.stderr.is_empty(), "{words:?}: {}", done.errors());
        assert!(done.errors().contains(said), "{words:?}: {}", done.errors());
        let json = run(&worker, &[&["run", "--json"], words].concat())?;
        assert_eq!((json.code, json.errors().as_str()), (Some(code), ""), "{words:?}");
        assert_eq!(verdict(&json)?["reason"], reason, "{words:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_another_command_ends_was_cancelled_and_what_it_signals_was_signalled() -> Result<()> {
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
