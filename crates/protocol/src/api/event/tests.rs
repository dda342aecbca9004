//! Tests of the JSON of events.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn output(seq: u64, stream: Stream, bytes: &[u8]) -> Event {
    event(seq, EventKind::Output { stream, offset: 7, bytes: bytes.to_vec().into() })
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq: Seq(seq), at_ms: 5, kind }
}

fn views(views: &mut EventViews, event: Event) -> Vec<Value> {
    views.push(event).map(|event| value(&event)).collect()
}

fn value(event: &Event) -> Value {
    let mut json = Vec::new();
    write_event(event, &mut json);
    serde_json::from_slice(&json).unwrap()
}

fn verdict() -> Verdict {
    Verdict {
        signal: Some(15),
        detail: Some(ExitDetail::TimedOut { after_ms: 2 }),
        duration_ms: 3,
        usage: Usage { cpu_ms: 1, max_rss_bytes: 2 },
        stdout_bytes: 4,
        ..Verdict::new(Reason::TimedOut)
    }
}

#[test]
fn output_is_text_where_it_is_text_and_base64_where_not() {
    let text = value(&output(2, Stream::Stdout, "a\n€".as_bytes()));
    assert_eq!(text, json!({"type": "stdout", "seq": 2, "at_ms": 5, "offset": 7, "text": "a\n€"}));
    let raw = value(&output(3, Stream::Stderr, &[0xFF, b'a']));
    assert_eq!(raw, json!({"type": "stderr", "seq": 3, "at_ms": 5, "offset": 7, "base64": "/2E="}));
    assert_eq!(value(&output(4, Stream::Stdout, b"a\0"))["base64"], "YQA=", "a zero byte is no text");
}

#[test]
fn a_character_cut_in_two_comes_whole_with_the_later_seq() {
    let mut cut = EventViews::default();
    assert!(views(&mut cut, output(2, Stream::Output, &[b'a', 0xE2, 0x82])).is_empty());
    assert!(cut.holds());
    let whole = views(&mut cut, output(3, Stream::Output, &[0xAC, b'b']));
    assert_eq!(whole, [json!({"type": "output", "seq": 3, "at_ms": 5, "offset": 7, "text": "a€b"})]);
    assert!(!cut.holds());
}

#[test]
fn no_event_overtakes_bytes_that_are_held_back() {
    let mut cut = EventViews::default();
    views(&mut cut, output(2, Stream::Stdout, &[0xE2]));
    let both = views(&mut cut, output(3, Stream::Stderr, b"x"));
    assert_eq!(
        (&both[0]["seq"], &both[0]["base64"], &both[1]["seq"]),
        (&json!(2), &json!("4g=="), &json!(3))
    );
    views(&mut cut, output(4, Stream::Stdout, &[0xE2]));
    let both = views(&mut cut, event(5, EventKind::Closed));
    assert_eq!((&both[0]["seq"], &both[1]["type"]), (&json!(4), &json!("closed")));
    views(&mut cut, output(6, Stream::Stdout, &[0xE2]));
    assert_eq!(value(&cut.flush().unwrap())["base64"], "4g==");
}

#[test]
fn every_other_event_has_the_fields_of_the_native_api() {
    let id = ExecutionId::random();
    let started = value(&event(1, EventKind::Started { execution_id: id, pid: 7 }));
    let expected = json!({"type": "started", "seq": 1, "at_ms": 5, "execution_id": id.to_string(), "pid": 7});
    assert_eq!(started, expected);
    let gap = value(&event(2, EventKind::Gap { stream: Stream::Stdout, from_byte: 1, to_byte: 9 }));
    let expected =
        json!({"type": "gap", "seq": 2, "at_ms": 5, "stream": "stdout", "from_byte": 1, "to_byte": 9});
    assert_eq!(gap, expected);
    let exited = value(&event(3, EventKind::Exited(verdict())));
    assert_eq!(
        (&exited["type"], &exited["reason"], &exited["signal"]),
        (&json!("exited"), &json!("timed_out"), &json!(15))
    );
    assert_eq!(exited["usage"], json!({"cpu_ms": 1, "max_rss_bytes": 2}));
    assert_eq!(exited["detail"], json!({"kind": "timed_out", "after_ms": 2}));
}

#[test]
fn every_event_reads_back_as_it_was_written_and_as_its_schema_says() {
    let all = [
        event(1, EventKind::Started { execution_id: ExecutionId::random(), pid: 7 }),
        output(2, Stream::Stdout, b"text \"quoted\"\n"),
        output(3, Stream::Output, &[0, 0xFF]),
        event(4, EventKind::Gap { stream: Stream::Stderr, from_byte: 1, to_byte: 9 }),
        event(5, EventKind::Exited(verdict())),
        event(6, EventKind::Closed),
    ];
    for event in all {
        let mut json = Vec::new();
        write_event(&event, &mut json);
        assert_eq!(read_event(&json).unwrap(), event);
        let body: EventBody = serde_json::from_slice(&json).unwrap();
        assert_eq!(serde_json::to_value(body).unwrap(), value(&event));
    }
}

#[test]
fn an_invalid_event_is_refused() {
    for json in ["", "{}", r#"{"type":"odd","seq":1,"at_ms":1}"#, r#"{"type":"stdout","seq":1,"at_ms":1}"#] {
        assert!(read_event(json.as_bytes()).is_err(), "{json}");
    }
}

proptest! {
    #[test]
    fn the_views_of_a_stream_are_its_bytes_whatever_the_chunks(
        chunks in proptest::collection::vec(
            (0..2usize, proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xE2), Just(0x82), Just(0xAC), Just(b'a')], 0..6)),
            0..40,
        ),
    ) {
        let mut cut = EventViews::default();
        let (mut seen, mut sent) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut last = 0;
        let events: Vec<Event> = chunks.iter().zip(1..).map(|((stream, bytes), seq)| {
            sent[*stream].extend_from_slice(bytes);
            output(seq, Stream::ALL[*stream], bytes)
        }).collect();
        let mut out: Vec<Event> = events.into_iter().flat_map(|event| cut.push(event).collect::<Vec<_>>()).collect();
        out.extend(cut.flush());
        for event in out {
            prop_assert!(event.seq.0 > last);
            last = event.seq.0;
            if let EventKind::Output { stream, bytes, .. } = event.kind {
                seen[stream as usize - 1].extend_from_slice(&bytes);
            }
        }
        prop_assert_eq!(seen, sent);
    }
}
