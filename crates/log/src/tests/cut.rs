//! An index cut at any byte, raw files cut short: what is left is delivered, the rest is repaired or reported.

use super::*;

/// Writes a log with two streams and gives back what is in it.
fn write(place: &Place, end: bool) -> [Vec<u8>; 3] {
    let (_, mut writer) = place.create(PLENTY);
    let mut written: [Vec<u8>; 3] = Default::default();
    writer.started(7, 1).unwrap();
    for i in 0..9_usize {
        let stream = if i % 3 == 1 { Stream::Stderr } else { Stream::Stdout };
        let bytes = pattern(written[stream_index(stream)].len() as u64, 10 + 37 * i);
        writer.append(stream, &bytes).unwrap();
        written[stream_index(stream)].extend(bytes);
    }
    if end {
        writer.exited(&verdict(), 1).unwrap();
        writer.closed(1).unwrap();
    }
    written
}

#[test]
fn an_index_cut_at_every_byte_keeps_earlier_records_and_all_bytes() {
    let place = Place::new();
    let written = write(&place, false);
    let index = place.read("index");
    let before = read_all(&Log::open(&place.dir).unwrap());
    for cut in 0..index.len() {
        place.write("index", &index[..cut]);
        let (log, writer) = place.recover(PLENTY);
        let mut follower = Follower::from_start();
        follower.take_all(&read_all(&log), &written);
        follower.check_end(&written);
        assert_eq!(follower.gap_bytes, 0);
        let whole = (cut / 64).saturating_sub(1);
        assert_eq!(place.read("index")[64..64 * (whole + 1).max(1)], index[64..64 * (whole + 1).max(1)]);
        assert_eq!(log.head().started.is_some(), whole >= 1);
        drop(writer);
    }
    place.write("index", &index);
    assert_eq!(read_all(&place.recover(PLENTY).0), before);
}

#[test]
fn an_index_cut_at_every_byte_can_be_opened_read_only() {
    let place = Place::new();
    let written = write(&place, true);
    let index = place.read("index");
    for cut in 64..index.len() {
        place.write("index", &index[..cut]);
        let log = Log::open(&place.dir).unwrap();
        assert_eq!(log.head().last_seq.0, cut as u64 / 64 - 1);
        let mut follower = Follower::from_start();
        follower.take_all(&read_all(&log), &written);
        assert_eq!(follower.gap_bytes, 0);
        assert_eq!(place.read("index").len(), cut, "reading changes nothing");
    }
}

#[test]
fn a_verdict_whose_record_is_whole_survives_the_cut_and_another_is_refused() {
    let place = Place::new();
    write(&place, true);
    let index = place.read("index");
    place.write("index", &index[..index.len() - 1]);
    let (log, mut writer) = place.recover(PLENTY);
    assert!(log.head().verdict.is_some() && !log.head().closed);
    assert_eq!(writer.exited(&verdict(), 0), Err(LogError::AlreadyExited));
    writer.closed(0).unwrap();
    assert_eq!(names(&read_all(&log)).iter().filter(|name| **name == "exited").count(), 1);
}

#[test]
fn bytes_that_came_without_a_record_get_one() {
    let place = Place::new();
    let mut written = write(&place, false);
    let extra = pattern(written[0].len() as u64, 3 << 20);
    written[0].extend(&extra);
    place.write("stdout", &written[0]);
    let (log, _writer) = place.recover(PLENTY);
    assert_eq!(bytes_of(&read_all(&log), Stream::Stdout), written[0]);
}

#[test]
fn a_raw_file_cut_at_any_offset_is_stated_as_a_gap_and_the_log_continues() {
    for end in [false, true] {
        for cut in [0, 1, 9, 10, 11, 100, 500] {
            let place = Place::new();
            let mut written = write(&place, end);
            place.write("stdout", &written[0][..cut]);
            let opened = Log::open(&place.dir).unwrap();
            let (log, mut writer) = place.recover(PLENTY);
            assert_eq!(read_all(&opened), read_all(&log));
            assert_eq!(log.head().closed, end);
            if !end {
                writer.append(Stream::Stdout, b"more").unwrap();
                written[0].extend(b"more");
            }
            let mut follower = Follower::from_start();
            follower.take_all(&read_all(&log), &written);
            follower.check_end(&written);
            assert!(follower.gap_bytes > 0);
            assert_eq!((follower.exited, follower.closed), (usize::from(end), usize::from(end)));
            // Having been stated once, it is stated for ever.
            drop((log, writer));
            let events = read_all(&place.recover(PLENTY).0);
            assert!(names(&events).contains(&"gap"), "{:?}", names(&events));
        }
    }
}

#[test]
fn an_index_cut_before_a_gap_continues_after_it() {
    let place = Place::new();
    let options = LogOptions::new(4096);
    let (log, mut writer) = place.create(options);
    let mut written: [Vec<u8>; 3] = Default::default();
    for _ in 0..100 {
        let bytes = pattern(written[0].len() as u64, 300);
        writer.append(Stream::Stdout, &bytes).unwrap();
        written[0].extend(bytes);
    }
    let trim = log.state.borrow().view.trim.unwrap();
    drop((log, writer));
    let index = place.read("index");
    for records in [0, 1, trim.head.seq, trim.head.seq + 1, trim.tail.seq, trim.tail.seq + 1] {
        place.write("index", &index[..64 * (1 + usize::try_from(records).unwrap())]);
        let (log, mut writer) = place.recover(options);
        let mut follower = Follower::from_start();
        follower.take_all(&read_all(&log), &written);
        follower.check_end(&written);
        writer.append(Stream::Stderr, b"on").unwrap();
        written[1].extend(b"on");
    }
}
