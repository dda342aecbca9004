//! Questions to the person.

use anyhow::Result;
use headwater_agent::Journal;
use headwater_protocol::conversation::{Answer, ConversationEvent, ToolCallState};
use serde_json::json;

use crate::harness::{Desk, Script, calls, says, tool_calls};

#[tokio::test]
async fn the_agent_asks_the_person_and_reads_the_answers() -> Result<()> {
    let desk = Desk::new().await?;
    let question =
        json!({"id": "db", "header": "Database", "question": "Which one?", "options": [{"label": "SQLite"}]});
    let model =
        Script::new([calls(&[("request_user_input", json!({"questions": [question]}))]), says("fine")]);
    let running = desk.begin("go", &model).await?;
    let asks = |now: &headwater_protocol::conversation::Conversation| {
        tool_calls(now).iter().any(|call| call.state == ToolCallState::Waiting)
    };
    let now = desk.journal.until("the question", asks).await?;
    let call = tool_calls(&now).remove(0);
    assert_eq!(call.input_request.unwrap().questions[0].options[0].label, "SQLite");
    let answers = vec![Answer { id: "db".into(), answer: "Postgres".into() }];
    desk.journal
        .append(vec![ConversationEvent::InputAnswered { tool_call_id: call.tool_call_id, answers }])
        .await?;
    running.await?;
    assert_eq!(desk.output(0).structured, Some(json!({"answers": {"db": "Postgres"}})));
    Ok(())
}

#[tokio::test]
async fn questions_that_cannot_be_asked_are_refused() -> Result<()> {
    let mut desk = Desk::new().await?;
    let ask = |questions| ("request_user_input", json!({"questions": questions}));
    let one = json!({"id": "a", "header": "h", "question": "q?"});
    let model = Script::new([calls(&[ask(json!([])), ask(json!([one, one]))]), says("fine")]);
    desk.ask("go", &model).await?;
    assert!(desk.output(0).text.contains("one to three") && desk.output(1).text.contains("the id \"a\""));
    desk.settings.is_interactive = false;
    let model = Script::new([calls(&[ask(json!([one]))]), says("fine")]);
    desk.ask("go", &model).await?;
    assert!(desk.output(2).text.contains("There is no tool"), "{}", desk.output(2).text);
    Ok(())
}
