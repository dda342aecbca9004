//! Tests of the encoder: the rules of the client hold for any log, and every way to read a log shows the same message.

mod client;
mod logs;

use headwater_protocol::conversation::{Conversation, ConversationEvent, LogEntry, TurnOutcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use self::client::Client;
use self::logs::{any_log, call_event, id, log, message, well_formed_log};
use super::chunk::Chunk;
use super::encoder::{Encoder, Output, Scope, Waiting};

/// What a stream sends for these outputs if no execution has a log.
fn chunks(outputs: Vec<Output>) -> Vec<Value> {
    let chunk = |output| match output {
        Output::Chunk(chunk) => Some(chunk),
        Output::Result(end) => Some(end.plain()),
        Output::Follow { .. } => None,
    };
    outputs.into_iter().filter_map(chunk).map(|chunk: Chunk| serde_json::to_value(chunk).unwrap()).collect()
}

fn scope() -> Scope {
    Scope::Turn("turn".into())
}

/// What a client has that connects after `seen` events.
fn read(log: &[LogEntry], seen: usize) -> Result<Client, String> {
    let mut encoder = Encoder::new(scope(), None);
    let mut client = Client::default();
    let mut outputs = encoder.replay(&Conversation::of(&log[..seen]));
    outputs.extend(log.iter().flat_map(|entry| encoder.push(entry)));
    chunks(outputs).iter().try_for_each(|chunk| client.take(chunk))?;
    assert_eq!(encoder.is_over(), client.is_over, "a stream ends with its last chunk");
    Ok(client)
}

proptest! {
    #[test]
    fn the_rules_of_the_client_hold_for_any_log(log in any_log(), cut in any::<prop::sample::Index>()) {
        for seen in [0, cut.index(log.len() + 1), log.len()] {
            prop_assert!(read(&log, seen).is_ok(), "after {}: {:?}", seen, read(&log, seen).err());
        }
    }

    #[test]
    fn a_client_that_connects_at_any_time_has_the_same_message(log in well_formed_log(), cut in any::<prop::sample::Index>()) {
        let whole = read(&log, 0).unwrap();
        let late = read(&log, cut.index(log.len() + 1)).unwrap();
        prop_assert_eq!(late.message(), whole.message());
        prop_assert!(whole.is_over && late.is_over);
        // It is the message of the fold.
        let stored = Conversation::of(&log);
        let text: String = stored.messages.iter().skip(1).map(logs::text_of).collect();
        prop_assert_eq!(whole.text(), text);
    }

    #[test]
    fn the_deltas_of_an_ended_text_are_not_needed(log in well_formed_log()) {
        let is_delta = |entry: &&LogEntry| matches!(entry.event, ConversationEvent::TextDelta { .. });
        let pruned: Vec<_> = log.iter().filter(|entry| !is_delta(entry)).cloned().collect();
        prop_assert_eq!(read(&pruned, 0).unwrap().message(), read(&log, 0).unwrap().message());
    }

    #[test]
    fn a_message_that_is_continued_after_a_pause_is_whole(log in well_formed_log(), cut in any::<prop::sample::Index>()) {
        let seen = cut.index(log.len() + 1);
        let mut client = Client::default();
        let mut first = Encoder::new(scope(), None);
        let mut texts_are_complete = true;
        for entry in &log[..seen] {
            let outputs = first.push(entry);
            chunks(outputs).iter().try_for_each(|chunk| client.take(chunk)).unwrap();
            texts_are_complete = first.texts.is_empty();
        }
        prop_assume!(texts_are_complete && client.is_started && !client.is_over);
        let mut second = Encoder::new(scope(), None);
        log[..seen].iter().for_each(|entry| drop(second.push(entry)));
        let mut outputs = second.continued();
        outputs.extend(log[seen..].iter().flat_map(|entry| second.push(entry)));
        chunks(outputs).iter().try_for_each(|chunk| client.take(chunk)).unwrap();
        prop_assert_eq!(client.message(), read(&log, 0).unwrap().message());
    }
}

fn types(log: &[LogEntry]) -> Vec<String> {
    let mut encoder = Encoder::new(scope(), None);
    let outputs = log.iter().flat_map(|entry| encoder.push(entry)).collect();
    chunks(outputs).iter().map(|chunk| chunk["type"].as_str().unwrap().to_owned()).collect()
}

fn begun() -> Vec<ConversationEvent> {
    vec![
        message("q", None),
        ConversationEvent::TurnStarted { turn_id: "turn".into(), model: Some("m".into()) },
        message("a", Some("q")),
        ConversationEvent::StepStarted { message_id: id("a"), step: 1, attempt: 1 },
    ]
}

fn ended(outcome: TurnOutcome) -> ConversationEvent {
    ConversationEvent::TurnEnded { turn_id: "turn".into(), outcome, error: None }
}

#[test]
fn a_call_is_shown_from_its_first_argument_to_its_result() {
    let mut events = begun();
    let execution = headwater_protocol::ExecutionId::random();
    events.extend([
        call_event("tool_call_started", json!({"message_id": "a", "tool": "shell"})),
        call_event("tool_call_delta", json!({"text": "{}"})),
        call_event("tool_call_ready", json!({"message_id": "a", "tool": "shell", "input": {}})),
        ConversationEvent::StepEnded { message_id: id("a"), usage: None },
        call_event("tool_call_running", json!({"execution_id": execution})),
        call_event("tool_call_ended", json!({"state": "succeeded", "output": {"text": "ok"}})),
        ended(TurnOutcome::Completed),
    ]);
    let log = log(events);
    let expected = "start start-step tool-input-start tool-input-delta tool-input-available finish-step \
                    tool-input-available tool-output-available finish";
    assert_eq!(types(&log).join(" "), expected);
    let mut encoder = Encoder::new(scope(), None);
    let outputs: Vec<_> = log.iter().flat_map(|entry| encoder.push(entry)).collect();
    let follow = Output::Follow { tool_call_id: "c".into(), execution_id: execution };
    assert!(outputs.contains(&follow), "{outputs:?}");
    let all = chunks(outputs);
    let running = all.iter().rfind(|chunk| chunk["type"] == "tool-input-available").unwrap();
    assert_eq!(running["toolMetadata"]["executionIds"], json!([execution]));
    assert_eq!(all.last().unwrap()["finishReason"], "stop");
    assert_eq!(all[0]["messageMetadata"]["streamId"], "turn");
}

#[test]
fn every_end_of_a_turn_ends_the_stream_in_its_own_way() {
    for (outcome, last) in [
        (TurnOutcome::Completed, json!(["finish", "stop"])),
        (TurnOutcome::Stopped, json!(["finish", "interrupted"])),
        (TurnOutcome::StepLimit, json!(["finish", "other"])),
        (TurnOutcome::Failed, json!(["error", null])),
    ] {
        let mut events = begun();
        events.push(ended(outcome));
        let mut encoder = Encoder::new(scope(), None);
        let outputs = log(events).iter().flat_map(|entry| encoder.push(entry)).collect();
        let all = chunks(outputs);
        let end = all.last().unwrap();
        assert_eq!(json!([end["type"], end["finishReason"]]), last);
    }
}

#[test]
fn a_stream_pauses_when_nothing_but_a_person_can_continue_it() {
    let mut events = begun();
    let ready = |id: &str| {
        let ready = json!({"tool_call_id": id, "message_id": "a", "tool": "shell", "input": {}});
        call_event("tool_call_ready", ready)
    };
    let approval = json!({"approval": {"approval_id": "ask", "text": "rm -r /?", "fingerprint": "f"}});
    events.extend([
        ready("c"),
        ready("d"),
        call_event("tool_call_running", json!({"tool_call_id": "d"})),
        call_event("approval_requested", approval),
        call_event(
            "tool_call_ended",
            json!({"tool_call_id": "d", "state": "succeeded", "output": {"text": ""}}),
        ),
        call_event("approval_answered", json!({"approval_id": "ask", "decision": "deny", "reason": "no"})),
        call_event("tool_call_ended", json!({"state": "denied", "output": {"text": "no"}})),
    ]);
    let mut encoder = Encoder::new(scope(), None);
    let mut seen = Vec::new();
    let mut all = Vec::new();
    for entry in log(events) {
        all.extend(chunks(encoder.push(&entry)));
        seen.push(encoder.waiting());
    }
    assert_eq!(seen[7..], [Waiting::No, Waiting::Yes, Waiting::No, Waiting::No], "{seen:?}");
    let types: Vec<_> = all.iter().rev().take(2).map(|chunk| chunk["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["tool-output-denied", "tool-approval-response"]);
}

#[test]
fn a_message_that_waits_in_the_queue_is_answered_in_its_own_stream() {
    let mut events = begun();
    let text = |message: &str| logs::whole_text(message, "t", message);
    events.extend([
        text("a"),
        ended(TurnOutcome::Completed),
        message("q2", Some("a")),
        message("q3", Some("q2")),
        ConversationEvent::TurnStarted { turn_id: "next".into(), model: None },
        message("a2", Some("q3")),
        text("a2"),
        ConversationEvent::TurnEnded { turn_id: "next".into(), outcome: TurnOutcome::Completed, error: None },
    ]);
    let log = log(events);
    // A turn begins in the same append as the messages that it answers.
    let begins =
        log.iter().rposition(|entry| matches!(entry.event, ConversationEvent::TurnStarted { .. })).unwrap();
    for seen in (0..=log.len()).filter(|seen| *seen <= begins - 2 || *seen > begins) {
        let mut encoder = Encoder::new(Scope::AnswerTo(id("q2")), None);
        let mut outputs = encoder.replay(&Conversation::of(&log[..seen]));
        outputs.extend(log.iter().flat_map(|entry| encoder.push(entry)));
        let all = chunks(outputs);
        assert_eq!(
            (&all[0]["messageId"], &all[0]["messageMetadata"]["streamId"]),
            (&json!("a2"), &json!("next"))
        );
        let text: String = all.iter().filter_map(|chunk| chunk["delta"].as_str()).collect();
        assert_eq!((text.as_str(), encoder.is_over()), ("a2", true), "after {seen}");
    }
}

#[test]
fn a_file_of_a_message_has_a_url_that_its_name_cannot_change() {
    let parts = serde_json::from_value(json!([
        {"type": "attachment", "name": "a.png", "path": "attachments/a&b=../?x#.png", "media_type": "image/png", "size_bytes": 1},
    ]));
    let parts: Vec<_> = parts.unwrap();
    let parts = serde_json::to_value(super::user::user_parts(&parts, Some("/v1/files?path="))).unwrap();
    assert_eq!(parts[0]["url"], "/v1/files?path=attachments%2Fa%26b%3D..%2F%3Fx%23.png");
    assert_eq!((&parts[0]["type"], &parts[0]["mediaType"]), (&json!("file"), &json!("image/png")));
}
