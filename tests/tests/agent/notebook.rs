//! Without a model.

use anyhow::Result;
use headwater_agent::{NewMessage, run};
use headwater_protocol::conversation::{ToolCallState, TurnOutcome};

use crate::harness::{Desk, last_text, tool_calls};

#[tokio::test]
async fn run_lines_and_code_blocks_run_without_a_model_one_after_the_other() -> Result<()> {
    let desk = Desk::new().await?;
    desk.add(NewMessage::text("/run echo 1 > a\nThen:\n```python\nprint(open('a').read())\n```\n")).await?;
    run(desk.context(None)).await;
    let now = desk.journal.now();
    let states: Vec<_> = tool_calls(&now).iter().map(|call| call.state).collect();
    assert_eq!(states, [ToolCallState::Succeeded; 2]);
    assert_eq!(desk.output(1).structured.unwrap()["stdout"], "1\n\n");
    assert_eq!((last_text(&now).as_str(), now.turn.unwrap().outcome), ("", Some(TurnOutcome::Completed)));
    Ok(())
}

#[tokio::test]
async fn a_message_without_code_is_answered_with_how_to_add_a_model() -> Result<()> {
    let desk = Desk::new().await?;
    desk.add(NewMessage::text("hello")).await?;
    run(desk.context(None)).await;
    assert!(last_text(&desk.journal.now()).contains("[models.NAME]"));
    Ok(())
}
