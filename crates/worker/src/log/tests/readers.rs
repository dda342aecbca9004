//! Readers: batches, positions, filters, tails.

use super::*;

fn options(max_bytes: usize) -> ReaderOptions {
    ReaderOptions { max_bytes, ..ReaderOptions::default() }
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
fn a_reader_of_the_tail_is_told_what_it_skips_and_still_sees_start_and_verdict() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut written: [Vec<u8>; 3] = Default::default();
    writer.started(1, 1).unwrap();
    let mut add = |writer: &mut Writer, stream: Stream| {
        let bytes = pattern(written[slot(stream)].len() as u64, 100);
        writer.append(stream, &bytes).unwrap();
        written[slot(stream)].extend(bytes);
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
    assert_eq!(follower.output_bytes, 300, "whole records, at least as much as asked for");
    // Resuming after any of these events tells the rest of the same story.
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
fn a_position_that_is_not_there_yet_is_waited_for() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut reader = log.reader(Seq(2), ReaderOptions { tail: Some(1), ..options(1) });
    assert_eq!(reader.try_next(), Ok(None));
    for _ in 0..3 {
        writer.append(Stream::Stdout, b"x").unwrap();
    }
    assert_eq!(reader.try_next().unwrap().unwrap().seq, Seq(3));
}
