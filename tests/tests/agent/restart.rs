//! A server that is killed in the middle of a turn: the next one continues from the log.

use anyhow::Result;
use headwater_agent::model::ModelEvent;
use headwater_agent::{Journal, run};
use headwater_protocol::conversation::{ConversationEvent, ToolCallState, TurnOutcome};
use serde_json::json;

use crate::harness::{Answer, Desk, Script, calls, last_text, notices, says, tool_calls};

#[tokio::test]
async fn a_restart_in_the_middle_of_an_answer_keeps_its_text_and_asks_the_model_to_go_on() -> Result<()> {
    let mut desk = Desk::new().await?;
    let hanging = Answer::Hangs(vec![
        ModelEvent::Text { part: 0, delta: "The first half".into() },
        ModelEvent::ToolCall { part: 1, id: "c".into(), name: "exec_command".into() },
    ]);
    let running = desk.begin("go", &Script::new([hanging])).await?;
    desk.journal.until("the call", |now| !tool_calls(now).is_empty()).await?;
    running.abort();
    desk.restart().await?;
    let model = Script::new([says(" and the second")]);
    run(desk.context(Some(&model))).await;
    let now = desk.journal.now();
    assert_eq!(last_text(&now), "The first half| and the second");
    assert_eq!((now.messages.len(), tool_calls(&now)[0].state), (2, ToolCallState::Stopped));
    assert!(notices(&now)[0].contains("restarted"), "{:?}", notices(&now));
    assert!(model.last_prompt().contains("The first half"));
    let attempts: Vec<_> = desk
        .journal
        .log()
        .iter()
        .filter_map(|entry| match entry.event {
            ConversationEvent::StepStarted { step, attempt, .. } => Some((step, attempt)),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [(1, 1), (2, 2)]);
    assert_eq!(now.turn.unwrap().outcome, Some(TurnOutcome::Completed));
    Ok(())
}

#[tokio::test]
async fn a_restart_finds_the_running_command_of_a_call_and_does_not_start_it_again() -> Result<()> {
    let mut desk = Desk::new().await?;
    let cmd = "echo once >> runs; until [ -e go ]; do sleep 0.05; done; cat runs";
    let exec = calls(&[("exec_command", json!({"cmd": cmd, "yield_time_ms": 30000}))]);
    let running = desk.begin("go", &Script::new([exec])).await?;
    desk.journal
        .until("the command", |now| tool_calls(now).iter().any(|call| !call.execution_ids.is_empty()))
        .await?;
    running.abort();
    desk.restart().await?;
    let workspace = desk.worker.workspace(desk.place.agent().await?.session());
    std::fs::write(workspace.join("go"), "")?;
    run(desk.context(Some(&Script::new([says("done")])))).await;
    let call = tool_calls(&desk.journal.now()).remove(0);
    assert_eq!((call.state, call.execution_ids.len()), (ToolCallState::Succeeded, 1));
    assert!(desk.output(0).text.ends_with("Output:\nonce\n"), "{}", desk.output(0).text);
    Ok(())
}

#[tokio::test]
async fn a_call_that_changes_files_and_was_interrupted_is_reported_and_not_repeated() -> Result<()> {
    let mut desk = Desk::new().await?;
    let write = ("write_file", json!({"file_path": "a", "content": "x"}));
    let running = desk.begin("go", &Script::new([Answer::Hangs(Vec::new())])).await?;
    let now = desk.journal.until("the step", |now| now.open_step.is_some()).await?;
    running.abort();
    // As a server that was killed right after the call had begun leaves it.
    let (message_id, id) = (now.open_step.unwrap().message_id, || "call".to_owned());
    let ready = |tool_call_id| ConversationEvent::ToolCallReady {
        message_id: message_id.clone(),
        tool_call_id,
        tool: write.0.into(),
        input: write.1.clone(),
    };
    desk.journal
        .append(vec![
            ready(id()),
            ready("fresh".into()),
            ConversationEvent::StepEnded { message_id: message_id.clone(), usage: None },
            ConversationEvent::ToolCallRunning { tool_call_id: id(), execution_id: None, child_id: None },
        ])
        .await?;
    desk.restart().await?;
    run(desk.context(Some(&Script::new([says("I check")])))).await;
    assert!(desk.output(0).text.contains("Check what it has changed"), "{}", desk.output(0).text);
    let states: Vec<_> = tool_calls(&desk.journal.now()).iter().map(|call| call.state).collect();
    assert_eq!(states, [ToolCallState::Stopped, ToolCallState::Succeeded]);
    Ok(())
}
