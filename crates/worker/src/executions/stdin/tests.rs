//! Input on real pipes and terminals, with workers that are killed at every point.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use futures_util::poll;
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::*;

/// What init keeps, and the program's end.
struct Ends {
    target: OwnedFd,
    buffer: OwnedFd,
    program: OwnedFd,
    terminal: bool,
    read: Vec<u8>,
}

impl Ends {
    fn pipe(pages: usize) -> Self {
        let (program, target) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        fcntl_setpipe_size(&target, pages * 4096).unwrap();
        Self::of(target, program, false)
    }

    /// A terminal that changes nothing and takes no byte for a signal.
    fn terminal() -> Self {
        let target = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        unlockpt(&target).unwrap();
        let program = ioctl_tiocgptpeer(&target, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        let mut modes = tcgetattr(&program).unwrap();
        modes.make_raw();
        tcsetattr(&program, OptionalActions::Now, &modes).unwrap();
        for end in [&target, &program] {
            fcntl_setfl(end, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
        }
        Self::of(target, program, true)
    }

    fn of(target: OwnedFd, program: OwnedFd, terminal: bool) -> Self {
        let buffer = memfd_create("input", MemfdFlags::CLOEXEC).unwrap();
        Self { target, buffer, program, terminal, read: Vec::new() }
    }

    /// A worker that comes, with duplicates as init hands them out.
    fn worker(&self) -> StdinPipe {
        let target = Arc::new(self.target.try_clone().unwrap());
        StdinPipe::new(target, self.buffer.try_clone().unwrap(), self.terminal).unwrap()
    }

    /// The program reads, at most so much. False: there was nothing.
    fn read(&mut self, bytes: usize) -> bool {
        let mut room = vec![0; bytes];
        match rustix::io::read(&self.program, &mut *room) {
            Ok(n) => self.read.extend_from_slice(&room[..n]),
            Err(Errno::AGAIN) => return false,
            Err(error) => panic!("{error}"),
        }
        true
    }

    /// Lets the program read on until so much has come.
    async fn read_to(&mut self, length: usize) {
        while self.read.len() < length {
            if !self.read(1 << 16) {
                tokio::task::yield_now().await; // a terminal hands over in the background
            }
        }
    }

    /// Drives a write for so many steps, in each of which the program reads so much. `None`: it is not done.
    async fn drive<T>(&mut self, write: impl Future<Output = T>, steps: usize, bytes: usize) -> Option<T> {
        let mut write = pin!(write);
        for _ in 0..steps {
            if let Poll::Ready(done) = poll!(write.as_mut()) {
                return Some(done);
            }
            self.read(bytes);
            tokio::task::yield_now().await;
        }
        None
    }
}

/// What happens to one chunk.
#[derive(Debug, Clone)]
enum Act {
    /// It is written while the program reads so much at a time.
    Write { length: usize, reads: usize },
    /// The worker is killed when the chunk is in the buffer and nothing of it sent.
    KillBeforeSending { length: usize },
    /// The caller goes away after so many steps, and with it, or not, the worker.
    LeaveAfter { length: usize, steps: usize, reads: usize, kill: bool },
    /// What was sent last is sent again with its position.
    Repeat { back: usize, length: usize, reads: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let length = || prop_oneof![Just(1_usize), 1..100_usize, 1..9000_usize, 1..200_000_usize];
    let reads = || prop_oneof![1..50_usize, 1000..70_000_usize];
    prop_oneof![
        (length(), reads()).prop_map(|(length, reads)| Act::Write { length, reads }),
        length().prop_map(|length| Act::KillBeforeSending { length }),
        (length(), 0..6_usize, reads(), any::<bool>())
            .prop_map(|(length, steps, reads, kill)| Act::LeaveAfter { length, steps, reads, kill }),
        (length(), length(), reads()).prop_map(|(back, length, reads)| Act::Repeat { back, length, reads }),
    ]
}

/// The input as it should arrive: bytes that tell their place.
fn input(from: usize, length: usize) -> Bytes {
    let byte = |at: usize| (at.wrapping_mul(2_654_435_761) >> 11).to_le_bytes()[0];
    (from..from + length).map(byte).collect()
}

async fn written(worker: &StdinPipe) -> usize {
    usize::try_from(worker.written().await.unwrap()).unwrap()
}

async fn play(mut ends: Ends, acts: Vec<Act>) {
    let mut worker = ends.worker();
    for act in acts {
        let at = written(&worker).await;
        match act {
            Act::Write { length, reads } => {
                let end = ends.drive(worker.write(None, input(at, length)), usize::MAX, reads).await;
                assert_eq!(end.unwrap().unwrap(), (at + length) as u64);
            }
            Act::KillBeforeSending { length } => {
                worker.inner.lock().await.buffer.fill(&input(at, length)).unwrap();
                drop(worker);
                worker = ends.worker();
                assert_eq!(written(&worker).await, at, "nothing of it was sent");
            }
            Act::LeaveAfter { length, steps, reads, kill } => {
                ends.drive(worker.write(None, input(at, length)), steps, reads).await;
                if kill {
                    drop(worker);
                    worker = ends.worker();
                }
            }
            Act::Repeat { back, length, reads } => {
                let from = at.saturating_sub(back);
                let again = worker.write(Some(from as u64), input(from, length));
                let end = ends.drive(again, usize::MAX, reads).await;
                assert_eq!(end.unwrap().unwrap(), (from + length).max(at) as u64);
            }
        }
        assert!(ends.read.len() <= written(&worker).await, "what arrived was counted");
    }
    let total = written(&worker).await;
    ends.read_to(total).await;
    assert!(!ends.read(1), "nothing more");
    assert!(ends.read == input(0, total), "every byte once and in its place");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_pipe_gets_every_byte_once_over_kills_at_any_moment(
        pages in prop_oneof![Just(1_usize), Just(16), Just(256)],
        acts in prop::collection::vec(act(), 1..20),
    ) {
        runtime().block_on(async { play(Ends::pipe(pages), acts).await });
    }

    #[test]
    fn a_terminal_gets_every_byte_once_over_kills_at_any_moment(acts in prop::collection::vec(act(), 1..6)) {
        runtime().block_on(async { play(Ends::terminal(), acts).await });
    }
}

#[tokio::test]
async fn a_writer_waits_while_the_pipe_is_full_however_small_the_chunks() {
    let mut ends = Ends::pipe(1);
    let worker = ends.worker();
    worker.write(None, input(0, 1)).await.unwrap();
    // Each chunk takes a place of its own, and there was one.
    let mut second = pin!(worker.write(None, input(1, 1)));
    assert!(poll!(second.as_mut()).is_pending());
    ends.read_to(1).await;
    assert_eq!(second.await.unwrap(), 2);
    ends.read_to(2).await;
    assert_eq!(ends.read, input(0, 2));
}

#[tokio::test]
async fn pending_bytes_in_the_pipe_are_not_changed_by_later_ones() {
    let mut ends = Ends::pipe(256);
    let mut at = 0;
    for length in [1, 4095, 4097, 65_536, 3, 70_000] {
        // Each from a worker of its own, which clears what the one before it left.
        let worker = ends.worker();
        worker.inner.lock().await.buffer.fill(&[0xff; 5000]).unwrap();
        drop(worker);
        at = usize::try_from(ends.worker().write(None, input(at, length)).await.unwrap()).unwrap();
    }
    ends.read_to(at).await;
    assert!(ends.read == input(0, at));
}

#[tokio::test]
async fn a_buffer_holds_no_memory_when_all_is_sent() {
    let mut ends = Ends::pipe(256);
    ends.worker().write(None, input(0, 300_000)).await.unwrap();
    assert_eq!(rustix::fs::fstat(&ends.buffer).unwrap().st_blocks, 0);
    ends.read_to(300_000).await;
    assert!(ends.read == input(0, 300_000));
}

#[tokio::test]
async fn bytes_ahead_of_the_position_are_refused_and_a_closed_reader_is_reported() {
    let ends = Ends::pipe(1);
    let worker = ends.worker();
    assert_eq!(worker.write(Some(1), input(1, 1)).await.unwrap_err().kind, FaultKind::Invalid);
    drop(ends.program);
    assert_eq!(worker.write(None, input(0, 1)).await.unwrap_err().kind, FaultKind::Conflict);
    assert_eq!(worker.written().await.unwrap(), 0);
}
