//! Lossless readers: the writer waits for them, and lets go of them when they leave or are too slow.

use std::time::Duration;

use tokio::time::{Instant, advance};

use super::*;

const LIMIT: u64 = 64 << 10;
/// What stays behind a reader here: half of the limit.
const LAG: u64 = LIMIT / 2;

fn options() -> LogOptions {
    LogOptions {
        lossless: LosslessOptions { min_lag: 512, ..LosslessOptions::DEFAULT },
        ..LogOptions::new(LIMIT)
    }
}

/// Writes until the log is full; at most this many bytes.
fn fill(writer: &mut Writer, most: usize) -> usize {
    let mut written = 0;
    while !writer.is_full() && written < most {
        writer.append(Stream::Stdout, &pattern(writer.total(), 1000)).unwrap();
        written += 1000;
    }
    written
}

fn lossless(log: &Arc<Log>, after: Seq) -> Reader {
    log.lossless_reader(after, ReaderOptions { max_bytes: 1000, ..ReaderOptions::default() }).unwrap()
}

/// Reads this many events; returns the last seq.
fn read(reader: &mut Reader, events: usize) -> Seq {
    let events: Vec<_> = std::iter::from_fn(|| reader.try_next().unwrap()).take(events).collect();
    assert!(events.iter().all(|event| !matches!(event.kind, EventKind::Gap { .. })), "a gap");
    events.last().unwrap().seq
}

#[tokio::test(start_paused = true)]
async fn a_full_log_accepts_output_again_only_after_the_reader_has_read_on() {
    let place = Place::new();
    let (log, mut writer) = place.create(options());
    let mut reader = lossless(&log, Seq(0));
    let written = fill(&mut writer, 1 << 20);
    assert!(writer.is_full() && (written as u64) < LIMIT + LAG + LIMIT / 8, "{written}");
    writer.update_room();
    assert!(writer.is_full(), "nothing was read");
    let mut all = drain(&mut reader);
    // Another 10 MB pass through, a few KB at a time.
    while writer.total() < 10 << 20 {
        writer.room().await;
        writer.update_room();
        assert!(!writer.is_full(), "everything was read");
        fill(&mut writer, 1 << 20);
        all.extend(drain(&mut reader));
    }
    let bytes = bytes_of(&all, Stream::Stdout);
    assert!(bytes == pattern(0, bytes.len()) && bytes.len() as u64 == writer.total());
    assert!(place.disk_use() < 4 * LIMIT, "{}", place.disk_use());
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_one_stream_does_not_hold_what_it_does_not_read() {
    let place = Place::new();
    let (log, mut writer) = place.create(options());
    let streams = Streams::only(Stream::Stderr);
    let options = ReaderOptions { streams, ..ReaderOptions::default() };
    let mut reader = log.lossless_reader(Seq(0), options).unwrap();
    for _ in 0..20 {
        assert!(fill(&mut writer, 50_000) > 0);
        assert!(reader.try_next().unwrap().is_none());
        writer.update_room();
        assert!(!writer.is_full());
    }
}

#[tokio::test(start_paused = true)]
async fn the_position_of_a_reader_that_left_is_kept_for_the_grace_and_no_longer() {
    let place = Place::new();
    let (log, mut writer) = place.create(options());
    let mut reader = lossless(&log, Seq(0));
    fill(&mut writer, 1 << 20);
    let seq = read(&mut reader, 5);
    drop(reader);
    writer.update_room();
    assert!(writer.is_full(), "its place is kept");
    // It comes back, and nothing is missing.
    let mut reader = lossless(&log, seq);
    read(&mut reader, 5);
    drop(reader);
    let left = Instant::now();
    while writer.is_full() {
        writer.room().await;
        writer.update_room();
    }
    assert_eq!(left.elapsed(), LosslessOptions::DEFAULT.grace);
    fill(&mut writer, 1 << 20);
    assert!(!writer.is_full() && log.state.borrow().view.trim.is_some(), "nobody is waited for");
}

#[tokio::test(start_paused = true)]
async fn a_log_that_expects_a_reader_drops_nothing_before_it_arrives() {
    for expects_reader in [true, false] {
        let place = Place::new();
        let (log, mut writer) = place.create(LogOptions { expects_reader, ..options() });
        fill(&mut writer, 1 << 20);
        assert_eq!(writer.is_full(), expects_reader);
        let first = lossless(&log, Seq(0)).try_next().unwrap().unwrap();
        let is_whole = matches!(first.kind, EventKind::Output { offset: 0, .. });
        assert!(is_whole);
        assert_eq!(log.state.borrow().view.trim.is_none(), expects_reader);
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_everything_for_the_readers_that_were_there() {
    for had_reader in [true, false] {
        let place = Place::new();
        let (log, mut writer) = place.create(options());
        let reader = had_reader.then(|| lossless(&log, Seq(0)));
        fill(&mut writer, 32_000);
        drop((reader, writer, log));
        let (log, mut writer) = place.recover(options());
        fill(&mut writer, 1 << 20);
        assert_eq!(writer.is_full(), had_reader);
        if had_reader {
            let all = drain(&mut lossless(&log, Seq(0)));
            assert_eq!(bytes_of(&all, Stream::Stdout).len() as u64, writer.total());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_reads_nothing_for_too_long_is_dropped_with_a_fault() {
    let place = Place::new();
    let (log, mut writer) = place.create(options());
    let mut stuck = lossless(&log, Seq(0));
    fill(&mut writer, 1 << 20);
    let mut since = Instant::now();
    // As long as it reads now and then, it is waited for.
    for _ in 0..3 {
        advance(LosslessOptions::DEFAULT.stall_timeout.saturating_sub(Duration::from_secs(1))).await;
        read(&mut stuck, 1);
        writer.update_room();
        assert!(writer.is_full());
        since = Instant::now();
    }
    while writer.is_full() {
        writer.room().await;
        writer.update_room();
    }
    assert_eq!(since.elapsed(), LosslessOptions::DEFAULT.stall_timeout);
    assert_eq!(stuck.try_next(), Err(LogError::TooSlow));
    drop(stuck);
    fill(&mut writer, 1 << 20);
    assert!(!writer.is_full(), "one that was let go leaves no place");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_back_without_reading_gets_no_more_time() {
    let place = Place::new();
    let (log, mut writer) = place.create(options());
    let mut reader = lossless(&log, Seq(0));
    let seq = read_after_fill(&mut reader, &mut writer);
    let since = Instant::now();
    while writer.is_full() {
        drop(reader);
        reader = lossless(&log, seq);
        advance(Duration::from_secs(5)).await;
        writer.room().await;
        writer.update_room();
        assert!(since.elapsed() <= LosslessOptions::DEFAULT.stall_timeout + Duration::from_secs(5));
    }
}

fn read_after_fill(reader: &mut Reader, writer: &mut Writer) -> Seq {
    fill(writer, 1 << 20);
    let seq = read(reader, 1);
    writer.update_room();
    assert!(writer.is_full());
    seq
}

#[tokio::test(start_paused = true)]
async fn the_number_of_lossless_readers_is_bounded() {
    let place = Place::new();
    let (log, _writer) = place.create(options());
    let mut readers: Vec<_> = (0..16).map(|_| lossless(&log, Seq(0))).collect();
    let more = || log.lossless_reader(Seq(0), ReaderOptions::default()).err();
    assert_eq!(more(), Some(LogError::TooManyReaders));
    readers.pop();
    assert_eq!(more(), None);
}
