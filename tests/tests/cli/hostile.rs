//! Names, commands, working directories and messages of users on an operator's terminal: none of them commands it.

use anyhow::{Result, ensure};
use headwater_protocol::SessionSpec;

use crate::command::{Engine, answer, headwater, run};
use crate::pty::Pty;
use crate::worker;

/// What a terminal would act on: an 8-bit CSI, a title, a bell, another direction, another line.
pub(crate) const HOSTILE: &str = "x\u{9b}2J\u{1b}]0;owned\u{7}\u{202e}y";

/// What a command shows on a terminal without colours.
fn screen(engine: &impl Engine, words: &[&str]) -> Result<String> {
    let mut command = headwater(engine, words);
    command.env("NO_COLOR", "1");
    Ok(Pty::with(&command)?.finish()?.1)
}

/// Checks that this text has nothing that a terminal acts on, and that the hostile part is shown escaped.
pub(crate) fn is_harmless(what: &str, text: &str) -> Result<()> {
    let acts =
        |c: &char| (c.is_control() && !matches!(c, '\r' | '\n')) || matches!(c, '\u{202a}'..='\u{202e}');
    let found = text.chars().find(acts);
    ensure!(found.is_none(), "{what} shows {found:?}: {}", text.escape_debug());
    ensure!(text.contains("\\u{9b}2J") || text.contains("\\u009b2J"), "{what} shows nothing of it: {text}");
    Ok(())
}

#[tokio::test]
async fn names_chosen_by_users_send_no_control_sequences_to_the_terminal() -> Result<()> {
    let engine = worker().await?;
    let spec = SessionSpec { name: Some(HOSTILE.into()), ..SessionSpec::default() };
    ensure!(spec.check().is_ok(), "the control: such a name is allowed");
    let id = answer(&engine, &["sessions", "create", "--name", HOSTILE])?;
    // A command and a working directory that do not exist, with verdicts that name them.
    let gone = run(&engine, &["run", "--session", &id, "--", HOSTILE])?;
    is_harmless("a verdict", &gone.errors())?;
    let nowhere = run(&engine, &["run", "--session", &id, "--cwd", HOSTILE, "--", "true"])?;
    is_harmless("a verdict about a folder", &nowhere.errors())?;
    for words in [
        &["sessions"][..],
        &["sessions", "--json"],
        &["sessions", "show", &id],
        &["sessions", "show", &id, "--json"],
        &["ps", "--all", "--session", &id, "--json"],
        &["sessions", "show", HOSTILE, "--json"],
        &["sessions", "create", "--name", HOSTILE],
        &["sessions", "show", &format!("{HOSTILE}?")],
        &["run", "--session", &id, "--json", "--", HOSTILE],
    ] {
        is_harmless(&format!("{words:?}"), &screen(&engine, words)?)?;
    }
    // A wide terminal shows commands whole.
    is_harmless("ps", &answer(&engine, &["ps", "--all", "--session", &id])?)?;
    let execution = answer(&engine, &["run", "--detach", "--session", &id, "--", HOSTILE])?;
    is_harmless("logs", &screen(&engine, &["logs", "--follow", &execution])?)?;
    is_harmless("attach", &screen(&engine, &["attach", &execution])?)?;
    let mut command = headwater(&engine, &["sessions", "end", HOSTILE]);
    command.env("NO_COLOR", "1");
    let mut person = Pty::with(&command)?;
    person.screen.until_printed("[y/N]")?;
    is_harmless("a question", &person.screen.text())?;
    person.types(b"n\n")?;
    person.finish()?;
    Ok(())
}

#[tokio::test]
async fn a_process_that_renames_itself_does_not_command_the_terminal_of_ps() -> Result<()> {
    let engine = worker().await?;
    let code = "import sys, time\nopen('/proc/self/comm', 'wb').write('\\u009b2J\\x1b[1m'.encode())\nprint('ready', flush=True)\ntime.sleep(1000)";
    let id = answer(&engine, &["sessions", "create"])?;
    let mut running =
        crate::command::start(&engine, &["run", "--session", &id, "--", "python3", "-c", code])?;
    running.stdout.until_printed("ready")?;
    is_harmless("ps", &answer(&engine, &["ps", "--processes", "--session", &id])?)?;
    is_harmless("ps on a terminal", &screen(&engine, &["ps", "--processes", "--json"])?)?;
    Ok(())
}
