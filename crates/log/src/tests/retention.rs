//! Retention: a beginning and an end are kept, the gap is exact, the disk is given back.

use super::*;

const LIMIT: u64 = 64 << 10;
const SMALL: LogOptions = LogOptions::new(LIMIT);

fn flood(writer: &mut Writer, written: &mut [Vec<u8>; 3], stream: Stream, chunk: usize, times: usize) {
    for _ in 0..times {
        let bytes = pattern(written[stream_index(stream)].len() as u64, chunk);
        writer.append(stream, &bytes).unwrap();
        written[stream_index(stream)].extend(bytes);
    }
}

#[test]
fn the_beginning_and_the_end_are_kept_and_the_gap_is_exact() {
    let place = Place::new();
    let (log, mut writer) = place.create(SMALL);
    let mut written: [Vec<u8>; 3] = Default::default();
    writer.started(1, 1).unwrap();
    for _ in 0..300 {
        flood(&mut writer, &mut written, Stream::Stdout, 1500, 1);
        flood(&mut writer, &mut written, Stream::Stderr, 700, 2);
    }
    for log in [&log, &Log::open(&place.dir).unwrap()] {
        let events = read_all(log);
        let mut follower = Follower::from_start();
        follower.take_all(&events, &written);
        follower.check_end(&written);
        assert_eq!(names(&events).iter().filter(|name| **name == "gap").count(), 2);
        assert_eq!(follower.gap_bytes + follower.output_bytes, log.head().ends.total());
        assert!(follower.output_bytes <= LIMIT + LIMIT / 16);
        assert!(follower.output_bytes > LIMIT * 8 / 10, "{}", follower.output_bytes);
    }
    assert_eq!(writer.retention_error(), None);
    assert!(place.disk_use() < LIMIT * 2, "{}", place.disk_use());
}

#[test]
fn a_program_that_prints_single_bytes_fills_neither_log_nor_index() {
    let place = Place::new();
    let (log, mut writer) = place.create(SMALL);
    let mut written: [Vec<u8>; 3] = Default::default();
    flood(&mut writer, &mut written, Stream::Output, 1, 20_000);
    let mut follower = Follower::from_start();
    follower.take_all(&read_all(&log), &written);
    follower.check_end(&written);
    assert!(follower.output_bytes * 65 <= LIMIT + LIMIT / 16);
    assert!(place.disk_use() < LIMIT * 3, "{}", place.disk_use());
}

#[test]
fn a_verdict_inside_the_gap_is_still_delivered_once_and_at_its_place() {
    let place = Place::new();
    let (log, mut writer) = place.create(SMALL);
    let mut written: [Vec<u8>; 3] = Default::default();
    flood(&mut writer, &mut written, Stream::Stdout, 1000, 100);
    writer.exited(&verdict(), 1).unwrap();
    let exited = log.head().last_seq;
    flood(&mut writer, &mut written, Stream::Stdout, 1, 3000);
    flood(&mut writer, &mut written, Stream::Stdout, 1000, 200);
    drop((log, writer));
    let (log, _writer) = place.recover(SMALL);
    assert_eq!(log.head().verdict.unwrap().stdout_bytes, 100_000);
    let events = read_all(&log);
    let mut follower = Follower::from_start();
    follower.take_all(&events, &written);
    follower.check_end(&written);
    assert_eq!(names(&events).iter().filter(|name| **name == "exited").count(), 1);
    let place_of = |name| names(&events).iter().position(|other| *other == name).unwrap();
    let EventKind::Gap { to_byte, .. } = events[place_of("gap")].kind else { panic!() };
    assert_eq!((to_byte, events[place_of("exited")].seq), (100_000, exited));
    let after = drain(&mut log.reader(exited, ReaderOptions::default()));
    assert!(matches!(after[0].kind, EventKind::Gap { from_byte: 100_000, .. }), "{:?}", after[0]);
}

#[test]
fn an_overtaken_reader_gets_the_exact_gap() {
    let place = Place::new();
    let (log, mut writer) = place.create(SMALL);
    let mut written: [Vec<u8>; 3] = Default::default();
    let mut reader = log.reader(Seq(0), ReaderOptions { max_bytes: 1, ..ReaderOptions::default() });
    let mut follower = Follower::from_start();
    for _ in 0..50 {
        flood(&mut writer, &mut written, Stream::Stdout, 1000, 30);
        for _ in 0..5 {
            follower.take(&reader.try_next().unwrap().unwrap(), &written);
        }
    }
    follower.take_all(&drain(&mut reader), &written);
    follower.check_end(&written);
    assert!(follower.gap_bytes > 0);
    assert_eq!(follower.gap_bytes + follower.output_bytes, written[0].len() as u64);
}

#[test]
fn resuming_anywhere_in_a_trimmed_log_reaches_the_end_without_a_silent_loss() {
    let place = Place::new();
    let (log, mut writer) = place.create(LogOptions::new(8192));
    let mut written: [Vec<u8>; 3] = Default::default();
    for _ in 0..40 {
        flood(&mut writer, &mut written, Stream::Stdout, 333, 2);
        flood(&mut writer, &mut written, Stream::Stderr, 99, 1);
    }
    writer.exited(&verdict(), 1).unwrap();
    writer.closed(1).unwrap();
    for after in 0..=log.head().last_seq.0 {
        let mut follower = Follower { seq: after, resumed: true, ..Follower::default() };
        let events = drain(&mut log.reader(Seq(after), ReaderOptions::default()));
        follower.take_all(&events, &written);
        follower.check_end(&written);
        let trim = log.state.borrow().view.trim.unwrap();
        assert_eq!(follower.gap_bytes > 0, after < trim.tail.seq);
    }
}

#[test]
fn a_limit_that_was_lowered_between_two_workers_is_kept_by_the_second() {
    let place = Place::new();
    let (_, mut writer) = place.create(PLENTY);
    let mut written: [Vec<u8>; 3] = Default::default();
    flood(&mut writer, &mut written, Stream::Stdout, 100_000, 10);
    drop(writer);
    let (log, mut writer) = place.recover(SMALL);
    flood(&mut writer, &mut written, Stream::Stdout, 1000, 100);
    let mut follower = Follower::from_start();
    follower.take_all(&read_all(&log), &written);
    follower.check_end(&written);
    assert!(follower.output_bytes <= LIMIT + LIMIT / 16);
}
