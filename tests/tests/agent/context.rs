//! What the model reads: instructions, files, and summaries when the context is full.

use std::fs;

use anyhow::Result;
use headwater_agent::NewMessage;
use headwater_agent::model::{Content, Item, ModelErrorKind};
use headwater_agent::run;
use headwater_protocol::conversation::{Attachment, Part, TextPart, TurnOutcome};
use serde_json::json;

use crate::harness::{Desk, Script, calls, last_text, refused, says};

/// The smallest image.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

#[tokio::test]
async fn the_instructions_name_the_place_and_what_the_project_asks_for_from_the_root_down() -> Result<()> {
    let mut desk = Desk::new().await?;
    let agent = desk.place.agent().await?;
    let workspace = desk.worker.workspace(agent.session());
    fs::create_dir_all(workspace.join("src"))?;
    fs::write(workspace.join("AGENTS.md"), "Use tabs.")?;
    fs::write(workspace.join("src/AGENTS.md"), "x".repeat(100_000))?;
    desk.settings.instructions = Some("Answer in German.".into());
    let model = Script::new([says("ja")]);
    desk.ask("hello", &model).await?;
    let system = &model.prompts()[0].system;
    for part in
        [&agent.session().to_string(), "/workspace", "Network: none", "Use tabs.", "Answer in German."]
    {
        assert!(system.contains(part), "{part}: {system}");
    }
    let at = |text: &str| system.find(text).expect(text);
    assert!(at("## AGENTS.md") < at("## src/AGENTS.md") && system.len() < 45_000);
    Ok(())
}

#[tokio::test]
async fn a_conversation_without_a_tool_call_has_no_session() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([says("hello")]);
    desk.ask("hello", &model).await?;
    assert!(model.prompts()[0].system.contains("created by your first tool call"));
    assert!(desk.worker.client().await?.sessions(true).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn attached_images_and_texts_and_viewed_images_reach_the_model() -> Result<()> {
    let desk = Desk::new().await?;
    let workspace = desk.worker.workspace(desk.place.agent().await?.session());
    fs::create_dir_all(workspace.join("attachments"))?;
    fs::write(workspace.join("attachments/a.gif"), GIF)?;
    fs::write(workspace.join("attachments/a.txt"), "the text of the file")?;
    let file = |name: &str, media_type: &str| {
        let (path, media_type) = (format!("attachments/{name}"), media_type.to_owned());
        Part::Attachment(Attachment { name: name.into(), path, media_type, size_bytes: 20 })
    };
    let text = Part::Text(TextPart { text: "look".into(), ..TextPart::default() });
    let parts = vec![text, file("a.gif", "image/gif"), file("a.txt", "text/plain")];
    desk.add(NewMessage { parts, ..NewMessage::text("") }).await?;
    let view = calls(&[("view_image", json!({"path": "attachments/a.gif"}))]);
    let model = Script::new([view, says("I see")]);
    run(desk.context(Some(&model))).await;
    let last = model.prompts().pop().unwrap();
    let Item::User(content) = &last.items[0] else { panic!("{last:#?}") };
    assert!(matches!(&content[1], Content::Image { bytes, .. } if !bytes.is_empty()));
    assert!(matches!(&content[2], Content::Text(text) if text.contains("the text of the file")));
    let Some(Item::ToolResult { content, .. }) = last.items.last() else { panic!("{last:#?}") };
    assert!(matches!(content.last(), Some(Content::Image { .. })), "{content:?}");
    Ok(())
}

#[tokio::test]
async fn a_context_that_is_nearly_full_is_summarised_and_the_history_stays() -> Result<()> {
    let desk = Desk::new().await?;
    let long = "word ".repeat(20_000);
    desk.ask("remember 4711", &Script::with_context(30_000, [says(&long)])).await?;
    let model = Script::with_context(30_000, [says("the number is 4711"), says("4711")]);
    let now = desk.ask("which number?", &model).await?;
    assert_eq!(last_text(&now), "4711");
    let prompts = model.prompts();
    assert!(prompts[0].system.contains("summary") && prompts[0].tools.is_empty());
    let asked = format!("{:?}", prompts[1].items);
    assert!(
        asked.contains("the number is 4711")
            && asked.contains("which number?")
            && !asked.contains("word word")
    );
    assert_eq!((now.summaries.len(), now.messages.len()), (1, 4));
    Ok(())
}

#[tokio::test]
async fn a_prompt_that_the_model_refuses_as_too_long_is_summarised_in_the_middle_of_a_turn() -> Result<()> {
    let desk = Desk::new().await?;
    let too_long = refused(ModelErrorKind::ContextTooLong, "too long");
    let run = calls(&[("exec_command", json!({"cmd": "echo found"}))]);
    let model = Script::new([run, too_long, says("we found it"), says("done")]);
    let now = desk.ask("find it", &model).await?;
    assert_eq!((last_text(&now).as_str(), now.turn.unwrap().outcome), ("done", Some(TurnOutcome::Completed)));
    let asked = model.last_prompt();
    assert!(
        asked.contains("we found it") && asked.contains("find it") && !asked.contains("ToolResult"),
        "{asked}"
    );
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_too_long_alone_fails_with_a_sentence() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([refused(ModelErrorKind::ContextTooLong, "too long")]);
    let turn = desk.ask("long", &model).await?.turn.unwrap();
    assert_eq!(turn.outcome, Some(TurnOutcome::Failed));
    assert!(turn.error.unwrap().contains("begin a new conversation"));
    Ok(())
}
