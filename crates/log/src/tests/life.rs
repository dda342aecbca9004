//! The life of a log: its events, their order, and what it refuses.

use super::*;

#[test]
fn a_log_has_the_events_of_an_execution_in_order() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.started(42, 1_000_000).unwrap();
    writer.append(Stream::Stdout, b"hello ").unwrap();
    writer.append(Stream::Stdout, b"world").unwrap();
    writer.append(Stream::Stderr, b"oh").unwrap();
    writer.exited(&verdict(), 0).unwrap();
    writer.append(Stream::Stdout, b" late").unwrap();
    writer.closed(0).unwrap();
    let events = read_all(&log);
    assert_eq!(names(&events), ["started", "stdout", "stderr", "exited", "stdout", "closed"]);
    let seqs: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [1, 3, 4, 5, 6, 7]);
    assert_eq!(events[0].kind, EventKind::Started { execution_id: place.id, pid: 42 });
    assert_eq!(bytes_of(&events, Stream::Stdout), b"hello world late");
    let expected = Verdict { stdout_bytes: 11, stderr_bytes: 2, ..verdict() };
    assert_eq!(events[3].kind, EventKind::Exited(expected.clone()));
    assert!(events.is_sorted_by_key(|event| event.at_ms), "a clock that was set back does not show");
    let head = log.head();
    assert_eq!(head.last_seq, Seq(7));
    assert_eq!(head.ends.of(Stream::Stdout), 16);
    assert_eq!(head.started, Some(Started { pid: 42, at_us: 1_000_000 }));
    assert_eq!(head.verdict.as_deref(), Some(&expected));
    assert!(head.closed);
}

#[test]
fn a_closed_log_is_the_same_when_opened_again_and_when_recovered() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.started(42, 1_000_000).unwrap();
    writer.append(Stream::Output, b"x").unwrap();
    let spoken = Verdict {
        reason: Reason::SetupFailed,
        code: None,
        signal: Some(9),
        message: Some("no such command: `fröbel`".to_owned()),
        detail: Some(ExitDetail::command_not_found("fröbel")),
        ..verdict()
    };
    writer.exited(&spoken, 0).unwrap();
    writer.closed(0).unwrap();
    let (events, head) = (read_all(&log), log.head());
    drop((log, writer));
    let opened = Log::open(&place.dir).unwrap();
    assert_eq!(opened.id(), place.id);
    assert_eq!(read_all(&opened), events);
    assert_eq!(opened.head(), head);
    let verdict = head.verdict.unwrap();
    assert_eq!((&verdict.message, &verdict.detail), (&spoken.message, &spoken.detail));
    let (recovered, mut writer) = place.recover(PLENTY);
    assert_eq!(read_all(&recovered), events);
    assert_eq!(writer.append(Stream::Output, b"more"), Err(LogError::Closed));
}

#[test]
fn records_out_of_order_are_refused() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    assert_eq!(writer.closed(0), Err(LogError::NotExited));
    writer.append(Stream::Stdout, b"x").unwrap();
    assert_eq!(writer.started(1, 0), Err(LogError::NotFirst));
    writer.exited(&verdict(), 0).unwrap();
    assert_eq!(writer.exited(&verdict(), 0), Err(LogError::AlreadyExited));
    writer.closed(0).unwrap();
    assert_eq!(writer.closed(0), Err(LogError::Closed));
    assert_eq!(writer.exited(&verdict(), 0), Err(LogError::Closed));
    let (end, _other) = pipe();
    assert_eq!(writer.splice(Stream::Stdout, std::os::fd::AsFd::as_fd(&end), 1), Err(LogError::Closed));
    assert_eq!(names(&read_all(&log)), ["stdout", "exited", "closed"]);
}

#[test]
fn two_logs_do_not_share_a_folder() {
    let place = Place::new();
    let _first = place.create(PLENTY);
    let error = Log::create(&place.dir, ExecutionId::random(), PLENTY).unwrap_err();
    assert!(matches!(error, LogError::Io { action: "create", .. }), "{error:?}");
}

#[test]
fn a_stream_that_was_never_written_to_has_no_file() {
    let place = Place::new();
    let (_log, mut writer) = place.create(PLENTY);
    let (read, write) = pipe();
    let fd = std::os::fd::AsFd::as_fd(&read);
    assert_eq!(writer.splice(Stream::Stderr, fd, 100), Ok(Taken::Empty));
    drop(write);
    assert_eq!(writer.splice(Stream::Stderr, fd, 100), Ok(Taken::End));
    let files: Vec<_> =
        std::fs::read_dir(&place.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["index"]);
}

#[test]
fn a_detail_that_is_missing_or_damaged_costs_only_itself() {
    let place = Place::new();
    let (_, mut writer) = place.create(PLENTY);
    let spoken = Verdict { detail: Some(ExitDetail::NoResources), ..verdict() };
    writer.exited(&spoken, 0).unwrap();
    drop(writer);
    assert_eq!(Log::open(&place.dir).unwrap().head().verdict.as_deref(), Some(&spoken), "the control");
    for damage in [Some("not a detail"), None] {
        match damage {
            Some(text) => std::fs::write(place.file("detail"), text).unwrap(),
            None => std::fs::remove_file(place.file("detail")).unwrap(),
        }
        assert_eq!(Log::open(&place.dir).unwrap().head().verdict.as_deref(), Some(&verdict()));
    }
}

#[test]
fn every_reason_and_number_of_a_verdict_survives_a_restart() {
    for (i, reason) in (0..).zip(Reason::ALL) {
        let place = Place::new();
        let (_, mut writer) = place.create(PLENTY);
        let written = Verdict {
            reason,
            code: (i % 2 == 0).then_some(-i),
            signal: (i % 2 == 1).then_some(i),
            duration_ms: 1 << 40,
            usage: Usage { cpu_ms: (1 << 48) - 1, max_rss_bytes: 1 << 47 },
            ..verdict()
        };
        writer.exited(&written, 0).unwrap();
        drop(writer);
        assert_eq!(Log::open(&place.dir).unwrap().head().verdict.as_deref(), Some(&written));
    }
}
