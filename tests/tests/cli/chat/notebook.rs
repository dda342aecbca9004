//! Without a model: `/run` lines and blocks of code run.

use std::fs;

use anyhow::Result;
use headwater_tests::TestWorker;

use crate::command::{Running, headwater};
use crate::pty::Pty;

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_code_runs_and_one_sentence_says_how_to_add_one() -> Result<()> {
    let worker: TestWorker = crate::worker().await?;
    let folder = fs::canonicalize(worker.scratch())?.join("project");
    fs::create_dir(&folder)?;
    let chat = |words: &[&str]| {
        let mut command = headwater(&worker, &[&["chat"], words].concat());
        command.current_dir(&folder).env("NO_COLOR", "1");
        command
    };
    let done = Running::start(chat(&["/run echo $((6 * 7)) > x; cat x"]))?.finish()?;
    assert_eq!(done.code, Some(0));
    assert!(done.errors().contains("  │ 42\n"), "{}", done.errors());
    let done = Running::start(chat(&["```python\nprint(open('x').read() * 2)\n```"]))?.finish()?;
    assert!(done.errors().contains("  │ 42\n  │ 42\n"), "{}", done.errors());
    let done = Running::start(chat(&["hello"]))?.finish()?;
    assert!(done.text().contains("[models.NAME]"), "{}", done.text());
    let mut pty = Pty::with_folder(&chat(&[]), &folder)?;
    pty.screen.until_printed("no model is configured")?;
    pty.screen.until_printed("> ")?;
    pty.types(b"/run echo a; echo b\r")?;
    pty.screen.until_printed("│ b")?;
    pty.screen.until_printed("✓ $ echo a; echo b")?;
    pty.types(b"/quit\r")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    Ok(())
}
