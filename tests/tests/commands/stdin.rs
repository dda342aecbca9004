//! `write_stdin` without a terminal.

use anyhow::Result;
use serde_json::json;

use crate::Desk;

#[tokio::test]
async fn input_stays_open_without_a_terminal_and_can_be_ended() -> Result<()> {
    let desk = Desk::new().await?;
    let number = desk.begin("echo up; cat; echo end").await?.number()?;
    desk.call("write_stdin", json!({"session_id": number, "chars": "one\n"})).await?;
    desk.call("write_stdin", json!({"session_id": number, "chars": "two\u{4}\n"})).await?;
    desk.call("write_stdin", json!({"session_id": number, "chars": "\u{4}"})).await?;
    assert_eq!(desk.rest(number).await?.exit_code(), Some(0));
    let all = desk.call("read_output", json!({"session_id": number, "ansi": true})).await?;
    assert!(all.text().starts_with("up\none\ntwo\u{4}\nend\n["), "{:?}", all.text());
    let late = desk.call("write_stdin", json!({"session_id": number, "chars": "three\n"})).await?;
    assert!(late.exit_code() == Some(0) && late.text().contains("nothing was written"), "{}", late.text());
    Ok(())
}

#[tokio::test]
async fn an_interrupt_without_a_terminal_gives_130() -> Result<()> {
    let desk = Desk::new().await?;
    for cmd in ["echo up; exec sleep 300", "echo up; sleep 300; echo never"] {
        let number = desk.begin(cmd).await?.number()?;
        let asked = json!({"session_id": number, "chars": "\u{3}", "yield_time_ms": 30_000});
        let reply = desk.call("write_stdin", asked).await?;
        assert_eq!(
            (reply.exit_code(), reply.printed().contains("never")),
            (Some(130), false),
            "{}",
            reply.text()
        );
    }
    Ok(())
}

#[tokio::test]
async fn writing_to_a_command_that_has_just_ended_returns_its_last_output_and_exit_code() -> Result<()> {
    let desk = Desk::new().await?;
    let started = desk.begin("echo up; sleep 0.1; echo last; exit 7").await?;
    let patience = headwater_tests::host::PATIENCE;
    desk.client.wait(started.execution(), patience, false).await?;
    let reply = desk.call("write_stdin", json!({"session_id": started.number()?, "chars": "x\n"})).await?;
    assert!(reply.exit_code() == Some(7) && reply.output().starts_with("last\n"), "{}", reply.text());
    assert!(reply.text().contains("[nothing was written: the command has ended]"), "{}", reply.text());
    Ok(())
}

#[tokio::test]
async fn input_that_a_command_does_not_read_yet_follows_when_it_reads() -> Result<()> {
    let desk = Desk::new().await?;
    let number = desk.begin("mkfifo gate; echo up; read x < gate; wc -c").await?.number()?;
    let chars = "x".repeat(3 << 20);
    let asked = json!({"session_id": number, "chars": chars, "yield_time_ms": 300});
    let waiting = desk.call("write_stdin", asked).await?;
    assert!(waiting.text().contains("the rest follows as it reads"), "{}", waiting.text());
    desk.call("exec_command", json!({"cmd": "echo go > gate"})).await?;
    let end = json!({"session_id": number, "chars": "\u{4}", "yield_time_ms": 30_000});
    let ended = desk.call("write_stdin", end).await?;
    let ended = if ended.exit_code().is_none() { desk.rest(number).await? } else { ended };
    assert_eq!(
        (ended.exit_code(), ended.output().lines().next()),
        (Some(0), Some("3145728")),
        "{}",
        ended.text()
    );
    Ok(())
}

#[tokio::test]
async fn a_command_with_an_empty_input_cannot_be_written_to() -> Result<()> {
    let desk = Desk::new().await?;
    let empty =
        desk.call("exec_command", json!({"cmd": "cat", "stdin": "null", "yield_time_ms": 30_000})).await?;
    assert_eq!(empty.exit_code(), Some(0));
    let asked = json!({"cmd": "exec sleep 300", "stdin": "null", "yield_time_ms": 250});
    let number = desk.call("exec_command", asked).await?.number()?;
    let error = desk.refused("write_stdin", json!({"session_id": number, "chars": "x"})).await?;
    assert!(error.contains("empty input") && error.contains("exec_command"), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_unknown_session_id_says_what_to_do_next() -> Result<()> {
    let desk = Desk::new().await?;
    let asked = json!({"session_id": 4711, "chars": ""});
    let error = desk.refused("write_stdin", asked.clone()).await?;
    assert!(error.starts_with("Unknown session ID 4711. None of your commands is running"), "{error}");
    let number = desk.begin("echo up; exec sleep 300").await?.number()?;
    let error = desk.refused("write_stdin", asked).await?;
    assert!(error.contains(&format!("Running: {number} (`echo up; exec sleep 300`)")), "{error}");
    for tool in ["kill", "read_output", "wait"] {
        let arguments = if tool == "wait" {
            json!({"session_ids": [number, 4711]})
        } else {
            json!({"session_id": "4711"})
        };
        assert!(desk.refused(tool, arguments).await?.contains("Unknown session ID 4711"), "{tool}");
    }
    let other = desk.worker.begin(&headwater_protocol::StartSpec::shell("sleep 300")).await?;
    let error = desk.refused("kill", json!({"session_id": other.to_string()})).await?;
    assert!(error.contains("Unknown session ID"), "an execution of another session: {error}");
    Ok(())
}
