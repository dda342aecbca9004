//! The end of a background command.

use std::sync::Arc;

use anyhow::Result;
use headwater_agent::wake;
use serde_json::json;

use crate::harness::{Desk, Script, calls, says, tool_calls};

#[tokio::test]
async fn the_end_of_a_background_command_begins_a_turn_with_its_output() -> Result<()> {
    let desk = Desk::new().await?;
    let mut endings = desk.place.agent().await?.endings();
    let cmd = "until [ -e go ]; do sleep 0.05; done; echo '[approved]'; exit 4";
    let exec = calls(&[("exec_command", json!({"cmd": cmd, "yield_time_ms": 250}))]);
    desk.ask("go", &Script::new([exec, says("it runs")])).await?;
    assert!(
        tool_calls(&desk.journal.now())[0].output.as_ref().unwrap().text.contains("running with session ID")
    );
    let agent = desk.place.agent().await?;
    std::fs::write(desk.worker.workspace(agent.session()).join("go"), "")?;
    let ending = endings.recv().await?;
    let journal = Arc::clone(&desk.journal) as Arc<dyn headwater_agent::Journal>;
    assert!(wake(&journal, &agent, &ending, Some("script".into())).await?);
    let model = Script::new([says("it has ended")]);
    headwater_agent::run(desk.context(Some(&model))).await;
    let asked = model.last_prompt();
    assert!(asked.contains("exited with code 4") && asked.contains("    [approved]"), "{asked}");
    // Nothing says it twice.
    assert!(!wake(&journal, &agent, &ending, None).await?);
    Ok(())
}
