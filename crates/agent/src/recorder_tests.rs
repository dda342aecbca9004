//! Tests of the events that an answer becomes.

use headwater_protocol::conversation::{Conversation, LogEntry, Message, MessageRole, Part};
use proptest::prelude::*;

use super::*;

/// A part of an answer: its kind and its text.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Reasoning(String),
    Call(String),
}

/// The events of an answer whose texts are cut at every `cut` characters.
fn events(pieces: &[Piece], cut: usize) -> Vec<ModelEvent> {
    let mut all = Vec::new();
    for (part, piece) in (0..).zip(pieces) {
        let (text, make): (_, fn(u32, String) -> ModelEvent) = match piece {
            Piece::Text(text) => (text, |part, delta| ModelEvent::Text { part, delta }),
            Piece::Reasoning(text) => (text, |part, delta| ModelEvent::Reasoning { part, delta }),
            Piece::Call(text) => {
                all.push(ModelEvent::ToolCall { part, id: "same".into(), name: "shell".into() });
                (text, |part, delta| ModelEvent::Arguments { part, delta })
            }
        };
        let chars: Vec<char> = text.chars().collect();
        all.extend(chars.chunks(cut).map(|chunk| make(part, chunk.iter().collect())));
        if part % 2 == 0 {
            all.push(ModelEvent::PartEnded { part });
        }
    }
    all.push(ModelEvent::Finished(FinishReason::Stop));
    all
}

/// The message that the log has after these events, appended in batches of `batch`.
fn folded(events: Vec<ModelEvent>, batch: usize) -> Vec<Part> {
    let id: MessageId = "a".parse().unwrap();
    let mut recorder = Recorder::new(id.clone(), 1, 1, Box::new(|_| false));
    let message = Message {
        id: id.clone(),
        parent_id: None,
        role: MessageRole::Assistant,
        author: None,
        created_at_ms: 0,
        parts: Vec::new(),
        usage: None,
    };
    let mut log = vec![ConversationEvent::MessageAdded { message }];
    let mut pending = Vec::new();
    for (n, event) in events.into_iter().enumerate() {
        recorder.push(event, &mut pending);
        if n % batch == 0 {
            log.append(&mut pending);
        }
    }
    log.append(&mut pending);
    let entries: Vec<_> = (1..).zip(log).map(|(seq, event)| LogEntry { seq, at_ms: 0, event }).collect();
    let mut parts = Conversation::of(&entries).message(&id).unwrap().parts.clone();
    for part in &mut parts {
        if let Part::ToolCall(call) = part {
            // The second call of the same id gets another one.
            call.tool_call_id = call.tool_call_id.get(..4).unwrap().to_owned();
        }
    }
    parts
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        "[a-zä🙂\\n ]{0,40}".prop_map(Piece::Text),
        "[a-z ]{0,20}".prop_map(Piece::Reasoning),
        "[{}\":a-z1, ]{0,20}".prop_map(Piece::Call),
        "[a-z]{0,9}".prop_map(|text| Piece::Call(json!({"command": text}).to_string())),
    ]
}

proptest! {
    #[test]
    fn the_message_is_the_same_wherever_the_stream_is_cut(
        pieces in proptest::collection::vec(piece(), 0..6), cut in 1usize..50, batch in 1usize..9,
    ) {
        prop_assert_eq!(folded(events(&pieces, cut), batch), folded(events(&pieces, 1000), 1));
    }
}

fn record(events: Vec<ModelEvent>) -> (Recorder, Vec<ConversationEvent>) {
    let mut recorder = Recorder::new("a".parse().unwrap(), 1, 1, Box::new(|id| id == "used"));
    let mut out = Vec::new();
    for event in events {
        recorder.push(event, &mut out);
    }
    (recorder, out)
}

#[test]
fn a_call_gets_an_id_of_its_own_if_the_model_repeats_one() {
    let call = |part, id: &str| ModelEvent::ToolCall { part, id: id.into(), name: "shell".into() };
    let (_, out) = record(vec![call(0, "used"), call(1, "new"), call(2, "new"), call(3, ""), call(4, "a b")]);
    let ids: Vec<_> = out
        .iter()
        .filter_map(|event| match event {
            ConversationEvent::ToolCallStarted { tool_call_id, .. } => Some(tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids[1], "new");
    assert!([0, 2, 3, 4].iter().all(|&n| ids[n].starts_with("call_")), "{ids:?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

#[test]
fn an_answer_that_breaks_off_keeps_its_text_and_stops_the_call_that_was_being_written() {
    let (mut recorder, mut out) = record(vec![
        ModelEvent::Text { part: 0, delta: "half".into() },
        ModelEvent::ToolCall { part: 1, id: "c".into(), name: "shell".into() },
        ModelEvent::Arguments { part: 1, delta: "{\"comm".into() },
    ]);
    out.clear();
    recorder.break_off("it was stopped", &mut out);
    assert!(matches!(&out[0], ConversationEvent::TextEnded { text, .. } if text == "half"), "{out:?}");
    assert!(
        matches!(&out[1], ConversationEvent::ToolCallEnded { state: ToolCallState::Stopped, .. }),
        "{out:?}"
    );
}

#[test]
fn what_a_provider_wants_back_is_kept_even_without_a_text() {
    let (_, out) = record(vec![
        ModelEvent::Reasoning { part: 0, delta: String::new() },
        ModelEvent::Opaque { part: 0, opaque: json!("sealed") },
        ModelEvent::PartEnded { part: 0 },
    ]);
    let [_, ConversationEvent::TextEnded { reasoning: true, text, opaque, .. }] = out.as_slice() else {
        panic!("{out:?}")
    };
    assert_eq!((text.as_str(), opaque), ("", &Some(json!("sealed"))));
}
