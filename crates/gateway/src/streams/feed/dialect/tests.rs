//! The frames of each dialect, and that a reader that is disconnected anywhere and reconnects gets everything
//! exactly once, however the log is cut into events.

use bytes::Bytes;
use headwater_protocol::{ExecutionId, ExitDetail, Reason, Seq, StartSpec, Stream, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::streams::feed::cursor::Cursor;
use crate::streams::feed::subject::tests::subject;

fn verdict(reason: Reason, code: Option<i32>, signal: Option<i32>, message: Option<&str>) -> Verdict {
    Verdict { code, signal, message: message.map(Into::into), duration_ms: 1500, ..Verdict::new(reason) }
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq: Seq(seq), at_ms: seq, kind }
}

fn output(seq: u64, stream: Stream, bytes: &[u8]) -> Event {
    event(seq, EventKind::Output { stream, offset: 0, bytes: Bytes::copy_from_slice(bytes) })
}

fn started() -> Event {
    event(1, EventKind::Started { execution_id: ExecutionId::random(), pid: 7 })
}

/// All frames of events from a position on, each with the position that it carries.
fn frames(
    dialect: Dialect,
    subject: &Subject,
    events: &[Event],
    mut position: Position,
) -> Vec<(Frame, Position)> {
    let mut all = Vec::new();
    for event in events {
        loop {
            let step = dialect.step(subject, event, position);
            position = step.position;
            all.extend(step.frame.map(|frame| (frame, position)));
            if step.is_done {
                break;
            }
        }
        if dialect.ends_with(event) {
            break;
        }
    }
    all
}

fn json_of(frame: &Frame) -> Value {
    match frame {
        Frame::Whole { data, .. } => serde_json::from_slice(data).unwrap(),
        Frame::Result(result) => json!({"type": "TOOL_RESULT", "result": format!("{result:?}")}),
    }
}

fn sent(dialect: Dialect, events: &[Event]) -> Vec<Value> {
    let subject = subject(StartSpec::shell("x"));
    frames(dialect, &subject, events, Position::default()).iter().map(|(frame, _)| json_of(frame)).collect()
}

/// A position as the client sees it and sends it back.
fn through_a_cursor(position: Position) -> Position {
    let cursor = Cursor { newest: 5, open: [(5, position)].into() };
    let again: Cursor = cursor.to_string().parse().unwrap();
    again.open[&5]
}

#[test]
fn a_native_event_says_whose_it_is_besides() {
    let subject = subject(StartSpec::shell("x"));
    let kind = EventKind::Output { stream: Stream::Stdout, offset: 0, bytes: "a\n".into() };
    let step = Dialect::Native.step(&subject, &Event { seq: Seq(2), at_ms: 3, kind }, Position::default());
    let Some(Frame::Whole { name, data }) = step.frame else { panic!("no frame") };
    let json: Value = serde_json::from_slice(&data).unwrap();
    let expected = json!({"type": "stdout", "seq": 2, "at_ms": 3, "offset": 0, "text": "a\n",
        "execution_id": subject.execution_id(), "tool_call_id": "call", "conversation_id": "talk"});
    assert_eq!((name, json, step.position.seq), (Some("stdout"), expected, Seq(2)));
}

#[test]
fn a_call_starts_prints_and_has_its_result() {
    let exited = verdict(Reason::Exited, Some(0), None, None);
    let log = [
        started(),
        output(2, Stream::Stdout, b"out"),
        output(3, Stream::Stderr, b"err"),
        output(4, Stream::Output, b"tty"),
        event(5, EventKind::Exited(exited)),
    ];
    let sent = sent(Dialect::ToolCallsFlat, &log);
    let types: Vec<_> = sent.iter().map(|json| json["type"].as_str().unwrap()).collect();
    let printed = "CODE_EXECUTION_OUTPUT";
    assert_eq!(types, ["TOOL_CALL_START", printed, printed, printed, "TOOL_RESULT"]);
    assert_eq!((&sent[0]["id"], &sent[0]["tool_name"]), (&json!("call"), &json!("code_execution")));
    assert_eq!(sent[0]["timestamp"], "1970-01-01T00:00:01.001Z");
    assert_eq!(sent[0]["tool_args"], json!({"runtime": "terminal", "code": "x"}));
    assert!(sent[..4].iter().all(|json| json["thread_id"] == "talk"));
    assert_eq!((&sent[1]["source"], &sent[1]["stdout"]), (&json!("stdout"), &json!("out")));
    assert_eq!((&sent[2]["source"], &sent[2]["stderr"]), (&json!("stderr"), &json!("err")));
    assert_eq!((&sent[3]["source"], &sent[3]["stdout"]), (&json!("stdout"), &json!("tty")));
    assert!(sent[1].get("stderr").is_none() && sent[1]["tool_call_id"] == "call");
}

#[test]
fn output_comes_in_chunks_of_at_most_4096_bytes_that_divide_no_character() {
    let text = "ä".repeat(10_000);
    let (first, second) = text.as_bytes().split_at(4097);
    let log = [
        started(),
        output(2, Stream::Stdout, first),
        output(3, Stream::Stderr, b"!"),
        output(4, Stream::Stdout, second),
    ];
    let sent = sent(Dialect::ToolCallsFlat, &log);
    let pieces: Vec<_> = sent.iter().filter_map(|json| json["stdout"].as_str()).collect();
    assert!(
        pieces.iter().all(|piece| piece.len() <= 4096),
        "{:?}",
        pieces.iter().map(|p| p.len()).collect::<Vec<_>>()
    );
    assert_eq!(pieces.concat(), text);
}

#[test]
fn a_call_that_never_ran_starts_says_why_and_has_its_result() {
    let detail = Some(ExitDetail::command_not_found("nope"));
    let failed = Verdict { detail, ..Verdict::new(Reason::SetupFailed) };
    let sent = sent(Dialect::ToolCallsFlat, &[event(1, EventKind::Exited(failed))]);
    assert_eq!(sent.len(), 3);
    assert_eq!((&sent[0]["type"], &sent[1]["source"]), (&json!("TOOL_CALL_START"), &json!("error")));
    assert_eq!(sent[1]["stderr"], "Command or runtime not found: nope");
    assert_eq!(sent[1]["error"], sent[1]["stderr"]);
}

#[test]
fn the_fields_of_a_card_event_are_in_its_payload() {
    let log = [started(), output(2, Stream::Stdout, b"out"), output(3, Stream::Stderr, b"err")];
    let subject = subject(StartSpec::shell("x"));
    let of = |dialect| -> Vec<Value> {
        frames(dialect, &subject, &log, Position::default()).iter().map(|(frame, _)| json_of(frame)).collect()
    };
    let (events, flat) = (of(Dialect::ToolCalls), of(Dialect::ToolCallsFlat));
    assert_eq!(events.len(), 3);
    for (event, flat) in events.iter().zip(&flat) {
        let expected = json!({"type": flat["type"], "thread_id": "talk", "timestamp": flat["timestamp"], "payload": flat});
        assert_eq!(*event, expected);
    }
}

#[test]
fn output_beyond_the_max_buffer_is_replaced_by_a_note_in_every_dialect() {
    let mut spec = StartSpec::shell("x");
    spec.metadata.insert(crate::streams::feed::MAX_BUFFER_KEY.into(), "5".into());
    let subject = subject(spec);
    let at = |seq, stream, offset, bytes: &[u8]| {
        event(seq, EventKind::Output { stream, offset, bytes: Bytes::copy_from_slice(bytes) })
    };
    let gap = EventKind::Gap { stream: Stream::Stdout, from_byte: 10, to_byte: 20 };
    let log = [
        started(),
        at(2, Stream::Stdout, 0, b"abc"),
        at(3, Stream::Stderr, 0, b"12345"),
        at(4, Stream::Stdout, 3, "d\u{e4}ef".as_bytes()), // the limit divides the character
        at(5, Stream::Stdout, 8, b"gh"),
        event(6, gap),
        at(7, Stream::Stdout, 20, b"ij"),
        event(8, EventKind::Exited(verdict(Reason::Exited, Some(0), None, None))),
    ];
    let note =
        "\n[SYSTEM: 5 bytes are the `maxBuffer` of this call; `output_url` returns the whole output.]\n";
    for (dialect, out, err) in [
        (Dialect::ToolCallsFlat, "\"stdout\"", "\"stderr\""),
        (Dialect::ToolProgress, "\"stdout\"", "\"stderr\""),
    ] {
        let all = frames(dialect, &subject, &log, Position::default());
        let whole = sum(&all.iter().map(|(frame, _)| frame.clone()).collect::<Vec<_>>());
        assert_eq!((&whole[out], &*whole[err]), (&format!("abcd{note}"), "12345"), "{dialect:?}");
        // A client that reconnects anywhere gets the note once.
        for cut in 0..all.len() - 1 {
            let position = through_a_cursor(all[cut].1);
            let later: Vec<_> = log.iter().filter(|event| event.seq > position.seq).cloned().collect();
            let rest = frames(dialect, &subject, &later, position);
            let both: Vec<_> = all[..=cut].iter().chain(&rest).map(|(frame, _)| frame.clone()).collect();
            assert_eq!(sum(&both), whole, "{dialect:?} cut after frame {cut}");
        }
    }
}

#[test]
fn progress_begins_and_ends_with_where_the_call_stands() {
    let content = |json: &Value| {
        let progress = &json["progress"];
        format!("{}: {}", progress["type"].as_str().unwrap(), progress["content"].as_str().unwrap())
    };
    let exited =
        event(9, EventKind::Exited(verdict(Reason::TimedOut, None, Some(15), Some("timed out after 5 s"))));
    let gap = EventKind::Gap { stream: Stream::Stdout, from_byte: 1, to_byte: 11 };
    let log =
        [started(), output(2, Stream::Stdout, b"a"), event(3, gap), output(4, Stream::Stderr, b"b"), exited];
    let all = sent(Dialect::ToolProgress, &log);
    let lines: Vec<_> = all.iter().map(content).collect();
    let skipped = "status: 10 bytes of stdout were skipped";
    assert_eq!(lines, ["status: running", "stdout: a", skipped, "stderr: b", "status: timed out after 5 s"]);
    assert_eq!((&all[0]["type"], &all[0]["progress"]["timestamp"]), (&json!("tool-progress"), &json!(1001)));
    assert_eq!((&all[0]["toolCallId"], &all[0]["progress"]["toolCallId"]), (&json!("call"), &json!("call")));
    for (verdict, says) in [
        (verdict(Reason::Exited, Some(3), None, None), "status: exited 3"),
        (verdict(Reason::Cancelled, None, Some(15), None), "status: cancelled"),
        (verdict(Reason::Signalled, None, Some(11), None), "status: killed by signal 11"),
        (
            verdict(Reason::SetupFailed, None, None, Some("command not found: `x`")),
            "status: command not found: `x`",
        ),
    ] {
        let all = sent(Dialect::ToolProgress, &[event(1, EventKind::Exited(verdict))]);
        assert_eq!(all.iter().map(content).collect::<Vec<_>>(), [says]);
    }
}

#[test]
fn binary_output_is_named_once_and_not_sent() {
    let log = [
        started(),
        output(2, Stream::Stdout, b"\x7FELF\0\0"),
        output(3, Stream::Stdout, b"plain again"),
        output(4, Stream::Stderr, b"still text"),
        event(5, EventKind::Exited(verdict(Reason::Exited, Some(0), None, None))),
    ];
    let sent = sent(Dialect::ToolProgress, &log);
    let contents: Vec<_> = sent.iter().map(|json| json["progress"]["content"].as_str().unwrap()).collect();
    let named = "stdout is binary and is not shown; its bytes are kept";
    assert_eq!(contents, ["running", named, "still text", "exited 0"]);
}

fn logs() -> impl Strategy<Value = Vec<(bool, Vec<u8>)>> {
    let odd = prop_oneof![
        Just(0xF0),
        Just(0x9F),
        Just(0x98),
        Just(0x80),
        Just(0xE2),
        Just(0x82),
        Just(0xAC),
        Just(b'a')
    ];
    let short = proptest::collection::vec(odd, 1..9);
    let long = (4090usize..9000).prop_map(|length| "ä€b".bytes().cycle().take(length).collect());
    proptest::collection::vec((any::<bool>(), prop_oneof![8 => short, 1 => long]), 0..12)
}

fn endings() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(verdict(Reason::Exited, Some(0), None, None)),
        Just(verdict(Reason::TimedOut, None, Some(15), Some("timed out after 5 s"))),
    ]
}

/// A log in which each chunk is a record; neighbours of one stream come in one event where `joins` says so.
fn events(log: &[(bool, Vec<u8>)], ending: &Verdict, joins: &[bool], after: Seq) -> Vec<Event> {
    let mut events: Vec<Event> = vec![started()];
    let mut joins = joins.iter().copied().cycle();
    for (n, (is_error, bytes)) in log.iter().enumerate() {
        let (seq, stream) = (n as u64 + 2, if *is_error { Stream::Stderr } else { Stream::Stdout });
        let joined = joins.next().unwrap_or(false);
        if let Some(Event {
            seq: last, kind: EventKind::Output { stream: before, bytes: so_far, .. }, ..
        }) = events.last_mut()
            && joined
            && *before == stream
            && *last > after
        {
            *so_far = [&so_far[..], bytes].concat().into();
            *last = Seq(seq);
            continue;
        }
        events.push(output(seq, stream, bytes));
    }
    events.push(event(log.len() as u64 + 2, EventKind::Exited(ending.clone())));
    events.push(event(log.len() as u64 + 3, EventKind::Closed));
    events.retain(|event| event.seq > after);
    events
}

/// What a client has after these frames: how many of each type, and the text of each source.
fn sum(frames: &[Frame]) -> std::collections::BTreeMap<String, String> {
    let mut sum = std::collections::BTreeMap::<String, String>::new();
    for json in frames.iter().map(json_of) {
        let progress = json.get("progress").unwrap_or(&json);
        let source = progress.get("source").or_else(|| progress.get("type")).unwrap_or(&Value::Null);
        let text = ["stdout", "stderr", "content"].iter().find_map(|name| progress.get(name)?.as_str());
        *sum.entry(source.to_string()).or_default() += text.unwrap_or("|");
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_that_reconnects_after_any_frame_has_everything_once(
        log in logs(),
        ending in endings(),
        joins in proptest::collection::vec(any::<bool>(), 1..8),
        again in proptest::collection::vec(any::<bool>(), 1..8),
    ) {
        let subject = subject(StartSpec::shell("x"));
        for dialect in [Dialect::ToolCallsFlat, Dialect::ToolProgress] {
            let all = frames(dialect, &subject, &events(&log, &ending, &joins, Seq(0)), Position::default());
            let whole = sum(&all.iter().map(|(frame, _)| frame.clone()).collect::<Vec<_>>());
            for cut in 0..all.len() {
                let position = through_a_cursor(all[cut].1);
                // A reader that reconnects gets at least as much in one event as before: more has been written by then.
                let joins = match dialect {
                    // Whether output is text is decided for each event.
                    Dialect::ToolProgress => &joins,
                    _ if position.part > 0 => &vec![true],
                    _ => &again,
                };
                let rest = frames(dialect, &subject, &events(&log, &ending, joins, position.seq), position);
                let both = all[..=cut].iter().chain(&rest).map(|(frame, _)| frame.clone());
                let is_over = cut + 1 == all.len();
                let both: Vec<_> = if is_over { all.iter().map(|(frame, _)| frame.clone()).collect() } else { both.collect() };
                prop_assert_eq!(sum(&both), whole.clone(), "{:?} cut after frame {}", dialect, cut);
            }
        }
    }
}
