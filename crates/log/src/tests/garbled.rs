//! Files with random damage: a typed error or a clean recovery, never a panic and never false bytes by the index.

use proptest::prelude::*;

use super::*;

/// A log with everything in it: both streams, a trimmed range, a verdict with a message, late output.
fn write(place: &Place, end: bool) {
    let (_, mut writer) = place.create(LogOptions::new(8192));
    writer.started(7, 1).unwrap();
    for i in 0..60_u64 {
        let stream = if i % 3 == 1 { Stream::Stderr } else { Stream::Stdout };
        writer.append(stream, &pattern(i, 400)).unwrap();
    }
    let detail = Some(ExitDetail::TimedOut { after_ms: 5 });
    let spoken = Verdict { message: Some("why".to_owned()), detail, ..verdict() };
    writer.exited(&spoken, 1).unwrap();
    writer.append(Stream::Stdout, b"late").unwrap();
    if end {
        writer.closed(1).unwrap();
    }
}

/// Reads to the end or to an error, from several places; bounded, so that an endless reader fails.
fn read_everywhere(log: &Arc<Log>) {
    let last = log.head().last_seq.0;
    for after in [0, 1, last / 2, last.saturating_sub(1), last, last + 10, u64::MAX] {
        for tail in [None, Some(0), Some(1000)] {
            let mut reader = log.reader(Seq(after), ReaderOptions { tail, ..ReaderOptions::default() });
            let events = (0..10_000).take_while(|_| matches!(reader.try_next(), Ok(Some(_)))).count();
            assert!(events < 10_000);
        }
    }
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Grow(Vec<u8>),
    Zero,
    Remove,
}

fn damage() -> impl Strategy<Value = (&'static str, Damage)> {
    let files = prop::sample::select(vec!["index", "index", "trim", "stdout", "stderr", "message", "detail"]);
    let damage = prop_oneof![
        6 => (any::<prop::sample::Index>(), 1_u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        2 => any::<prop::sample::Index>().prop_map(Damage::Cut),
        1 => prop::collection::vec(any::<u8>(), 1..200).prop_map(Damage::Grow),
        1 => Just(Damage::Zero),
        1 => Just(Damage::Remove),
    ];
    (files, damage)
}

fn apply(place: &Place, name: &str, damage: &Damage) {
    let Ok(mut bytes) = std::fs::read(place.file(name)) else {
        return;
    };
    match damage {
        Damage::Flip(at, bits) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        Damage::Flip(..) => {}
        Damage::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
        Damage::Grow(more) => bytes.extend(more),
        Damage::Zero => bytes.fill(0),
        Damage::Remove => return std::fs::remove_file(place.file(name)).unwrap(),
    }
    place.write(name, &bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_damage_is_an_error_or_is_repaired(
        end: bool,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let place = Place::new();
        write(&place, end);
        for (name, damage) in &damages {
            apply(&place, name, damage);
        }
        if let Ok(log) = Log::open(&place.dir) {
            read_everywhere(&log);
        }
        if let Ok((log, mut writer)) = Log::recover(&place.dir, LogOptions::new(8192)) {
            read_everywhere(&log);
            if !log.head().closed {
                writer.append(Stream::Stderr, b"goes on").unwrap();
                let mut reader = log.reader(Seq(log.head().last_seq.0 - 1), ReaderOptions::default());
                let events = drain(&mut reader);
                let Some(EventKind::Output { bytes, .. }) = events.last().map(|event| &event.kind) else {
                    panic!("{events:?}");
                };
                assert_eq!(&bytes[..], b"goes on");
            }
        }
    }

    #[test]
    fn files_of_random_bytes_are_refused_or_repaired(
        index in prop::collection::vec(any::<u8>(), 0..700),
        trim in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let place = Place::new();
        write(&place, true);
        place.write("index", &index);
        prop_assert!(Log::open(&place.dir).is_err());
        place.write("trim", &trim);
        if let Ok((log, _writer)) = Log::recover(&place.dir, PLENTY) {
            read_everywhere(&log);
        }
    }
}

#[test]
fn a_record_at_the_wrong_offset_is_rejected() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    for i in 0..4 {
        writer.append(Stream::Stdout, &pattern(i, 10)).unwrap();
    }
    let mut index = place.read("index");
    index.copy_within(64..128, 128);
    place.write("index", &index);
    let mut reader = log.reader(Seq(0), ReaderOptions::default());
    assert_eq!(reader.try_next().unwrap().unwrap().seq, Seq(1));
    assert!(matches!(reader.try_next(), Err(LogError::Corrupt { .. })));
}

#[test]
fn a_garbled_trim_is_an_error_that_names_the_file() {
    let place = Place::new();
    write(&place, true);
    let mut trim = place.read("trim");
    trim[3] ^= 1;
    place.write("trim", &trim);
    for error in [Log::open(&place.dir).unwrap_err(), Log::recover(&place.dir, PLENTY).unwrap_err()] {
        assert!(matches!(&error, LogError::Corrupt { path, .. } if path.ends_with("trim")), "{error:?}");
    }
}
