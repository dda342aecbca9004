//! Reads a log to its end and checks its order.

use anyhow::{Context, Result};
use headwater_contract::{Client, FollowOptions, Follower};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream, Verdict};

use crate::host::PATIENCE;

/// Everything a reader has read.
#[derive(Debug, Default, Clone)]
pub struct Collected {
    /// Bytes of the separate standard output.
    pub stdout: Vec<u8>,
    /// Bytes of the separate standard error.
    pub stderr: Vec<u8>,
    /// Bytes of merged output, or of a terminal.
    pub output: Vec<u8>,
    /// Gaps: stream, first missing byte, first byte after it.
    pub gaps: Vec<(Stream, u64, u64)>,
    /// Whether `started` was seen.
    pub started: bool,
    /// The verdicts; a correct log has one.
    pub verdicts: Vec<Verdict>,
    /// Whether `closed` was seen.
    pub closed: bool,
    /// How many events arrived.
    pub events: usize,
    /// The seq of the last event.
    pub last: Seq,
}

impl Collected {
    /// Adds an event. Fails if seqs or bytes are out of order.
    pub fn take(&mut self, event: Event) -> Result<()> {
        let gap = matches!(event.kind, EventKind::Gap { .. });
        anyhow::ensure!(event.seq > self.last || gap, "seq {} after {}", event.seq, self.last);
        anyhow::ensure!(!self.closed, "an event after `closed`");
        self.last = event.seq;
        self.events += 1;
        match event.kind {
            EventKind::Started { .. } => {
                anyhow::ensure!(!self.started && self.events == 1, "`started` is not the first event");
                self.started = true;
            }
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

    /// The offset that the next byte of a stream must have.
    pub fn position(&mut self, stream: Stream) -> u64 {
        let missing: u64 = self.gaps.iter().filter(|gap| gap.0 == stream).map(|gap| gap.2 - gap.1).sum();
        self.bytes(stream).len() as u64 + missing
    }

    /// The last output and the verdicts, for the message of a failure.
    fn summary(&self) -> String {
        let end = |bytes: &[u8]| {
            let from = bytes.len().saturating_sub(2000);
            String::from_utf8_lossy(&bytes[from..]).into_owned()
        };
        format!(
            "{} events, the last {}; stdout {:?}, stderr {:?}, output {:?}, gaps {:?}, verdicts {:?}, closed {}",
            self.events,
            self.last,
            end(&self.stdout),
            end(&self.stderr),
            end(&self.output),
            self.gaps,
            self.verdicts,
            self.closed
        )
    }

    /// The only verdict.
    pub fn verdict(&self) -> &Verdict {
        assert_eq!(self.verdicts.len(), 1, "exactly one verdict: {:?}", self.verdicts);
        &self.verdicts[0]
    }

    /// Merged output, or a terminal's, as text.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Reads a follower to its end.
pub async fn collect(follower: Follower) -> Result<Collected> {
    Watcher { follower, seen: Collected::default() }.rest().await
}

/// A reader that follows a log while it grows.
#[derive(Debug)]
pub struct Watcher {
    follower: Follower,
    /// Everything read so far.
    pub seen: Collected,
}

impl Watcher {
    /// Follows an execution from the beginning until it is closed.
    pub async fn new(client: &Client, id: ExecutionId) -> Result<Self> {
        let follower = client.follow(id, collect_until_closed()).await?;
        Ok(Self { follower, seen: Collected::default() })
    }

    async fn next(&mut self) -> Result<bool> {
        let next = tokio::time::timeout(PATIENCE, self.follower.next()).await;
        let next = next.with_context(|| format!("nothing more arrives; so far: {}", self.seen.summary()))?;
        let Some(event) = next.context("following")? else { return Ok(false) };
        self.seen.take(event)?;
        Ok(true)
    }

    /// Reads until what arrived is enough.
    pub async fn until(&mut self, enough: impl Fn(&Collected) -> bool) -> Result<()> {
        while !enough(&self.seen) {
            anyhow::ensure!(self.next().await?, "the log ended early: {}", self.seen.summary());
        }
        Ok(())
    }

    /// Reads until the program has printed this, on any stream.
    pub async fn until_printed(&mut self, text: &str) -> Result<()> {
        let printed = |bytes: &[u8]| crate::host::contains(bytes, text.as_bytes());
        self.until(|seen| printed(&seen.stdout) || printed(&seen.stderr) || printed(&seen.output)).await
    }

    /// Reads to the end.
    pub async fn rest(mut self) -> Result<Collected> {
        while self.next().await? {}
        Ok(self.seen)
    }
}

/// Options that read everything until the log is closed.
pub fn collect_until_closed() -> FollowOptions {
    FollowOptions { until_closed: true, ..FollowOptions::default() }
}
