//! The pump on real pipes and terminals.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use headwater_log::{Log, LogOptions, LosslessOptions};
use headwater_protocol::{ExecutionId, Reason, Usage};
use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use super::*;
use crate::sessions::session::unseen;

/// Writes the verdict and notes when.
#[derive(Default)]
struct Noted {
    exited_at: Mutex<Option<Instant>>,
}

impl PumpHost for &Noted {
    async fn exited(&self, _: Option<Exit>, _: u64, writer: &mut Writer) {
        *self.exited_at.lock().unwrap() = Some(Instant::now());
        writer.exited(&unseen(Reason::Exited, ""), 1).unwrap();
    }

    async fn on_output_limit(&self) {}

    fn is_stopping(&self) -> bool {
        false
    }
}

fn new_log() -> (TempDir, Arc<Log>, Writer) {
    let folder = tempfile::tempdir().unwrap();
    let options = LogOptions::new(1 << 20);
    let (log, writer) = Log::create(&folder.path().join("log"), ExecutionId::random(), options).unwrap();
    (folder, log, writer)
}

/// A terminal's master, and its other side, open.
fn terminal() -> (Arc<OwnedFd>, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&master).unwrap();
    fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (Arc::new(master), slave)
}

fn exit() -> Exit {
    let usage = Usage { cpu_ms: 0, max_rss_bytes: 0 };
    Exit { code: Some(0), signal: None, cause: None, at_us: 1, duration_us: 1, usage }
}

#[tokio::test]
async fn bytes_left_in_a_terminals_relay_by_a_killed_worker_are_logged_first() {
    let (_folder, log, writer) = new_log();
    let (master, _slave) = terminal();
    let (reading, relay) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    rustix::io::write(&relay, b"left").unwrap();
    let source = Source::terminal(master, reading, relay).unwrap();
    let (_exit, exited) = oneshot::channel();
    let noted = Noted::default();
    let mut reader = log.reader(headwater_protocol::Seq(0), headwater_log::ReaderOptions::default());
    tokio::select! {
        _ = pump(vec![source], writer, exited, None, &noted) => panic!("the program has not ended"),
        event = reader.next() => {
            let event = event.unwrap().unwrap();
            assert!(
                matches!(&event.kind, headwater_protocol::EventKind::Output { bytes, .. } if &bytes[..] == b"left"),
                "{event:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_that_is_left_before_its_program_ends_does_not_delay_the_verdict() {
    let (_folder, log, writer) = new_log();
    let (master, slave) = terminal();
    drop(slave);
    let (reading, relay) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    let source = Source::terminal(master, reading, relay).unwrap();
    let (exit_of, exited) = oneshot::channel();
    let noted = Noted::default();
    let begun = Instant::now();
    let program = async {
        // Long enough for the pump to find the terminal left, without time passing.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        exit_of.send(exit()).unwrap();
    };
    let (writer, ()) = tokio::join!(pump(vec![source], writer, exited, None, &noted), program);
    drop(writer);
    assert!(log.head().verdict.is_some());
    assert_eq!(noted.exited_at.lock().unwrap().unwrap(), begun);
}

/// A log that holds little, with a lossless reader that reads nothing.
fn full_log() -> (TempDir, Arc<Log>, Writer, headwater_log::Reader) {
    let folder = tempfile::tempdir().unwrap();
    let holds = LosslessOptions { min_lag: 512, ..LosslessOptions::DEFAULT };
    let options = LogOptions { lossless: holds, ..LogOptions::new(8192) };
    let (log, writer) = Log::create(&folder.path().join("log"), ExecutionId::random(), options).unwrap();
    let reader =
        log.lossless_reader(headwater_protocol::Seq(0), headwater_log::ReaderOptions::default()).unwrap();
    (folder, log, writer, reader)
}

/// A pipe with this many bytes in it, and its writing end.
fn filled_pipe(bytes: usize) -> (OwnedFd, OwnedFd) {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    rustix::pipe::fcntl_setpipe_size(&writing, 1 << 20).unwrap();
    assert_eq!(rustix::io::write(&writing, &vec![b'x'; bytes]), Ok(bytes));
    (reading, writing)
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ends_while_a_reader_holds_it_is_logged_to_its_last_byte() {
    let (_folder, log, writer, _reader) = full_log();
    let (reading, writing) = filled_pipe(500_000);
    let source = Source::pipe(Stream::Stdout, reading).unwrap();
    let (exit_of, exited) = oneshot::channel();
    let noted = Noted::default();
    let program = async {
        while log.head().ends.total() < 8192 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        let held = log.head().ends.total();
        assert!(held < 100_000, "the program waits, and {held} bytes are logged");
        exit_of.send(exit()).unwrap();
        drop(writing);
    };
    let (writer, ()) = tokio::join!(pump(vec![source], writer, exited, None, &noted), program);
    drop(writer);
    assert_eq!(log.head().ends.total(), 500_000);
    assert!(log.head().verdict.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_pipe_without_a_writer_ends_while_a_reader_holds_the_log() {
    let (_folder, log, writer, _reader) = full_log();
    let (reading, writing) = filled_pipe(500_000);
    let source = Source::pipe(Stream::Stdout, reading).unwrap();
    let (exit_of, exited) = oneshot::channel();
    exit_of.send(exit()).unwrap();
    drop(writing);
    let noted = Noted::default();
    drop(pump(vec![source], writer, exited, None, &noted).await);
    assert_eq!(log.head().ends.total(), 500_000);
}
