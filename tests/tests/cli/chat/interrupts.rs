//! Ctrl+C ends what runs.

use anyhow::Result;
use headwater_tests::host::eventually;
use rustix::process::Signal;
use serde_json::json;

use super::{Desk, command};
use crate::command::objects;

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_the_command_and_the_turn_and_a_later_message_goes_on() -> Result<()> {
    let desk = Desk::new(json!([command("echo begun; exec sleep 1000"), {"text": "I see"}])).await?;
    let mut running = desk.start(&["go"])?;
    running.stderr.until_printed("│ begun")?;
    running.signal(Signal::INT)?;
    let done = running.finish()?;
    assert_eq!((done.code, done.text().trim()), (Some(130), ""), "{}", done.errors());
    assert!(
        done.errors().contains("interrupted") && done.errors().contains("■ $ echo begun"),
        "{}",
        done.errors()
    );
    assert_eq!(objects(&desk.worker, &["ps", "--json"])?.len(), 0);
    let done = desk.chat(&["--continue", "what happened?"])?;
    assert_eq!((done.code, done.text().as_str()), (Some(0), "I see\n"), "{}", done.errors());
    assert!(desk.last_request()?.contains("stopped the turn"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_ctrl_c_leaves_and_what_was_stopped_does_not_go_on_later() -> Result<()> {
    // It ignores the request to end, for a while.
    let stubborn = "trap 'echo asked' TERM; echo begun; while :; do sleep 0.02; done";
    let desk = Desk::new(json!([command(stubborn), {"text": "never"}])).await?;
    let mut running = desk.start(&["go"])?;
    running.stderr.until_printed("│ begun")?;
    running.signal(Signal::INT)?;
    running.stderr.until_printed("│ asked")?;
    running.signal(Signal::INT)?;
    assert_eq!(running.finish()?.code, Some(130));
    let done = desk.chat(&["--continue"])?;
    assert!(matches!(done.code, Some(130)), "{:?} {}", done.code, done.errors());
    assert_eq!(desk.model.requests().len(), 1, "the model is not called for what was stopped");
    eventually("the end of the command", async || {
        objects(&desk.worker, &["ps", "--json"]).is_ok_and(|all| all.is_empty())
    })
    .await
}
