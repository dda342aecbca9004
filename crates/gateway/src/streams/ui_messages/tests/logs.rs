//! Logs for tests: any events in any order, and those that an agent writes.

use headwater_protocol::ExecutionId;
use headwater_protocol::conversation::{ConversationEvent, LogEntry, Message, MessageId, Part, TextPart};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

pub(super) fn log(events: Vec<ConversationEvent>) -> Vec<LogEntry> {
    (1..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms: seq * 10, event }).collect()
}

/// A message: of a person if its id begins with `q`.
pub(super) fn message(id: &str, parent: Option<&str>) -> ConversationEvent {
    let role = if id.starts_with('q') { "user" } else { "assistant" };
    event(
        json!({"type": "message_added", "message": {"id": id, "parent_id": parent, "role": role, "parts": []}}),
    )
}

pub(super) fn whole_text(message: &str, part: &str, text: &str) -> ConversationEvent {
    event(json!({"type": "text_ended", "message_id": message, "part_id": part, "text": text}))
}

/// An event of the call `c`, if `more` names no other.
#[allow(clippy::needless_pass_by_value, reason = "callers write it with `json!`")]
pub(super) fn call_event(kind: &str, more: Value) -> ConversationEvent {
    let mut all = json!({"type": kind, "tool_call_id": "c"});
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event(all)
}

pub(super) fn text_of(message: &Message) -> String {
    let text = |part: &Part| match part {
        Part::Text(TextPart { text, .. }) | Part::Reasoning(TextPart { text, .. }) => text.clone(),
        _ => String::new(),
    };
    message.parts.iter().map(text).collect()
}

fn event(json: Value) -> ConversationEvent {
    serde_json::from_value(json).unwrap()
}

/// Any events, in any order.
pub(super) fn any_log() -> impl Strategy<Value = Vec<LogEntry>> {
    let message_id = || prop::sample::select(vec!["a", "b"]);
    let part = || prop::sample::select(vec!["t", "u"]);
    let call = || prop::sample::select(vec!["c", "d"]);
    let state = prop::sample::select(vec!["succeeded", "failed", "denied", "stopped"]);
    let executions = prop::sample::select(vec![0, 1]).prop_map(|count| vec![ExecutionId::random(); count]);
    let one = prop_oneof![
        prop::sample::select(vec!["q", "a", "b", "q2"]).prop_map(|id| message(id, None)),
        (message_id(), 1..3_u32).prop_map(|(id, attempt)| {
            event(json!({"type": "step_started", "message_id": id, "step": 1, "attempt": attempt}))
        }),
        message_id().prop_map(|id| event(json!({"type": "step_ended", "message_id": id}))),
        message_id().prop_map(|id| event(
            json!({"type": "step_discarded", "message_id": id, "reason": "broken off"})
        )),
        message_id().prop_map(|id| event(json!({"type": "noticed", "message_id": id, "text": "a notice"}))),
        (message_id(), part(), any::<bool>()).prop_map(|(id, part, reasoning)| {
            event(json!({"type": "text_started", "message_id": id, "part_id": part, "reasoning": reasoning}))
        }),
        (message_id(), part(), "[aä]{0,3}").prop_map(|(id, part, text)| {
            event(json!({"type": "text_delta", "message_id": id, "part_id": part, "text": text}))
        }),
        (message_id(), part(), "[aä]{0,3}").prop_map(|(id, part, text)| whole_text(id, part, &text)),
        (message_id(), call()).prop_map(|(id, call)| {
            call_event("tool_call_started", json!({"tool_call_id": call, "message_id": id, "tool": "x"}))
        }),
        call().prop_map(|call| call_event("tool_call_delta", json!({"tool_call_id": call, "text": "{"}))),
        (message_id(), call()).prop_map(|(id, call)| {
            let ready = json!({"tool_call_id": call, "message_id": id, "tool": "x", "input": {}});
            call_event("tool_call_ready", ready)
        }),
        (call(), executions).prop_map(|(call, executions)| {
            let running = json!({"tool_call_id": call, "execution_id": executions.first()});
            call_event("tool_call_running", running)
        }),
        (call(), part()).prop_map(|(call, ask)| {
            let approval = json!({"approval_id": ask, "text": "may I?", "fingerprint": "f"});
            call_event("approval_requested", json!({"tool_call_id": call, "approval": approval}))
        }),
        (call(), part()).prop_map(|(call, ask)| {
            let answer = json!({"tool_call_id": call, "approval_id": ask, "decision": "allow_once"});
            call_event("approval_answered", answer)
        }),
        (call(), state).prop_map(|(call, state)| {
            let ended = json!({"tool_call_id": call, "state": state, "output": {"text": "out"}});
            call_event("tool_call_ended", ended)
        }),
        Just(event(json!({"type": "plan_updated", "plan": [{"step": "one", "status": "pending"}]}))),
        Just(event(json!({"type": "turn_ended", "turn_id": "turn", "outcome": "completed"}))),
    ];
    let begin = Just(event(json!({"type": "turn_started", "turn_id": "turn"})));
    (begin, prop::collection::vec(one, 0..60))
        .prop_map(|(begin, rest)| log(std::iter::once(begin).chain(rest).collect()))
}

#[derive(Debug, Clone)]
enum Deed {
    Text(bool, Vec<String>),
    Call { deltas: Vec<String>, asks: Option<bool>, runs: bool, state: &'static str },
    BreaksOff,
    Notices,
    IsSteered,
}

fn deed() -> impl Strategy<Value = Deed> {
    let states = prop::sample::select(vec!["succeeded", "failed", "stopped"]);
    prop_oneof![
        (any::<bool>(), prop::collection::vec("[a-zäß\n]{0,4}", 0..4))
            .prop_map(|(kind, text)| Deed::Text(kind, text)),
        (prop::collection::vec("[{}a]{1,3}", 0..3), any::<Option<bool>>(), any::<bool>(), states)
            .prop_map(|(deltas, asks, runs, state)| Deed::Call { deltas, asks, runs, state }),
        Just(Deed::BreaksOff),
        Just(Deed::Notices),
        Just(Deed::IsSteered),
    ]
}

/// What an agent writes in one turn.
pub(super) fn well_formed_log() -> impl Strategy<Value = Vec<LogEntry>> {
    prop::collection::vec(deed(), 1..12).prop_map(|deeds| {
        let mut events =
            vec![message("q", None), event(json!({"type": "turn_started", "turn_id": "turn", "model": "m"}))];
        let mut current = "a0".to_owned();
        events.push(message("a0", Some("q")));
        for (n, deed) in deeds.into_iter().enumerate() {
            events.push(event(json!({"type": "step_started", "message_id": current, "step": n + 1, "attempt": 1})));
            if let Deed::IsSteered = deed {
                events.push(event(json!({"type": "step_ended", "message_id": current})));
                let (question, next) = (format!("q{n}"), format!("a{}", n + 1));
                events.push(message(&question, Some(&current)));
                events.push(message(&next, Some(&question)));
                current = next;
                continue;
            }
            events.extend(deed_events(&current, n, deed));
            let reply = json!({"type": "step_ended", "message_id": current, "usage": {"input_tokens": 1, "output_tokens": 2}});
            events.push(event(reply));
        }
        events.push(event(json!({"type": "turn_ended", "turn_id": "turn", "outcome": "completed"})));
        log(events)
    })
}

fn deed_events(message: &str, n: usize, deed: Deed) -> Vec<ConversationEvent> {
    match deed {
        Deed::Text(reasoning, deltas) => {
            let part = format!("t{n}");
            let with = |kind: &str, more: (&str, Value)| {
                let mut all =
                    json!({"type": kind, "message_id": message, "part_id": part, "reasoning": reasoning});
                all[more.0] = more.1;
                event(all)
            };
            let mut all = vec![with("text_started", ("reasoning", reasoning.into()))];
            all.extend(deltas.iter().map(|text| with("text_delta", ("text", text.clone().into()))));
            all.push(with("text_ended", ("text", deltas.concat().into())));
            all
        }
        Deed::Call { deltas, asks, runs, state } => {
            let call = format!("c{n}");
            let of = |kind: &str, mut more: Value| {
                more["tool_call_id"] = call.clone().into();
                call_event(kind, more)
            };
            let mut all = vec![of("tool_call_started", json!({"message_id": message, "tool": "shell"}))];
            all.extend(deltas.iter().map(|text| of("tool_call_delta", json!({"text": text}))));
            all.push(of(
                "tool_call_ready",
                json!({"message_id": message, "tool": "shell", "input": {"n": n}}),
            ));
            if let Some(allowed) = asks {
                let approval =
                    json!({"approval_id": format!("ask{n}"), "text": "may I?", "fingerprint": "f"});
                all.push(of("approval_requested", json!({"approval": approval})));
                let decision = if allowed { "allow_once" } else { "deny" };
                all.push(of(
                    "approval_answered",
                    json!({"approval_id": format!("ask{n}"), "decision": decision}),
                ));
            }
            let state = if asks == Some(false) { "denied" } else { state };
            if runs && state != "denied" {
                all.push(of("tool_call_running", json!({"execution_id": ExecutionId::random()})));
            }
            all.push(of("tool_call_ended", json!({"state": state, "output": {"text": format!("out {n}")}})));
            all
        }
        Deed::BreaksOff => vec![
            event(json!({"type": "text_started", "message_id": message, "part_id": "broken"})),
            event(json!({"type": "text_delta", "message_id": message, "part_id": "broken", "text": "lost"})),
            call_event("tool_call_started", json!({"message_id": message, "tool": "shell"})),
            event(json!({"type": "step_discarded", "message_id": message, "reason": "the call broke off"})),
            event(json!({"type": "step_started", "message_id": message, "step": n + 1, "attempt": 2})),
        ],
        Deed::Notices => vec![event(json!({"type": "noticed", "message_id": message, "text": "a notice"}))],
        Deed::IsSteered => Vec::new(),
    }
}
