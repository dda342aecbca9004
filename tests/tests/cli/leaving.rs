//! Leaving an execution that has no terminal, at a terminal.

use anyhow::Result;

use crate::command::{answer, objects};
use crate::pty::Pty;
use crate::worker;

#[tokio::test]
async fn ctrl_p_ctrl_q_leaves_an_execution_without_a_terminal_and_without_input() -> Result<()> {
    let worker = worker().await?;
    let line = "while echo tick; do sleep 0.1; done";
    let id = answer(&worker, &["run", "--detach", "--shell", line])?;
    let mut pty = Pty::start(&worker, &["attach", &id])?;
    pty.screen.until_printed("tick")?;
    pty.types(b"\x10\x11")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("is still running"), "{screen}");
    assert_eq!(objects(&worker, &["ps", "--json"])?.len(), 1, "it runs");
    Ok(())
}

#[tokio::test]
async fn ctrl_p_ctrl_q_leaves_an_execution_that_reads_lines_which_are_edited_as_before() -> Result<()> {
    let worker = worker().await?;
    let line = "echo ready; while read word; do echo you said $word; done";
    let id = answer(&worker, &["run", "--detach", "--stdin", "open", "--shell", line])?;
    let mut pty = Pty::start(&worker, &["attach", &id])?;
    pty.screen.until_printed("ready")?;
    // The terminal edits the line: the last character is erased.
    pty.types(b"onex\x7f\r")?;
    pty.screen.until_printed("you said one\r\n")?;
    pty.types(b"\x10")?;
    pty.types(b"\x11")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("is still running"), "{screen}");
    assert_eq!(objects(&worker, &["ps", "--json"])?.len(), 1, "its input is still open");
    Ok(())
}

#[tokio::test]
async fn a_shell_is_left_running_and_rejoined() -> Result<()> {
    let worker = worker().await?;
    answer(&worker, &["sessions", "create", "--name", "dev"])?;
    for (typed, seen) in
        [("kept=4$((1+1)); echo first-$kept\r", "first-42"), ("echo again-$kept\r", "again-42")]
    {
        let mut pty = Pty::start(&worker, &["shell", "dev"])?;
        pty.becomes_raw().await?;
        pty.types(typed.as_bytes())?;
        pty.screen.until_printed(seen)?;
        pty.types(b"\x10\x11")?;
        let (code, screen) = pty.finish()?;
        assert_eq!(code, Some(0), "{screen}");
    }
    assert_eq!(objects(&worker, &["ps", "--json"])?.len(), 1, "one shell");
    let mut pty = Pty::start(&worker, &["shell", "dev"])?;
    pty.becomes_raw().await?;
    pty.types(b"exit 9\r")?;
    assert_eq!(pty.finish()?.0, Some(9));
    Ok(())
}
