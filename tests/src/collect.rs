//! Reading a log to its end.

use anyhow::{Context, Result};
use headwater_contract::{FollowOptions, Follower};
use headwater_protocol::{Event, EventKind, Seq, Stream, Verdict};

/// Everything a follower saw.
#[derive(Debug, Default, Clone)]
pub struct Collected {
    /// Bytes of the separate standard output.
    pub stdout: Vec<u8>,
    /// Bytes of the separate standard error.
    pub stderr: Vec<u8>,
    /// Bytes of merged output, or of a terminal.
    pub output: Vec<u8>,
    /// Stated gaps: stream, first missing byte, first byte after.
    pub gaps: Vec<(Stream, u64, u64)>,
    /// The verdicts (there must be one).
    pub verdicts: Vec<Verdict>,
    /// Whether `closed` was seen.
    pub closed: bool,
    /// How many events came.
    pub events: usize,
    /// The last one.
    pub last: Seq,
}

impl Collected {
    /// Takes one event in. Fails if the order of seqs or of bytes is not what it must be.
    pub fn take(&mut self, event: Event) -> Result<()> {
        let gap = matches!(event.kind, EventKind::Gap { .. });
        anyhow::ensure!(event.seq > self.last || gap, "seq {} after {}", event.seq, self.last);
        anyhow::ensure!(!self.closed, "an event after `closed`");
        self.last = event.seq;
        self.events += 1;
        match event.kind {
            EventKind::Started { .. } => {}
            EventKind::Output { stream, offset, bytes } => {
                let expected = self.position(stream);
                anyhow::ensure!(offset == expected, "{stream:?} at {offset}, expected {expected}");
                self.bytes(stream).extend_from_slice(&bytes);
            }
            EventKind::Gap { stream, from_byte, to_byte } => self.gaps.push((stream, from_byte, to_byte)),
            EventKind::Exited(verdict) => self.verdicts.push(verdict),
            EventKind::Closed => self.closed = true,
        }
        Ok(())
    }

    fn bytes(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
            Stream::Output => &mut self.output,
        }
    }

    /// Where the next byte of a stream must be.
    fn position(&mut self, stream: Stream) -> u64 {
        let missing: u64 = self.gaps.iter().filter(|gap| gap.0 == stream).map(|gap| gap.2 - gap.1).sum();
        self.bytes(stream).len() as u64 + missing
    }

    /// The one verdict.
    pub fn verdict(&self) -> &Verdict {
        assert_eq!(self.verdicts.len(), 1, "exactly one verdict: {:?}", self.verdicts);
        &self.verdicts[0]
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Reads a follower to its end.
pub async fn collect(mut follower: Follower) -> Result<Collected> {
    let mut all = Collected::default();
    while let Some(event) = follower.next().await.context("following")? {
        all.take(event)?;
    }
    Ok(all)
}

/// Options that read everything there is, to the end.
pub fn collect_until_closed() -> FollowOptions {
    FollowOptions { until_closed: true, ..FollowOptions::default() }
}
