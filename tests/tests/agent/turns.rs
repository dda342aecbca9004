//! Turns: steps, tools, failures of the model, messages that arrive meanwhile.

use anyhow::Result;
use headwater_agent::NewMessage;
use headwater_agent::model::{Item, ModelErrorKind};
use headwater_protocol::conversation::{Delivery, MessageRole, ToolCallState, TurnOutcome};
use serde_json::json;

use crate::harness::{
    Answer, Desk, Script, broken_off, calls, last_text, notices, refused, says, tool_calls,
};

#[tokio::test]
async fn an_answer_with_a_tool_call_runs_it_and_goes_on_with_its_result() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([calls(&[("exec_command", json!({"cmd": "echo made by $0"}))]), says("done")]);
    let now = desk.ask("run it", &model).await?;
    assert_eq!(now.turn.as_ref().unwrap().outcome, Some(TurnOutcome::Completed), "{now:#?}");
    let call = &tool_calls(&now)[0];
    assert_eq!((call.state, call.execution_ids.len()), (ToolCallState::Succeeded, 1));
    assert_eq!(last_text(&now), "done");
    let results: Vec<_> = model.prompts()[1]
        .items
        .iter()
        .filter(|item| matches!(item, Item::ToolResult { .. }))
        .cloned()
        .collect();
    assert!(format!("{results:?}").contains("made by bash"), "{results:?}");
    assert!(model.prompts()[0].tools.iter().any(|tool| tool.name == "update_plan"));
    let recorded = desk.place.recorded.lock().unwrap();
    assert_eq!((recorded.len(), recorded[0].tool.as_str()), (1, "exec_command"));
    Ok(())
}

#[tokio::test]
async fn calls_of_one_answer_run_at_the_same_time_and_their_results_keep_its_order() -> Result<()> {
    let desk = Desk::new().await?;
    // Each waits for the file of the other one: alone, neither ends.
    let wait = |own: &str, other: &str| json!({"cmd": format!("touch {own}; until [ -e {other} ]; do sleep 0.05; done; echo {own}"), "yield_time_ms": 30000});
    let both = [("exec_command", wait("a", "b")), ("exec_command", wait("b", "a"))];
    let model = Script::new([calls(&both), says("done")]);
    desk.ask("both", &model).await?;
    assert!(desk.output(0).text.ends_with("a\n") && desk.output(1).text.ends_with("b\n"));
    let ids: Vec<_> = model.prompts()[1]
        .items
        .iter()
        .filter_map(|item| if let Item::ToolResult { id, .. } = item { Some(id.clone()) } else { None })
        .collect();
    assert_eq!(ids, ["exec_command-0", "exec_command-1"]);
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_written_before_a_command_in_the_same_answer_is_there_for_it() -> Result<()> {
    let desk = Desk::new().await?;
    let both = [
        ("write_file", json!({"file_path": "a", "content": "one\n"})),
        ("exec_command", json!({"cmd": "cat a"})),
    ];
    desk.ask("go", &Script::new([calls(&both), says("done")])).await?;
    assert!(desk.output(1).text.ends_with("one\n"), "{}", desk.output(1).text);
    Ok(())
}

#[tokio::test]
async fn a_tool_that_does_not_exist_and_arguments_that_are_no_json_are_results_that_say_what_to_do()
-> Result<()> {
    let desk = Desk::new().await?;
    let all = [
        ("no_such_tool", json!({})),
        ("exec_command", json!("{broken")),
        (
            "update_plan",
            json!({"plan": [{"step": "a", "status": "in_progress"}, {"step": "b", "status": "in_progress"}]}),
        ),
    ];
    let now = desk.ask("go", &Script::new([calls(&all), says("done")])).await?;
    assert!(tool_calls(&now).iter().all(|call| call.state == ToolCallState::Failed));
    assert!(desk.output(0).text.contains("exec_command, "), "{}", desk.output(0).text);
    assert!(desk.output(1).text.contains("not valid JSON"), "{}", desk.output(1).text);
    assert!(desk.output(2).text.contains("at most one"), "{}", desk.output(2).text);
    assert_eq!(now.turn.unwrap().outcome, Some(TurnOutcome::Completed));
    Ok(())
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_void_and_is_repeated() -> Result<()> {
    let desk = Desk::new().await?;
    let now = desk.ask("hello", &Script::new([broken_off("half an"), says("an answer")])).await?;
    assert_eq!(last_text(&now), "an answer");
    assert!(notices(&now)[0].contains("the connection was lost"), "{:?}", notices(&now));
    Ok(())
}

#[tokio::test]
async fn a_model_that_keeps_breaking_off_fails_the_turn_with_a_sentence_and_keeps_the_last_text() -> Result<()>
{
    let desk = Desk::new().await?;
    let now = desk.ask("hello", &Script::new([broken_off("a"), broken_off("b"), broken_off("c")])).await?;
    let turn = now.turn.clone().unwrap();
    assert_eq!(turn.outcome, Some(TurnOutcome::Failed));
    assert_eq!((turn.error.as_deref(), last_text(&now).as_str()), (Some("the connection was lost"), "c"));
    assert_eq!(now.open_step, None);
    Ok(())
}

#[tokio::test]
async fn a_failure_that_is_not_temporary_ends_the_turn_at_once() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([refused(ModelErrorKind::Unauthorized, "set the key of the model")]);
    let now = desk.ask("hello", &model).await?;
    let turn = now.turn.unwrap();
    assert_eq!(
        (turn.outcome, turn.error.as_deref()),
        (Some(TurnOutcome::Failed), Some("set the key of the model"))
    );
    // The next message is answered again.
    let now = desk.ask("again", &Script::new([says("hello")])).await?;
    assert_eq!(last_text(&now), "hello");
    Ok(())
}

#[tokio::test]
async fn a_message_for_the_turn_reaches_the_next_step_and_a_queued_one_has_a_turn_of_its_own() -> Result<()> {
    use MessageRole::{Assistant, User};

    let desk = Desk::new().await?;
    let wait = json!({"cmd": "until [ -e go ]; do sleep 0.05; done", "yield_time_ms": 30000});
    let model = Script::new([calls(&[("exec_command", wait)]), says("first"), says("second")]);
    let running = desk.begin("start", &model).await?;
    desk.journal
        .until("the command", |now| tool_calls(now).iter().any(|call| !call.execution_ids.is_empty()))
        .await?;
    desk.add(NewMessage { delivery: Delivery::Queue, ..NewMessage::text("later") }).await?;
    desk.add(NewMessage::text("look here")).await?;
    let workspace = desk.worker.workspace(desk.place.agent().await?.session());
    std::fs::write(workspace.join("go"), "")?;
    running.await?;
    let prompts = model.prompts();
    let has = |at: usize, text: &str| format!("{:?}", prompts[at]).contains(text);
    assert!(has(1, "look here") && !has(1, "later") && has(2, "later"));
    let now = desk.journal.now();
    let roles: Vec<_> = now.branch().iter().map(|message| message.role).collect();
    assert_eq!(roles, [User, Assistant, User, Assistant, User, Assistant]);
    assert!(now.queue.is_empty() && now.running().is_none());
    Ok(())
}

#[tokio::test]
async fn a_turn_ends_after_the_steps_that_it_may_have() -> Result<()> {
    let mut desk = Desk::new().await?;
    desk.settings.max_steps = 2;
    let plan = || calls(&[("update_plan", json!({"plan": [{"step": "a", "status": "in_progress"}]}))]);
    let now = desk.ask("go", &Script::new([plan(), plan()])).await?;
    let turn = now.turn.unwrap();
    assert_eq!(turn.outcome, Some(TurnOutcome::StepLimit));
    assert!(turn.error.unwrap().contains("2 steps"));
    assert_eq!(now.plan.len(), 1);
    Ok(())
}

#[tokio::test]
async fn in_plan_mode_only_tools_that_read_are_there() -> Result<()> {
    let mut desk = Desk::new().await?;
    desk.settings.is_plan_mode = true;
    let all = [("exec_command", json!({"cmd": "touch made"})), ("list_dir", json!({"dir_path": "."}))];
    let model = Script::new([calls(&all), says("the plan")]);
    let now = desk.ask("plan it", &model).await?;
    let states: Vec<_> = tool_calls(&now).iter().map(|call| call.state).collect();
    assert_eq!(states, [ToolCallState::Failed, ToolCallState::Succeeded]);
    assert!(desk.output(0).text.contains("plan mode"), "{}", desk.output(0).text);
    let tools: Vec<_> = model.prompts()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert!(tools.contains(&"read_file".to_owned()) && tools.contains(&"update_plan".to_owned()));
    assert!(
        !tools.iter().any(|name| ["exec_command", "write_file", "spawn_agent"].contains(&name.as_str())),
        "{tools:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_id_that_a_model_repeats_names_one_call_only() -> Result<()> {
    let desk = Desk::new().await?;
    let run = |text: &str| calls(&[("exec_command", json!({"cmd": format!("echo {text}")}))]);
    let now = desk.ask("go", &Script::new([run("one"), run("two"), says("done")])).await?;
    let all = tool_calls(&now);
    assert_ne!(all[0].tool_call_id, all[1].tool_call_id);
    assert!(desk.output(0).text.ends_with("one\n") && desk.output(1).text.ends_with("two\n"));
    Ok(())
}

#[tokio::test]
async fn an_empty_stream_is_an_answer_that_broke_off() -> Result<()> {
    let desk = Desk::new().await?;
    let now = desk.ask("hello", &Script::new([Answer::Events(Vec::new()), says("hello")])).await?;
    assert_eq!((last_text(&now).as_str(), notices(&now).len()), ("hello", 1));
    Ok(())
}
