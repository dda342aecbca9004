//! A person stops a turn.

use anyhow::Result;
use headwater_agent::model::ModelEvent;
use headwater_protocol::conversation::{Part, ToolCallState, TurnOutcome};
use headwater_tests::host::Marker;
use serde_json::json;

use crate::harness::{Answer, Desk, Script, calls, last_text, says, tool_calls};

#[tokio::test]
async fn a_stopped_turn_keeps_what_was_said() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([Answer::Hangs(vec![
        ModelEvent::Text { part: 0, delta: "I begin".into() },
        ModelEvent::ToolCall { part: 1, id: "c".into(), name: "exec_command".into() },
        ModelEvent::Arguments { part: 1, delta: "{\"cmd\": \"ec".into() },
    ])]);
    let running = desk.begin("go", &model).await?;
    desk.journal
        .until("the text", |now| tool_calls(now).iter().any(|call| !call.input_text.is_empty()))
        .await?;
    desk.stop.cancel();
    running.await?;
    let now = desk.journal.now();
    assert_eq!(now.turn.as_ref().unwrap().outcome, Some(TurnOutcome::Stopped));
    assert_eq!((last_text(&now).as_str(), tool_calls(&now)[0].state), ("I begin", ToolCallState::Stopped));
    let streams = |part: &Part| matches!(part, Part::Text(text) if text.is_streaming);
    assert!(!now.messages.iter().flat_map(|message| &message.parts).any(streams) && now.open_step.is_none());
    Ok(())
}

#[tokio::test]
async fn a_stop_ends_the_running_command_with_its_children_and_keeps_its_output() -> Result<()> {
    let mut desk = Desk::new().await?;
    let marker = Marker::new();
    let agent = desk.place.agent().await?;
    let mark = marker.on(headwater_protocol::StartSpec::shell("true")).env["MARKER"].clone();
    let cmd = format!("export MARKER={mark}; echo begun; sh -c 'sleep 600; true' & sleep 600; true");
    let model = Script::new([calls(&[("exec_command", json!({"cmd": cmd, "yield_time_ms": 30000}))])]);
    let running = desk.begin("go", &model).await?;
    desk.journal
        .until("the command", |now| tool_calls(now).iter().any(|call| !call.execution_ids.is_empty()))
        .await?;
    marker.init().await?;
    desk.stop.cancel();
    running.await?;
    let now = desk.journal.now();
    let call = &tool_calls(&now)[0];
    assert_eq!(
        (call.state, now.turn.as_ref().unwrap().outcome),
        (ToolCallState::Stopped, Some(TurnOutcome::Stopped))
    );
    let text = call.output.as_ref().unwrap().text.clone();
    assert!(text.contains("begun") && text.contains("stopped the turn"), "{text}");
    marker.count_becomes(0).await?;
    // The next turn tells the model.
    desk.stop = tokio_util::sync::CancellationToken::new();
    let next = Script::new([says("I see")]);
    desk.ask("what was it?", &next).await?;
    assert!(next.last_prompt().contains("begun"));
    drop(agent);
    Ok(())
}

#[tokio::test]
async fn messages_that_wait_when_a_turn_is_stopped_wait_for_the_person() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([Answer::Hangs(Vec::new())]);
    let running = desk.begin("go", &model).await?;
    desk.journal.until("the step", |now| now.open_step.is_some()).await?;
    desk.add(headwater_agent::NewMessage::text("wait")).await?;
    desk.stop.cancel();
    running.await?;
    assert_eq!(desk.journal.now().queue.len(), 1);
    Ok(())
}
