//! A conversation goes on: later, and after a `kill -9`.

use std::fs;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::json;

use super::{Desk, command};

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_and_is_listed_and_exported() -> Result<()> {
    let desk = Desk::new(json!([{"text": "one"}, {"text": "two"}, {"text": "three"}])).await?;
    assert_eq!(desk.chat(&["the first question"])?.text(), "one\n");
    assert_eq!(desk.chat(&["--continue", "the second"])?.text(), "two\n");
    assert!(desk.last_request()?.contains("the first question"), "the model sees what was said");
    let all = desk.conversations()?;
    assert_eq!((all.len(), &all[0]["title"]), (1, &json!("the first question")));
    let id = all[0]["id"].as_str().context("no id")?;
    let done = desk.chat(&["--resume", &id[..12], "the third"])?;
    assert_eq!(done.text(), "three\n", "{}", done.errors());
    for (file, content) in [("c.md", "the second"), ("c.json", "text_ended"), ("c.ipynb", "nbformat")] {
        let done = desk.chat(&["--resume", id, "--export", file])?;
        assert_eq!(done.code, Some(0), "{}", done.errors());
        assert!(desk.file(file).contains(content), "{file}: {}", desk.file(file));
    }
    assert_eq!(desk.chat(&["--resume", id, "--export", "c.txt"])?.code, Some(2));
    let none = desk.chat(&["--resume", "cnv_ffff", "go"])?;
    assert_eq!((none.code, none.errors().contains("no conversation")), (Some(3), true), "{}", none.errors());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_runs_through_a_kill_is_found_again_and_not_started_twice() -> Result<()> {
    let wait = "echo begun | tee -a log; until [ -e go ]; do sleep 0.02; done; echo ended | tee -a log";
    let desk = Desk::new(json!([command(wait), {"text": "all done"}])).await?;
    let mut running = desk.start(&["go"])?;
    running.stderr.until_printed("│ begun")?;
    running.signal(Signal::KILL)?;
    assert_eq!(running.finish()?.code, None);
    let mut resumed = desk.start(&["--continue"])?;
    // There is no prompt to wait for.
    drop(resumed.take_stdin()?);
    // It follows the program from its beginning.
    resumed.stderr.until_printed("│ begun")?;
    fs::write(desk.folder.join("go"), "")?;
    let done = resumed.finish()?;
    assert_eq!((done.text().as_str(), done.code), ("all done\n", Some(0)), "{}", done.errors());
    assert_eq!(desk.file("log"), "begun\nended\n");
    assert!(desk.last_request()?.contains("ended"), "the whole output is the result");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_a_kill_interrupted_keeps_its_text_and_is_asked_for_again() -> Result<()> {
    let desk = Desk::new(json!([{"text": "the beginning {{hold}}never"}, {"text": "and the end"}])).await?;
    let mut running = desk.start(&["--json", "go"])?;
    running.stdout.until_printed("beginning")?;
    running.signal(Signal::KILL)?;
    running.finish()?;
    let done = desk.chat(&["--continue"])?;
    assert_eq!(done.code, Some(0), "{}", done.errors());
    assert!(done.errors().contains("called again"), "{}", done.errors());
    assert!(done.text().ends_with("and the end\n"), "{}", done.text());
    assert!(desk.last_request()?.contains("the beginning"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_open_only_once() -> Result<()> {
    let desk = Desk::new(json!([{"text": "one {{hold}}two"}])).await?;
    let mut running = desk.start(&["--json", "go"])?;
    running.stdout.until_printed("one")?;
    let second = desk.chat(&["--continue", "me too"])?;
    assert_eq!(second.code, Some(4), "{}", second.errors());
    assert!(second.errors().contains("open in another"), "{}", second.errors());
    assert_eq!(desk.model.release().await, 1);
    assert_eq!(running.finish()?.code, Some(0));
    Ok(())
}
