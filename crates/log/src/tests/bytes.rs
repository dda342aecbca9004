//! Output by its bytes: every range of it, of one stream and of all, and what is no longer kept.

use super::*;

fn read(log: &Arc<Log>, stream: Option<Stream>, from: u64, to: u64) -> Result<Vec<u8>, LogError> {
    let mut reader = log.bytes(stream, from, to);
    let mut all = Vec::new();
    while let Some(bytes) = reader.read_next()? {
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

fn cut(bytes: &[u8], from: u64, to: u64) -> Vec<u8> {
    bytes[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()].to_vec()
}

#[test]
fn every_range_of_a_stream_and_of_all_streams_in_their_order_is_exact() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.started(1, 1).unwrap();
    let (mut out, mut err, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..12_u64 {
        let bytes = pattern(i * 7, usize::try_from(i % 4 + 1).unwrap());
        let stream = if i % 3 == 0 { Stream::Stderr } else { Stream::Stdout };
        writer.append(stream, &bytes).unwrap();
        if stream == Stream::Stderr { &mut err } else { &mut out }.extend_from_slice(&bytes);
        all.extend_from_slice(&bytes);
    }
    writer.exited(&verdict(), 1).unwrap();
    for (stream, bytes) in [(Some(Stream::Stdout), &out), (Some(Stream::Stderr), &err), (None, &all)] {
        let end = bytes.len() as u64;
        let kept = log.kept(stream);
        assert_eq!((kept.end, kept.gap, kept.closed, kept.last_seq), (end, (0, 0), false, Seq(14)));
        for from in 0..=end {
            for to in from..=end {
                assert_eq!(
                    read(&log, stream, from, to).unwrap(),
                    cut(bytes, from, to),
                    "{stream:?} {from} {to}"
                );
            }
        }
        assert_eq!(read(&log, stream, 0, u64::MAX).unwrap(), *bytes);
        assert!(read(&log, stream, end + 5, end + 9).unwrap().is_empty());
    }
    assert_eq!(log.kept(Some(Stream::Output)).end, 0);
    writer.closed(2).unwrap();
    assert!(log.kept(None).closed);
}

#[test]
fn both_sides_of_a_gap_can_be_read_and_nothing_between() {
    let place = Place::new();
    let (log, mut writer) = place.create(LogOptions::new(64 << 10));
    let (mut out, mut all) = (Vec::new(), Vec::new());
    for i in 0..2000_u64 {
        let bytes = pattern(i * 100, 100);
        let stream = if i % 5 == 0 { Stream::Stderr } else { Stream::Stdout };
        writer.append(stream, &bytes).unwrap();
        all.extend_from_slice(&bytes);
        if stream == Stream::Stdout {
            out.extend_from_slice(&bytes);
        }
    }
    for (stream, bytes) in [(Some(Stream::Stdout), &out), (None, &all)] {
        let kept = log.kept(stream);
        let (from, to) = kept.gap;
        assert_eq!(kept.end, bytes.len() as u64);
        assert!(0 < from && from < to && to < kept.end, "{kept:?}");
        assert_eq!(read(&log, stream, 0, from).unwrap(), cut(bytes, 0, from));
        assert_eq!(read(&log, stream, 1, from - 1).unwrap(), cut(bytes, 1, from - 1));
        assert_eq!(read(&log, stream, to, kept.end).unwrap(), cut(bytes, to, kept.end));
        assert_eq!(read(&log, stream, to + 1, kept.end).unwrap(), cut(bytes, to + 1, kept.end));
        for (from, to) in [(from, to), (from - 1, from + 1), (to - 1, to + 1), (0, kept.end)] {
            let error = read(&log, stream, from, to).unwrap_err();
            assert!(matches!(error, LogError::NotKept { .. }), "{stream:?} {from} {to}: {error:?}");
        }
    }
}
