//! Tests of the prompt that a branch becomes.

use headwater_protocol::conversation::{LogEntry, TextPart, ToolCallState, ToolOutput};

use super::*;

fn text(text: &str) -> Part {
    Part::Text(TextPart { text: text.into(), ..TextPart::default() })
}

fn call(id: &str, input: Option<Value>, output: Option<&str>) -> Part {
    let mut call = ToolCall::new(id, "shell");
    call.input = input;
    call.output = output.map(|text| ToolOutput { text: text.into(), ..ToolOutput::default() });
    call.state = ToolCallState::Succeeded;
    Part::ToolCall(Box::new(call))
}

fn conversation(messages: Vec<(MessageRole, Vec<Part>)>) -> Conversation {
    let mut conversation = Conversation::default();
    for (n, (role, parts)) in messages.into_iter().enumerate() {
        let id = |n: usize| format!("m{n}").parse().unwrap();
        let parent_id = n.checked_sub(1).map(id);
        let author = Some("m".to_owned());
        let message = Message { id: id(n), parent_id, role, author, created_at_ms: 0, parts, usage: None };
        let event = headwater_protocol::conversation::ConversationEvent::MessageAdded { message };
        conversation.apply(&LogEntry { seq: n as u64 + 1, at_ms: 0, event });
    }
    conversation
}

fn names(drafts: &[Draft]) -> Vec<String> {
    let name = |draft: &Draft| match draft {
        Draft::User(pieces) => format!("user {}", pieces.len()),
        Draft::Item(Item::Text(text)) => format!("text {text}"),
        Draft::Item(Item::Reasoning { text, .. }) => format!("reasoning {text}"),
        Draft::Item(Item::ToolCall { id, .. }) => format!("call {id}"),
        Draft::Result { id, .. } => format!("result {id}"),
        Draft::Item(other) => format!("{other:?}"),
    };
    drafts.iter().map(name).collect()
}

#[test]
fn the_results_of_a_step_follow_all_of_its_calls() {
    let reasoning = Part::Reasoning(TextPart { text: "r".into(), ..TextPart::default() });
    let now = conversation(vec![
        (MessageRole::User, vec![text("q")]),
        (
            MessageRole::Assistant,
            vec![
                Part::Step { number: 1 },
                reasoning,
                text("a"),
                call("1", Some(json!({})), Some("x")),
                call("2", Some(json!("{bro")), None),
                call("3", None, None),
                Part::Notice { text: "n".into() },
                Part::Step { number: 2 },
                text("b"),
            ],
        ),
    ]);
    let own = drafts(&now, Some("m"));
    assert_eq!(
        names(&own),
        ["user 1", "reasoning r", "text a", "call 1", "call 2", "result 1", "result 2", "text b"]
    );
    let Draft::Item(Item::ToolCall { arguments, .. }) = &own[4] else { panic!() };
    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
    let other = names(&drafts(&now, Some("another")));
    assert!(!other.contains(&"reasoning r".to_owned()), "{other:?}");
}

#[test]
fn what_a_summary_covers_is_not_in_the_prompt() {
    let mut now = conversation(vec![
        (MessageRole::User, vec![text("first")]),
        (MessageRole::Assistant, vec![text("answer")]),
        (MessageRole::User, vec![text("second")]),
    ]);
    now.summaries.insert("m1".parse().unwrap(), "we talked".into());
    let all = drafts(&now, None);
    assert_eq!(names(&all), ["user 1", "user 1"]);
    let Draft::User(pieces) = &all[0] else { panic!() };
    assert!(matches!(&pieces[0], Piece::Text(text) if text.contains("we talked")));
}

#[test]
fn only_the_newest_images_are_shown() {
    let image =
        Attachment { name: "a".into(), path: "a.png".into(), media_type: "image/png".into(), size_bytes: 1 };
    let mut all: Vec<Draft> =
        (0..MAX_IMAGES + 3).map(|_| Draft::User(vec![Piece::File(image.clone())])).collect();
    drop_old_images(&mut all);
    let shown = |draft: &Draft| matches!(draft, Draft::User(pieces) if matches!(pieces[0], Piece::File(_)));
    assert!(!all[..3].iter().any(shown) && all[3..].iter().all(shown));
}
