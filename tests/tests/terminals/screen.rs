//! A terminal at the worker's contract, and what its emulator says of it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_contract::{Client, StdinWriter, v1};
use headwater_protocol::{Event, EventKind, ExecutionId, StartSpec, TtySize};
use headwater_screen::{Options as ScreenOptions, Screen};
use headwater_tests::host::PATIENCE;
use headwater_tests::{Options, TestWorker, Watcher};

pub(crate) const SIZE: TtySize = TtySize { rows: 24, cols: 80 };

/// A worker that prepares no more than the test needs.
pub(crate) async fn worker() -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(1), ..Options::default() }).await
}

/// On a terminal of this name.
pub(crate) fn named(mut spec: StartSpec, name: &str) -> StartSpec {
    spec.tty = Some(SIZE);
    spec.metadata.insert("headwater.terminal".into(), name.into());
    spec
}

/// A terminal.
pub(crate) struct Terminal {
    pub(crate) id: ExecutionId,
    pub(crate) watcher: Watcher,
    keys: StdinWriter,
}

impl Terminal {
    pub(crate) async fn start(worker: &TestWorker, spec: StartSpec) -> Result<Self> {
        let id = worker.begin(&named(spec, "main")).await?;
        let watcher = worker.watch(id).await?;
        Ok(Self { id, watcher, keys: worker.client().await?.stdin(id).await? })
    }

    pub(crate) async fn types(&mut self, keys: &'static str) -> Result<()> {
        Ok(self.keys.write(keys.into()).await?)
    }

    /// Waits until the emulator shows a line with this text.
    pub(crate) async fn shows(&self, client: &Client, text: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let lines = lines(&snapshot(client, self.id).await?);
            if lines.iter().any(|line| line.contains(text)) {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < deadline, "`{text}` is not among {lines:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The current screen of a terminal.
pub(crate) async fn snapshot(client: &Client, id: ExecutionId) -> Result<v1::SnapshotResponse> {
    let request = v1::SnapshotRequest { execution_id: id.to_string(), ..v1::SnapshotRequest::default() };
    Ok(client.terminals().snapshot(request).await.context("asking for a snapshot")?.into_inner())
}

/// An empty screen of this size.
pub(crate) fn screen(rows: u16, cols: u16) -> Screen {
    Screen::new(&ScreenOptions { rows, cols, buffer_bytes: 1 << 20, secret: String::new() })
}

/// A screen that was drawn by a snapshot.
pub(crate) fn drawn(info: &v1::SnapshotResponse) -> Screen {
    let size = |number: u32| u16::try_from(number).expect("a size");
    let mut screen = screen(size(info.rows), size(info.cols));
    screen.feed(&info.data);
    screen
}

/// The text that a snapshot draws.
pub(crate) fn lines(info: &v1::SnapshotResponse) -> Vec<String> {
    drawn(info).lines()
}

/// The sizes that a terminal has had.
pub(crate) async fn sizes(client: &Client, id: ExecutionId) -> Result<Vec<v1::SizeChange>> {
    let request = v1::ListSizesRequest { execution_id: id.to_string() };
    Ok(client.terminals().list_sizes(request).await?.into_inner().sizes)
}

/// The output after this record: its offset, its bytes, and the last record.
async fn printed(client: &Client, id: ExecutionId, after: u64) -> Result<(Option<u64>, Vec<u8>, u64)> {
    let until = v1::Until::Closed.into();
    let options =
        v1::FollowOptions { after_seq: after, no_wait: true, until, ..v1::FollowOptions::default() };
    let request = v1::FollowRequest { execution_id: id.to_string(), options: Some(options) };
    let mut stream = client.raw().follow(request).await?.into_inner();
    let (mut begin, mut all, mut last) = (None, Vec::new(), after);
    while let Some(batch) = stream.message().await? {
        for event in batch.events {
            let event: Event = event.try_into()?;
            last = event.seq.0;
            if let EventKind::Output { offset, bytes, .. } = event.kind {
                begin.get_or_insert(offset);
                all.extend_from_slice(&bytes);
            }
        }
    }
    Ok((begin, all, last))
}

/// The screen of the emulator, and that of another one that was fed the whole log with all sizes.
pub(crate) async fn both(client: &Client, id: ExecutionId) -> Result<(Screen, Screen)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let info = snapshot(client, id).await?;
        let (_, bytes, last) = printed(client, id, 0).await?;
        if last == info.seq {
            return Ok((drawn(&info), replayed(client, id, &bytes).await?));
        }
        anyhow::ensure!(Instant::now() < deadline, "the snapshot is of {}, the log at {last}", info.seq);
    }
}

async fn replayed(client: &Client, id: ExecutionId, bytes: &[u8]) -> Result<Screen> {
    let mut sizes = sizes(client, id).await?.into_iter();
    let first = sizes.next().context("no size")?;
    let mut screen = screen(u16::try_from(first.rows)?, u16::try_from(first.cols)?);
    let mut at = 0;
    for change in sizes {
        let begin = printed(client, id, change.after_seq).await?.0;
        let end = begin.map_or(Ok(bytes.len()), usize::try_from)?;
        screen.feed(&bytes[at..end]);
        screen.resize(u16::try_from(change.rows)?, u16::try_from(change.cols)?);
        at = end;
    }
    screen.feed(&bytes[at..]);
    Ok(screen)
}

/// Both emulators show the same, scrollback, colours and modes included.
pub(crate) async fn agrees_with_its_log(client: &Client, id: ExecutionId) -> Result<Vec<String>> {
    let (mut info, mut expected) = both(client, id).await?;
    assert_eq!(info.lines(), expected.lines());
    let text = |screen: &mut Screen| String::from_utf8_lossy(&screen.snapshot(None)).into_owned();
    assert_eq!(text(&mut info), text(&mut expected));
    Ok(info.lines())
}

/// The output after this record, so far.
pub(crate) async fn printed_after(client: &Client, id: ExecutionId, seq: u64) -> Result<Vec<u8>> {
    Ok(printed(client, id, seq).await?.1)
}
