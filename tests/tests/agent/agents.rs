//! Sub-agents.

use anyhow::Result;
use headwater_protocol::conversation::{ToolCallState, TurnOutcome};
use serde_json::{Value, json};

use crate::harness::{Answer, Desk, Script, calls, says, tool_calls};

async fn desk(children: &[Answer]) -> Result<Desk> {
    let desk = Desk::new().await?;
    *desk.place.child_models.lock().unwrap() =
        children.iter().map(|answer| Script::new([answer.clone(), says("more")])).collect();
    Ok(desk)
}

/// The conversation of a sub-agent.
fn child(desk: &Desk, at: usize) -> headwater_protocol::conversation::Conversation {
    desk.place.children.lock().unwrap()[at].0.now()
}

#[allow(clippy::needless_pass_by_value, reason = "callers write it with `json!`")]
fn spawn(more: Value) -> Answer {
    let mut arguments = json!({"message": "count the files"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    calls(&[("spawn_agent", arguments)])
}

/// Continues a script with the id of the first sub-agent, which only a run knows.
async fn second_turn(desk: &Desk, tool: &str, make: impl Fn(&str) -> Value) -> Result<Value> {
    let id = tool_calls(&desk.journal.now())[0].child_id.clone().unwrap();
    let before = tool_calls(&desk.journal.now()).len();
    desk.ask("go on", &Script::new([calls(&[(tool, make(id.as_str()))]), says("done")])).await?;
    Ok(desk.output(before).structured.unwrap_or_else(|| json!(desk.output(before).text)))
}

#[tokio::test]
async fn a_sub_agent_works_in_a_conversation_of_its_own_and_its_answer_is_waited_for() -> Result<()> {
    let desk = desk(&[says("there are three")]).await?;
    let model = Script::new([spawn(json!({"detached": true, "fork_context": true})), says("started")]);
    let now = desk.ask("count", &model).await?;
    let call = &tool_calls(&now)[0];
    assert!(call.child_id.is_some() && call.state == ToolCallState::Succeeded);
    let result = second_turn(&desk, "wait_agent", |id| json!({"ids": [id], "timeout_ms": 60000})).await?;
    let id = tool_calls(&now)[0].child_id.clone().unwrap();
    assert_eq!(
        result,
        json!({"status": {id.as_str(): {"completed": "there are three"}}, "timed_out": false})
    );
    let task = format!("{:?}", child(&desk, 0).messages[0]);
    assert!(task.contains("count the files") && task.contains("Person:"), "{task}");
    let result =
        second_turn(&desk, "send_input", |id| json!({"id": id, "message": "go on", "interrupt": true}))
            .await?;
    assert!(result["submission_id"].as_str().is_some(), "{result}");
    Ok(())
}

#[tokio::test]
async fn a_sub_agent_ends_with_the_turn_of_its_parent_unless_it_is_detached() -> Result<()> {
    let hangs = || Answer::Hangs(Vec::new());
    let desk = desk(&[hangs(), hangs()]).await?;
    let model = Script::new([spawn(json!({})), spawn(json!({"detached": true})), says("started")]);
    desk.ask("go", &model).await?;
    assert_eq!(child(&desk, 0).turn.unwrap().outcome, Some(TurnOutcome::Stopped));
    assert!(child(&desk, 1).running().is_some());
    Ok(())
}

#[tokio::test]
async fn closing_a_sub_agent_stops_it_and_it_takes_no_input_until_it_is_resumed() -> Result<()> {
    let desk = desk(&[Answer::Hangs(Vec::new())]).await?;
    desk.ask("go", &Script::new([spawn(json!({"detached": true})), says("started")])).await?;
    let closed = second_turn(&desk, "close_agent", |id| json!({"id": id})).await?;
    assert_eq!(closed, json!({"status": "running"}));
    assert_eq!(child(&desk, 0).turn.unwrap().outcome, Some(TurnOutcome::Stopped));
    let refused = second_turn(&desk, "send_input", |id| json!({"id": id, "message": "go on"})).await?;
    assert!(refused.as_str().unwrap().contains("resume_agent"), "{refused}");
    let status = second_turn(&desk, "wait_agent", |id| json!({"ids": [id, "nobody"]})).await?;
    assert!(
        status.to_string().contains("\"shutdown\"")
            && status.to_string().contains("\"nobody\":\"not_found\"")
    );
    second_turn(&desk, "resume_agent", |id| json!({"id": id})).await?;
    let sent = second_turn(&desk, "send_input", |id| json!({"id": id, "message": "go on"})).await?;
    assert!(sent["submission_id"].as_str().is_some(), "{sent}");
    Ok(())
}

#[tokio::test]
async fn the_number_and_the_depth_of_sub_agents_are_limited() -> Result<()> {
    let mut desk = desk(&vec![says("done"); 8]).await?;
    let spawns: Vec<_> = (0..9).map(|_| ("spawn_agent", json!({"message": "x", "detached": true}))).collect();
    let steps = spawns.into_iter().map(|one| calls(&[one])).chain([says("done")]);
    desk.ask("go", &Script::new(steps)).await?;
    assert!(desk.output(8).text.contains("8 sub-agents are open"), "{}", desk.output(8).text);
    desk.settings.depth = 2;
    let model = Script::new([says("done")]);
    desk.ask("go", &model).await?;
    assert!(!model.prompts()[0].tools.iter().any(|tool| tool.name == "spawn_agent"));
    Ok(())
}
