//! Tests of the fold of a conversation.

use serde_json::json;

use super::*;

fn message(id: &str, parent: Option<&str>, role: MessageRole) -> ConversationEvent {
    ConversationEvent::MessageAdded {
        message: Message {
            id: id.parse().unwrap(),
            parent_id: parent.map(|id| id.parse().unwrap()),
            role,
            author: None,
            created_at_ms: 0,
            parts: Vec::new(),
            usage: None,
        },
    }
}

fn log(events: Vec<ConversationEvent>) -> Vec<LogEntry> {
    (1..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms: seq * 10, event }).collect()
}

fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

fn answer() -> Vec<ConversationEvent> {
    let text = |kind: &str, more: serde_json::Value| {
        let mut event = json!({"type": kind, "message_id": "a", "part_id": "t"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value::<ConversationEvent>(event).unwrap()
    };
    vec![
        message("q", None, MessageRole::User),
        ConversationEvent::TurnStarted { turn_id: "turn".into(), model: None },
        message("a", Some("q"), MessageRole::Assistant),
        ConversationEvent::StepStarted { message_id: id("a"), step: 1, attempt: 1 },
        text("text_started", json!({})),
        text("text_delta", json!({"text": "Hello "})),
        text("text_delta", json!({"text": "you"})),
        text("text_ended", json!({"text": "Hello you"})),
        ConversationEvent::StepEnded { message_id: id("a"), usage: None },
        ConversationEvent::TurnEnded { turn_id: "turn".into(), outcome: TurnOutcome::Completed, error: None },
    ]
}

#[test]
fn a_log_without_the_deltas_of_ended_parts_gives_the_same_conversation() {
    let whole = log(answer());
    let is_delta = |entry: &&LogEntry| matches!(entry.event, ConversationEvent::TextDelta { .. });
    let short: Vec<_> = whole.iter().filter(|entry| !is_delta(entry)).cloned().collect();
    assert!(short.len() < whole.len());
    let conversation = Conversation::of(&whole);
    assert_eq!(Conversation::of(&short), conversation);
    assert!(conversation.running().is_none());
    let Some(Part::Text(text)) = conversation.message(&id("a")).unwrap().parts.last() else { panic!() };
    assert_eq!((text.text.as_str(), text.is_streaming), ("Hello you", false));
}

#[test]
fn a_reader_that_has_seen_some_deltas_gets_the_same_text_from_the_end_of_the_part() {
    let whole = log(answer());
    for seen in 0..whole.len() {
        let mut conversation = Conversation::of(&whole[..seen]);
        for entry in &whole {
            conversation.apply(entry);
        }
        assert_eq!(conversation, Conversation::of(&whole), "after {seen} events");
    }
}

#[test]
fn a_discarded_step_leaves_a_notice_and_no_part_of_it() {
    let mut events = answer();
    events.truncate(7);
    events.push(ConversationEvent::ToolCallStarted {
        message_id: id("a"),
        tool_call_id: "c".into(),
        tool: "wait".into(),
    });
    events.push(ConversationEvent::StepDiscarded { message_id: id("a"), reason: "it broke off".into() });
    let conversation = Conversation::of(&log(events));
    assert!(conversation.tool_call("c").is_none());
    assert_eq!(conversation.message(&id("a")).unwrap().parts, [Part::Notice { text: "it broke off".into() }]);
}

#[test]
fn a_step_is_open_until_it_ends_or_is_discarded() {
    let whole = log(answer());
    let open = |events: usize| Conversation::of(&whole[..events]).open_step.map(|step| step.step);
    assert_eq!((open(3), open(4), open(8), open(9)), (None, Some(1), Some(1), None));
    let mut events = answer();
    events.truncate(6);
    events.push(ConversationEvent::StepDiscarded { message_id: id("a"), reason: "it broke off".into() });
    assert_eq!(Conversation::of(&log(events)).open_step, None);
}

#[test]
fn branches_keep_their_messages_and_the_newest_one_is_current() {
    let conversation = Conversation::of(&log(vec![
        message("q1", None, MessageRole::User),
        message("a1", Some("q1"), MessageRole::Assistant),
        message("q2", Some("a1"), MessageRole::User),
        message("a1b", Some("q1"), MessageRole::Assistant),
    ]));
    let ids = |branch: Vec<&Message>| branch.iter().map(|at| at.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(conversation.branch()), ["q1", "a1b"]);
    assert_eq!(ids(conversation.branch_to(&id("q2"))), ["q1", "a1", "q2"]);
    assert_eq!(conversation.newest_leaf(&id("a1")), Some(&id("q2")));
    assert_eq!(conversation.newest_leaf(&id("q1")), Some(&id("a1b")));
}

#[test]
fn the_state_of_a_tool_call_follows_its_events() {
    use ToolCallState::{Ready, Running, Succeeded, Writing};

    let mut events = answer();
    events.truncate(4);
    let call = || "c".to_owned();
    events.extend([
        ConversationEvent::ToolCallStarted {
            message_id: id("a"),
            tool_call_id: call(),
            tool: "shell".into(),
        },
        ConversationEvent::ToolCallDelta { tool_call_id: call(), text: "{\"command".into() },
        ConversationEvent::ToolCallReady {
            message_id: id("a"),
            tool_call_id: call(),
            tool: "shell".into(),
            input: json!({"command": ["ls"]}),
        },
        ConversationEvent::ToolCallRunning { tool_call_id: call(), execution_id: None, child_id: None },
        ConversationEvent::ToolCallEnded {
            tool_call_id: call(),
            state: Succeeded,
            output: ToolOutput { text: "x".into(), ..ToolOutput::default() },
            execution_ids: Vec::new(),
        },
    ]);
    let whole = log(events);
    let states: Vec<_> = (5..=9)
        .map(|end| Conversation::of(&whole[..end]).tool_call("c").map(|call| call.state).unwrap())
        .collect();
    assert_eq!(states, [Writing, Writing, Ready, Running, Succeeded]);
    let call = Conversation::of(&whole).tool_call("c").cloned().unwrap();
    assert_eq!((call.input_text.as_str(), call.started_at_ms, call.ended_at_ms), ("", Some(80), Some(90)));
}

#[test]
fn an_id_is_safe_in_a_url_and_a_file_name() {
    for good in ["a", "cnv_1", "1f0-ab.c:d", "..a"] {
        assert!(good.parse::<ConversationId>().is_ok(), "{good}");
    }
    for bad in ["", ".", "..", "a/b", "a b", "ä", &"x".repeat(129)] {
        assert!(bad.parse::<ConversationId>().is_err(), "{bad}");
    }
    assert!(ConversationId::random().as_str().starts_with("cnv_"));
}

#[test]
fn an_event_survives_the_wire() {
    for entry in log(answer()) {
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<LogEntry>(&text).unwrap(), entry, "{text}");
    }
}
