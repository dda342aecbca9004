//! Readers: batches, positions, filters, tails.

use std::time::Duration;

use super::*;

fn options(max_bytes: usize) -> ReaderOptions {
    ReaderOptions { max_bytes, ..ReaderOptions::default() }
}

/// The bytes of one stream that came, whatever is missing before them.
fn output_of(events: &[Event], wanted: Stream) -> Vec<u8> {
    let bytes = events.iter().filter_map(|event| match &event.kind {
        EventKind::Output { stream, bytes, .. } if *stream == wanted => Some(bytes.to_vec()),
        _ => None,
    });
    bytes.flatten().collect()
}

#[test]
fn records_of_a_stream_come_together_up_to_the_wanted_size_and_resume_is_exact() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    for i in 0..300 {
        writer.append(Stream::Stdout, &pattern(i * 10, 10)).unwrap();
    }
    let sizes = |events: &[Event]| -> Vec<u64> { events.iter().map(|event| event.seq.0).collect() };
    assert_eq!(sizes(&drain(&mut log.reader(Seq(0), options(1 << 20)))), [300]);
    assert_eq!(sizes(&drain(&mut log.reader(Seq(0), options(1000)))), [100, 200, 300]);
    assert_eq!(sizes(&drain(&mut log.reader(Seq(297), options(1)))), [298, 299, 300]);
    let all = pattern(0, 3000);
    for after in 0..=300 {
        let mut at = after * 10;
        for event in drain(&mut log.reader(Seq(after), options(77))) {
            let EventKind::Output { offset, bytes, .. } = event.kind else { panic!() };
            assert_eq!(offset, at);
            assert_eq!(bytes, all[usize::try_from(at).unwrap()..][..bytes.len()]);
            at += bytes.len() as u64;
        }
        assert_eq!(at, 3000);
    }
}

#[test]
fn output_that_was_written_later_comes_in_an_event_of_its_own() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    for _ in 0..3 {
        writer.append(Stream::Stdout, b"line").unwrap();
    }
    let count = |max_join| {
        drain(&mut log.reader(Seq(0), ReaderOptions { max_join, ..ReaderOptions::default() })).len()
    };
    assert_eq!((count(Duration::ZERO), count(Duration::MAX)), (3, 1));
}

#[test]
fn a_filter_hides_other_streams_and_joins_what_they_had_divided() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.started(1, 1).unwrap();
    for _ in 0..50 {
        writer.append(Stream::Stdout, b"o").unwrap();
        writer.append(Stream::Stderr, b"e").unwrap();
    }
    writer.exited(&verdict(), 1).unwrap();
    let filter = |streams| ReaderOptions { streams, ..ReaderOptions::default() };
    let out = drain(&mut log.reader(Seq(0), filter(Streams::only(Stream::Stdout))));
    assert_eq!(names(&out), ["started", "stdout", "exited"]);
    assert_eq!(bytes_of(&out, Stream::Stdout), [b'o'; 50]);
    assert_eq!(out[1].seq, Seq(100), "its own last record");
    let none = drain(&mut log.reader(Seq(0), filter(Streams::NONE)));
    assert_eq!(names(&none), ["started", "exited"]);
    assert_eq!(read_all(&log).len(), 102);
}

#[test]
fn a_reader_of_the_tail_gets_the_gap_the_start_and_the_verdict() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut written: [Vec<u8>; 3] = Default::default();
    writer.started(1, 1).unwrap();
    let mut add = |writer: &mut Writer, stream: Stream| {
        let bytes = pattern(written[stream_index(stream)].len() as u64, 100);
        writer.append(stream, &bytes).unwrap();
        written[stream_index(stream)].extend(bytes);
    };
    for _ in 0..20 {
        add(&mut writer, Stream::Stdout);
        add(&mut writer, Stream::Stderr);
    }
    writer.exited(&verdict(), 1).unwrap();
    for _ in 0..10 {
        add(&mut writer, Stream::Stdout);
    }
    let tail = |tail| ReaderOptions { tail: Some(tail), ..ReaderOptions::default() };
    let events = drain(&mut log.reader(Seq(0), tail(250)));
    assert_eq!(names(&events), ["started", "gap", "gap", "exited", "gap", "stdout"]);
    let mut follower = Follower::from_start();
    follower.take_all(&events, &written);
    follower.check_end(&written);
    assert!(
        (247..=250).contains(&follower.output_bytes),
        "as much as asked for, from where a character begins"
    );
    // Resuming after any of these events delivers the rest of the same events.
    for (i, event) in events.iter().enumerate() {
        let mut again = Follower { at: [None; 3], seq: event.seq.0, ..Follower::default() };
        let rest = drain(&mut log.reader(event.seq, tail(250)));
        again.take_all(&rest, &written);
        again.check_end(&written);
        assert!(rest.len() >= events.len() - i - 1);
    }
    let all = drain(&mut log.reader(Seq(0), tail(1 << 30)));
    assert!(!names(&all).contains(&"gap"), "everything is within that tail");
    let none = drain(&mut log.reader(Seq(0), tail(0)));
    assert_eq!(names(&none), ["started", "gap", "gap", "exited", "gap"]);
}

#[test]
fn a_tail_begins_inside_a_large_chunk_and_reading_it_again_returns_the_whole_chunk() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.started(1, 1).unwrap();
    writer.append(Stream::Stderr, b"hidden").unwrap();
    writer.append(Stream::Stdout, &vec![b'a'; 100_000]).unwrap();
    writer.append(Stream::Stdout, b"0123456789").unwrap();
    let tail = |tail, streams| ReaderOptions { tail: Some(tail), streams, ..options(1) };
    let stdout = Streams::only(Stream::Stdout);
    let events = drain(&mut log.reader(Seq(0), tail(12, stdout)));
    assert_eq!(names(&events), ["started", "gap", "stdout", "stdout"]);
    assert_eq!(
        (events[1].seq, &events[1].kind),
        (Seq(2), &EventKind::Gap { stream: Stream::Stdout, from_byte: 0, to_byte: 99_998 })
    );
    assert_eq!(output_of(&events, Stream::Stdout), b"aa0123456789");
    let EventKind::Output { offset, .. } = events[2].kind else { panic!() };
    assert_eq!((events[2].seq, offset), (Seq(3), 99_998));
    // After its seq all goes on; before it, without a tail, the whole of it comes.
    assert_eq!(output_of(&drain(&mut log.reader(Seq(3), options(1))), Stream::Stdout), b"0123456789");
    assert_eq!(output_of(&drain(&mut log.reader(events[1].seq, options(1))), Stream::Stdout).len(), 100_010);
    // A reader right before it skips nothing else; a reader that wants everything skips nothing.
    let rest = drain(&mut log.reader(Seq(3), tail(4, stdout)));
    assert_eq!((names(&rest), rest[0].seq), (vec!["gap", "stdout"], Seq(3)));
    assert_eq!(output_of(&rest, Stream::Stdout), b"6789");
    assert_eq!(names(&drain(&mut log.reader(Seq(3), tail(10, stdout)))), ["stdout"]);
    let both = drain(&mut log.reader(Seq(0), tail(100_012, Streams::ALL)));
    assert_eq!(names(&both), ["started", "gap", "stderr", "stdout", "stdout"]);
    assert_eq!(output_of(&both, Stream::Stderr), b"en");
}

#[test]
fn a_tail_divides_no_character() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.append(Stream::Output, "x€€€".as_bytes()).unwrap();
    for (tail, expected) in [(3, "€"), (4, "€"), (5, "€"), (6, "€€"), (9, "€€€"), (10, "x€€€")]
    {
        let options = ReaderOptions { tail: Some(tail), ..ReaderOptions::default() };
        let events = drain(&mut log.reader(Seq(0), options));
        assert_eq!(output_of(&events, Stream::Output), expected.as_bytes(), "{tail}");
        if let EventKind::Gap { to_byte, .. } = events[0].kind {
            assert_eq!(to_byte, 10 - expected.len() as u64);
        }
    }
    writer.append(Stream::Output, &[0xBF; 10]).unwrap();
    let options = ReaderOptions { tail: Some(5), ..ReaderOptions::default() };
    let events = drain(&mut log.reader(Seq(0), options));
    assert_eq!(
        output_of(&events, Stream::Output),
        [0xBF; 2],
        "bytes that are not text lose at most three more"
    );
}

#[test]
fn an_overtaken_reader_of_a_tail_gets_a_gap_and_nothing_twice() {
    let place = Place::new();
    let (log, mut writer) = place.create(LogOptions::new(8192));
    writer.append(Stream::Stdout, &[b'a'; 1000]).unwrap();
    let mut reader = log.reader(Seq(0), ReaderOptions { tail: Some(10), ..options(1) });
    let gap = |from_byte, to_byte| EventKind::Gap { stream: Stream::Stdout, from_byte, to_byte };
    assert_eq!(reader.try_next().unwrap().unwrap().kind, gap(0, 990));
    reader.options.tail = None;
    for _ in 0..100 {
        writer.append(Stream::Stdout, &[b'b'; 500]).unwrap();
    }
    let events = drain(&mut reader);
    assert_eq!(output_of(&events[..1], Stream::Stdout), [b'a'; 10], "it is of the head, which is kept");
    let mut late =
        log.reader(Seq(log.state.borrow().view.last.seq), ReaderOptions { tail: Some(10), ..options(1) });
    writer.append(Stream::Stdout, &[b'c'; 500]).unwrap();
    let before = 51_000;
    assert_eq!(late.try_next().unwrap().unwrap().kind, gap(before, before + 490));
    for _ in 0..100 {
        writer.append(Stream::Stdout, &[b'd'; 500]).unwrap();
    }
    late.options.tail = None;
    let EventKind::Gap { from_byte, .. } = late.try_next().unwrap().unwrap().kind else { panic!() };
    assert_eq!(from_byte, before + 490, "the first byte that was not stated yet");
}

#[test]
fn a_reader_that_lags_can_skip_ahead() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut reader = log.reader(Seq(0), ReaderOptions { tail: Some(50), ..options(1) });
    writer.append(Stream::Stdout, &pattern(0, 10)).unwrap();
    assert_eq!(drain(&mut reader).len(), 1);
    for i in 1..100 {
        writer.append(Stream::Stdout, &pattern(i * 10, 10)).unwrap();
    }
    reader.skip_to_tail().unwrap();
    reader.skip_to_tail().unwrap();
    let events = drain(&mut reader);
    let gap = EventKind::Gap { stream: Stream::Stdout, from_byte: 10, to_byte: 950 };
    assert_eq!(events[0].kind, gap);
    assert_eq!(events[0].seq, Seq(95));
    assert_eq!(events.len(), 6);
}

#[test]
fn a_reader_waits_for_a_position_that_is_not_written_yet() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut reader = log.reader(Seq(2), ReaderOptions { tail: Some(1), ..options(1) });
    assert_eq!(reader.try_next(), Ok(None));
    for _ in 0..3 {
        writer.append(Stream::Stdout, b"x").unwrap();
    }
    assert_eq!(reader.try_next().unwrap().unwrap().seq, Seq(3));
}
