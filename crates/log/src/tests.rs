//! Tests of the log, on real files; this file holds what they share.

mod bytes;
mod cut;
mod disk_full;
mod garbled;
mod killed;
mod life;
mod live;
mod lossless;
mod model;
mod readers;
mod retention;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_protocol::{Event, EventKind, ExecutionId, ExitDetail, Reason, Seq, Stream, Usage, Verdict};

use super::positions::stream_index;
use super::*;

/// A limit that no test without retention reaches.
const PLENTY: LogOptions = LogOptions::new(64 << 20);

/// A folder for one log, named after it as the worker names them; gone at the end of the test.
struct Place {
    /// What is removed at the end.
    #[allow(dead_code)]
    root: Option<tempfile::TempDir>,
    id: ExecutionId,
    dir: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let id = ExecutionId::random();
        let dir = root.path().join(id.to_string());
        Self { root: Some(root), id, dir }
    }

    fn create(&self, options: LogOptions) -> (Arc<Log>, Writer) {
        Log::create(&self.dir, self.id, options).unwrap()
    }

    fn recover(&self, options: LogOptions) -> (Arc<Log>, Writer) {
        Log::recover(&self.dir, options).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.file(name), bytes).unwrap();
    }

    /// Bytes that the log takes on the disk.
    fn disk_use(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let entries = std::fs::read_dir(&self.dir).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().blocks() * 512).sum()
    }
}

/// Everything that can be read now.
fn drain(reader: &mut Reader) -> Vec<Event> {
    std::iter::from_fn(|| reader.try_next().unwrap()).collect()
}

fn read_all(log: &Arc<Log>) -> Vec<Event> {
    drain(&mut log.reader(Seq(0), ReaderOptions::default()))
}

/// The bytes of one stream in these events, which must have no gap in it.
fn bytes_of(events: &[Event], wanted: Stream) -> Vec<u8> {
    let mut all = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::Output { stream, offset, bytes } if *stream == wanted => {
                assert_eq!(*offset, all.len() as u64, "output is contiguous");
                all.extend_from_slice(bytes);
            }
            EventKind::Gap { stream, .. } => assert_ne!(*stream, wanted, "no gap"),
            _ => {}
        }
    }
    all
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}

fn verdict() -> Verdict {
    Verdict {
        code: Some(3),
        duration_ms: 12,
        usage: Usage { cpu_ms: 7, max_rss_bytes: 1 << 20 },
        ..Verdict::new(Reason::Exited)
    }
}

fn pipe() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap()
}

/// Bytes that tell their place, so that a shift is seen.
fn pattern(from: u64, length: usize) -> Vec<u8> {
    (from..)
        .take(length)
        .map(|at| (at ^ (at >> 8).wrapping_mul(31) ^ (at >> 16).wrapping_mul(7)).to_le_bytes()[0] | 1)
        .collect()
}

/// Follows the events of a reader and checks each against what was written.
#[derive(Debug, Clone, Default)]
struct Follower {
    /// How far it has come in each stream, where that is known.
    at: [Option<u64>; 3],
    seq: u64,
    gap_bytes: u64,
    output_bytes: u64,
    exited: usize,
    closed: usize,
    /// Whether it was resumed since the last event, so that a gap may begin before its position.
    resumed: bool,
}

impl Follower {
    fn from_start() -> Self {
        Self { at: [Some(0); 3], ..Self::default() }
    }

    fn take(&mut self, event: &Event, written: &[Vec<u8>; 3]) {
        let gap = matches!(event.kind, EventKind::Gap { .. });
        assert!(event.seq.0 > self.seq || gap && event.seq.0 == self.seq, "{} after {}", event.seq, self.seq);
        assert_eq!(self.closed, 0, "nothing follows closed");
        self.seq = event.seq.0;
        match &event.kind {
            EventKind::Output { stream, offset, bytes } => {
                let at = &mut self.at[stream_index(*stream)];
                assert_eq!(*offset, at.unwrap_or(*offset), "{stream:?} goes on where it was");
                let start = usize::try_from(*offset).unwrap();
                assert_eq!(&written[stream_index(*stream)][start..start + bytes.len()], &bytes[..]);
                *at = Some(offset + bytes.len() as u64);
                self.output_bytes += bytes.len() as u64;
            }
            EventKind::Gap { stream, from_byte, to_byte } => {
                let at = &mut self.at[stream_index(*stream)];
                let known = at.unwrap_or(*from_byte);
                assert!(*from_byte == known || self.resumed && *from_byte < known, "{from_byte} {known}");
                assert!(*to_byte >= known && from_byte < to_byte);
                self.gap_bytes += to_byte - from_byte;
                *at = Some(*to_byte);
            }
            EventKind::Exited(_) => self.exited += 1,
            EventKind::Closed => self.closed += 1,
            EventKind::Started { .. } => assert_eq!(event.seq, Seq(1)),
        }
    }

    fn take_all(&mut self, events: &[Event], written: &[Vec<u8>; 3]) {
        for event in events {
            self.take(event, written);
        }
    }

    /// It has seen everything there is.
    fn check_end(&self, written: &[Vec<u8>; 3]) {
        for stream in Stream::ALL {
            let end = written[stream_index(stream)].len() as u64;
            assert_eq!(self.at[stream_index(stream)].unwrap_or(end), end, "{stream:?} read to its end");
        }
    }
}
