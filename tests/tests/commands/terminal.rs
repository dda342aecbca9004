//! `tty=true`: a real terminal.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{Desk, until_up};

fn on_terminal(cmd: &str) -> Value {
    let mut arguments = until_up(cmd);
    arguments["tty"] = json!(true);
    arguments
}

#[tokio::test]
async fn a_terminal_is_real_and_its_keys_interrupt_and_end_the_input() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "test -t 0 && test -t 1 && stty size && echo through > /dev/tty && echo up && sleep 300";
    let reply = desk.call("exec_command", on_terminal(cmd)).await?;
    assert!(reply.output().starts_with("24 80\nthrough\nup\n"), "{}", reply.output());
    let asked = json!({"session_id": reply.number()?, "chars": "\u{3}", "yield_time_ms": 30_000});
    assert_eq!(desk.call("write_stdin", asked).await?.exit_code(), Some(130));
    let number = desk.call("exec_command", on_terminal("echo up; cat; echo end")).await?.number()?;
    let asked = json!({"session_id": number, "chars": "\u{4}", "yield_time_ms": 30_000});
    let ended = desk.call("write_stdin", asked).await?;
    assert!(ended.exit_code() == Some(0) && ended.output().contains("end"), "{}", ended.text());
    Ok(())
}

#[tokio::test]
async fn an_interactive_shell_has_job_control_and_survives_an_interrupt() -> Result<()> {
    let desk = Desk::new().await?;
    let asked = json!({
        "cmd": "PS1='ready> ' exec bash --norc --noprofile -i", "tty": true, "yield_time_ms": 30_000,
        "wait_for": {"match": "ready> $"},
    });
    let reply = desk.call("exec_command", asked).await?;
    assert!(!reply.output().contains("job control"), "{}", reply.output());
    let number = reply.number()?;
    // Not by the tool, whose result could contain what the wait is for.
    desk.client.stdin(reply.execution()).await?.write("(echo begun; sleep 300)\n".into()).await?;
    desk.call("wait", json!({"session_ids": [number], "until": {"match": "^begun"}})).await?;
    desk.call("write_stdin", json!({"session_id": number, "chars": "\u{3}"})).await?;
    desk.call("write_stdin", json!({"session_id": number, "chars": "echo code $?; exit 5\n"})).await?;
    assert_eq!(desk.rest(number).await?.exit_code(), Some(5));
    let all = desk.call("read_output", json!({"session_id": number})).await?;
    assert!(all.text().contains("\nbegun\n") && all.text().contains("\ncode 130\n"), "{}", all.text());
    Ok(())
}

#[tokio::test]
async fn a_terminal_is_resized_and_a_pipe_is_not() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "trap 'stty size' WINCH; echo up; while :; do sleep 0.05; done";
    let number = desk.call("exec_command", on_terminal(cmd)).await?.number()?;
    let resized = desk.call("resize", json!({"session_id": number, "rows": 50, "cols": 132})).await?;
    assert!(resized.text().contains("50 rows and 132 columns"), "{}", resized.text());
    let until = json!({"session_ids": [number], "until": {"match": "^50 132"}});
    assert!(desk.call("wait", until).await?.text().contains("[matched: 50 132]"));
    let pipe = desk.begin("echo up; exec sleep 300").await?.number()?;
    let error = desk.refused("resize", json!({"session_id": pipe, "rows": 50, "cols": 132})).await?;
    assert!(error.contains("has no terminal") && error.contains("tty=true"), "{error}");
    Ok(())
}
