//! `headwater` on a real terminal: `--tty`, `attach`, keys.

use anyhow::{Context, Result};

use crate::command::{Engine, answer, objects};
use crate::pty::Pty;
use crate::worker;

/// Tells its size when it changes, and ends in its own way by Ctrl+C.
const PROGRAM: &str = "trap 'echo now $(stty size)' WINCH; trap 'echo interrupted; exit 5' INT; \
                       echo at first $(stty size); while :; do sleep 0.02; done";

#[tokio::test]
async fn a_program_has_a_terminal_of_the_persons_size_and_all_keys_reach_it() -> Result<()> {
    let worker = worker().await?;
    let mut pty = Pty::start(&worker, &["run", "--tty", "--", "sh", "-c", PROGRAM])?;
    pty.screen.until_printed("at first 30 100\r\n")?;
    pty.becomes_raw().await?;
    pty.resize(40, 120)?;
    pty.screen.until_printed("now 40 120\r\n")?;
    pty.types(b"\x03")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(5), "{screen}");
    assert!(screen.ends_with("interrupted\r\n"), "{screen}");
    Ok(())
}

#[tokio::test]
async fn a_shell_on_a_terminal_is_what_a_person_expects() -> Result<()> {
    let worker = worker().await?;
    let words = ["run", "-t", "-e", "PS1=ready> ", "--", "bash", "--norc", "--noprofile", "-i"];
    let mut pty = Pty::start(&worker, &words)?;
    pty.screen.until_printed("ready> ")?;
    pty.types(b"echo $TERM; tty; sleep 1000\r")?;
    pty.screen.until_printed("xterm\r\n/dev/pts/0\r\n")?;
    // Ctrl+C ends the program in the foreground, not the shell.
    let runs = async || {
        let listed = objects(&worker, &["ps", "--processes", "--json"]).unwrap_or_default();
        listed.iter().any(|one| one["processes"].to_string().contains("sleep"))
    };
    headwater_tests::host::eventually("sleep runs", runs).await?;
    pty.types(b"\x03")?;
    pty.types(b"echo still $((40 + 2))\r")?;
    pty.screen.until_printed("still 42\r\n")?;
    pty.types(b"exit 9\r")?;
    assert_eq!(pty.finish()?.0, Some(9));
    Ok(())
}

#[tokio::test]
async fn the_terminal_is_as_it_was_whatever_becomes_of_the_program() -> Result<()> {
    let worker = worker().await?;
    for (words, expected) in [
        (&["no-such-program"][..], 127),
        (&["sh", "-c", "stty raw -echo; kill -9 $$"], 137),
        (&["sh", "-c", "stty -echo; exit 3"], 3),
    ] {
        let pty = Pty::start(&worker, &[&["run", "--tty", "--"], words].concat())?;
        let (code, screen) = pty.finish()?;
        assert_eq!(code, Some(expected), "{screen}");
    }
    Ok(())
}

#[tokio::test]
async fn without_its_own_terminal_a_program_reads_lines_and_ctrl_c_cancels() -> Result<()> {
    let worker = worker().await?;
    let mut pty = Pty::start(&worker, &["run", "--", "cat"])?;
    pty.types(b"typed\n\x04")?;
    let (code, screen) = pty.finish()?;
    assert_eq!((code, screen.as_str()), (Some(0), "typed\r\ntyped\r\n"), "the echo, and what `cat` printed");

    let mut pty = Pty::start(&worker, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
    pty.screen.until_printed("ready")?;
    pty.types(b"\x03")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(130));
    assert!(screen.contains("headwater: cancelled"), "{screen}");
    Ok(())
}

/// Whether an execution runs.
fn runs(worker: &impl Engine, id: &str) -> Result<bool> {
    Ok(objects(worker, &["ps", "--json"])?.iter().any(|one| one["id"] == id && one["state"] == "running"))
}

#[tokio::test]
async fn a_terminal_can_be_left_and_come_back_to_and_the_program_does_not_notice() -> Result<()> {
    let worker = worker().await?;
    let line =
        "trap 'echo interrupted' INT; echo hello; while read word; do echo you said $word; done; exit 4";
    let id = answer(&worker, &["run", "--tty", "--detach", "--shell", line])?;
    for (typed, seen) in [(&b"one\r"[..], "you said one"), (b"two\r", "you said two")] {
        let mut pty = Pty::start(&worker, &["attach", &id])?;
        pty.screen.until_printed("hello")?;
        pty.becomes_raw().await?;
        pty.types(typed)?;
        pty.screen.until_printed(seen)?;
        pty.types(b"\x10")?;
        pty.types(b"\x11")?;
        let (code, screen) = pty.finish()?;
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("is still running"), "{screen}");
        assert!(runs(&worker, &id)?);
    }
    // Two at once see the same; the end of the input is the end of the program, and each has its exit code.
    let mut first = Pty::start(&worker, &["attach", &id])?;
    let mut second = Pty::start(&worker, &["attach", &id])?;
    for pty in [&mut first, &mut second] {
        pty.screen.until_printed("you said two")?;
        pty.becomes_raw().await?;
    }
    first.types(b"three\r")?;
    second.screen.until_printed("you said three")?;
    second.types(b"\x04")?;
    for pty in [first, second] {
        let (code, screen) = pty.finish()?;
        assert_eq!(code, Some(4), "{screen}");
    }
    assert!(!runs(&worker, &id)?);
    Ok(())
}

#[tokio::test]
async fn colours_are_for_terminals_and_on_request() -> Result<()> {
    let worker = worker().await?;
    let words = ["logs", "no-such-execution"];
    let (code, painted) = Pty::start(&worker, &words)?.finish()?;
    assert_eq!(code, Some(3));
    assert!(painted.contains("\u{1b}["), "{painted:?}");
    let mut plain = crate::command::headwater(&worker, &words);
    plain.env("NO_COLOR", "1");
    let (code, screen) = Pty::with(&plain)?.finish()?;
    assert_eq!(code, Some(3));
    assert!(screen.contains("error:") && !screen.contains('\u{1b}'), "{screen:?}");
    let listed = answer(&worker, &["run", "--detach", "--", "false"])?;
    crate::command::run(&worker, &["logs", "-f", &listed])?;
    let (_, table) = Pty::start(&worker, &["ps", "--all"])?.finish()?;
    assert!(table.contains("\u{1b}["), "{table:?}");
    for words in
        [&["ps", "--all"][..], &["sessions", "list", "--all"], &["logs", "nope"], &["run", "--", "nope"]]
    {
        let done = crate::command::run(&worker, words)?;
        let all = [done.stdout, done.stderr].concat();
        assert!(!all.is_empty() && !all.contains(&0x1b), "{words:?}: {}", String::from_utf8_lossy(&all));
    }
    let id = listed.get(..8).context("an id is longer")?;
    assert!(table.contains(id), "{table}");
    Ok(())
}
