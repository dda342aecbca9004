//! Reading a log to its end.

use std::time::Duration;

use anyhow::{Context, Result};
use headwater_contract::{Client, FollowOptions, Follower};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream, Verdict};

/// How long a log may be silent before a test gives up: a hang must not look like a slow machine.
const SILENCE: Duration = Duration::from_mins(1);

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
    /// Whether `started` was seen.
    pub started: bool,
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

    /// Where the next byte of a stream must be.
    pub fn position(&mut self, stream: Stream) -> u64 {
        let missing: u64 = self.gaps.iter().filter(|gap| gap.0 == stream).map(|gap| gap.2 - gap.1).sum();
        self.bytes(stream).len() as u64 + missing
    }

    /// The end of what came, for people who look for the reason of a failure.
    fn told(&self) -> String {
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

    /// The one verdict.
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

/// Somebody who watches a log while it grows.
#[derive(Debug)]
pub struct Watcher {
    follower: Follower,
    /// What came so far.
    pub seen: Collected,
}

impl Watcher {
    /// Watches an execution from the beginning until it is closed.
    pub async fn new(client: &Client, id: ExecutionId) -> Result<Self> {
        let follower = client.follow(id, collect_until_closed()).await?;
        Ok(Self { follower, seen: Collected::default() })
    }

    async fn next(&mut self) -> Result<bool> {
        let next = tokio::time::timeout(SILENCE, self.follower.next()).await;
        let next = next.with_context(|| format!("nothing comes any more; so far: {}", self.seen.told()))?;
        let Some(event) = next.context("following")? else { return Ok(false) };
        self.seen.take(event)?;
        Ok(true)
    }

    /// Waits until what came is enough.
    pub async fn until(&mut self, enough: impl Fn(&Collected) -> bool) -> Result<()> {
        while !enough(&self.seen) {
            anyhow::ensure!(self.next().await?, "the log ended before: {}", self.seen.told());
        }
        Ok(())
    }

    /// Waits until the program has printed this, on whatever stream.
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

/// Options that read everything there is, to the end.
pub fn collect_until_closed() -> FollowOptions {
    FollowOptions { until_closed: true, ..FollowOptions::default() }
}
