//! A log against the simplest thing it can be compared with: a `Vec<u8>` for each stream.

use std::os::fd::AsFd;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Append(Stream, usize),
    Splice(Stream, usize),
    Exit,
    Close,
    /// A reader from a random position, lossless or not.
    Read(Index, usize, bool),
    /// Some events for one of the readers.
    Pull(Index, usize),
    /// One of the readers goes away and comes back.
    Resume(Index),
    /// The worker is killed; everybody comes back.
    Restart,
    /// As above, and some bytes of the index are gone.
    Cut(usize),
    /// As above, and the worker had moved bytes without giving them a record.
    Unnumbered(Stream, usize),
}

fn step(lossless: bool) -> impl Strategy<Value = Step> {
    let stream = || prop::sample::select(Stream::ALL.to_vec());
    let size = || prop_oneof![4 => 0..40_usize, 3 => 0..700_usize, 1 => 0..5000_usize];
    prop_oneof![
        8 => (stream(), size()).prop_map(|(stream, size)| Step::Append(stream, size)),
        8 => (stream(), size()).prop_map(|(stream, size)| Step::Splice(stream, size)),
        1 => Just(Step::Exit),
        1 => Just(Step::Close),
        2 => (any::<Index>(), 1..3000_usize, any::<bool>())
            .prop_map(move |(at, max, wanted)| Step::Read(at, max, wanted && lossless)),
        6 => (any::<Index>(), 1..8_usize).prop_map(|(who, count)| Step::Pull(who, count)),
        2 => any::<Index>().prop_map(Step::Resume),
        1 => Just(Step::Restart),
        1 => (1..300_usize).prop_map(Step::Cut),
        1 => (stream(), size()).prop_map(|(stream, size)| Step::Unnumbered(stream, size)),
    ]
}

/// A reader, and what it has seen.
struct Watcher {
    reader: Reader,
    follower: Follower,
    max_bytes: usize,
    lossless: bool,
}

struct Machine {
    place: Place,
    options: LogOptions,
    log: Arc<Log>,
    writer: Option<Writer>,
    written: [Vec<u8>; 3],
    readers: Vec<Watcher>,
    cut: bool,
}

impl Machine {
    fn new(options: LogOptions) -> Self {
        let place = Place::new();
        let (log, mut writer) = place.create(options);
        writer.started(1, 1).unwrap();
        let written = Default::default();
        let (writer, readers) = (Some(writer), Vec::new());
        Self { place, options, log, writer, written, readers, cut: false }
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().unwrap()
    }

    fn new_bytes(&mut self, stream: Stream, size: usize) -> Vec<u8> {
        let bytes = pattern(self.written[stream_index(stream)].len() as u64, size);
        self.written[stream_index(stream)].extend(&bytes);
        bytes
    }

    fn run_all(&mut self, steps: &[Step]) {
        for step in steps {
            self.run(step);
        }
    }

    fn run(&mut self, step: &Step) {
        let head = self.log.head();
        match step {
            Step::Append(..) | Step::Splice(..) | Step::Unnumbered(..) if head.closed => {}
            // The program waits.
            Step::Append(..) | Step::Splice(..) | Step::Unnumbered(..) if self.is_full() => {}
            Step::Append(stream, size) => {
                let bytes = self.new_bytes(*stream, *size);
                self.writer().append(*stream, &bytes).unwrap();
            }
            Step::Splice(stream, size) => self.splice(*stream, *size),
            Step::Exit if head.verdict.is_none() => self.writer().exited(&verdict(), 1).unwrap(),
            Step::Close if head.verdict.is_some() && !head.closed => self.writer().closed(1).unwrap(),
            Step::Read(at, max_bytes, lossless) => self.read(*at, *max_bytes, *lossless),
            Step::Pull(who, count) => self.pull(*who, *count),
            Step::Resume(who) if !self.readers.is_empty() => {
                let who = who.index(self.readers.len());
                self.resume(who);
            }
            Step::Exit | Step::Close | Step::Resume(_) => {}
            Step::Restart => self.restart(|_| {}),
            Step::Cut(bytes) => {
                self.readers.clear(); // records that were there are not, so positions mean something else
                self.cut = true;
                self.restart(|place| {
                    let index = place.read("index");
                    place.write("index", &index[..index.len().saturating_sub(*bytes)]);
                });
            }
            Step::Unnumbered(stream, size) => {
                let bytes = self.new_bytes(*stream, *size);
                self.restart(|place| {
                    let mut file = std::fs::OpenOptions::new();
                    let mut file = file.append(true).create(true).open(place.file(stream.name())).unwrap();
                    std::io::Write::write_all(&mut file, &bytes).unwrap();
                });
            }
        }
    }

    fn is_full(&mut self) -> bool {
        self.writer().update_room();
        self.writer().is_full()
    }

    fn open(&self, after: u64, max_bytes: usize, lossless: bool) -> Option<Reader> {
        let options = ReaderOptions { max_bytes, ..ReaderOptions::default() };
        if lossless {
            // There may be as many as are allowed.
            return self.log.lossless_reader(Seq(after), options).ok();
        }
        Some(self.log.reader(Seq(after), options))
    }

    fn splice(&mut self, stream: Stream, size: usize) {
        let bytes = self.new_bytes(stream, size);
        let (read, write) = pipe();
        if !bytes.is_empty() {
            assert_eq!(rustix::io::write(&write, &bytes), Ok(size));
        }
        drop(write);
        while self.writer().splice(stream, read.as_fd(), 2000).unwrap() != Taken::End {}
    }

    fn read(&mut self, at: Index, max_bytes: usize, lossless: bool) {
        let view = self.log.state.borrow().view;
        let after = at.index(usize::try_from(view.last.seq).unwrap() + 1) as u64;
        let mut follower = Follower { seq: after, ..Follower::default() };
        if view.trim.is_none_or(|trim| !trim.contains(after)) {
            follower.at = self.log.files.position(after).unwrap().ends.0.map(Some);
        } else {
            follower.resumed = true;
        }
        // One that begins in what is gone meets a gap in any case.
        let lossless = lossless && view.trim.is_none_or(|trim| after >= trim.tail.seq);
        if let Some(reader) = self.open(after, max_bytes, lossless) {
            self.readers.push(Watcher { reader, follower, max_bytes, lossless });
        }
    }

    fn pull(&mut self, who: Index, count: usize) {
        if self.readers.is_empty() {
            return;
        }
        let who = who.index(self.readers.len());
        let Watcher { reader, follower, .. } = &mut self.readers[who];
        for event in std::iter::from_fn(|| reader.try_next().unwrap()).take(count) {
            follower.take(&event, &self.written);
        }
    }

    fn resume(&mut self, who: usize) {
        let mut watcher = self.readers.remove(who);
        watcher.follower.resumed = true;
        let (after, max_bytes, lossless) = (watcher.follower.seq, watcher.max_bytes, watcher.lossless);
        // It goes away before it comes back.
        drop(watcher.reader);
        if let Some(reader) = self.open(after, max_bytes, lossless) {
            self.readers.push(Watcher { reader, follower: watcher.follower, max_bytes, lossless });
        }
    }

    fn restart(&mut self, meanwhile: impl FnOnce(&Place)) {
        self.writer = None;
        meanwhile(&self.place);
        let (log, writer) = self.place.recover(self.options);
        (self.log, self.writer) = (log, Some(writer));
        for _ in 0..self.readers.len() {
            self.resume(0);
        }
    }

    /// Everybody reads to the end, and so does somebody new.
    fn finish(mut self) -> (Follower, Self) {
        let reader = self.log.reader(Seq(0), ReaderOptions::default());
        let follower = Follower::from_start();
        self.readers.push(Watcher { reader, follower, max_bytes: 0, lossless: false });
        for Watcher { reader, follower, lossless, .. } in &mut self.readers {
            follower.take_all(&drain(reader), &self.written);
            follower.check_end(&self.written);
            assert!(!*lossless || follower.gap_bytes == 0, "a lossless reader met a gap");
        }
        let head = self.log.head();
        for stream in Stream::ALL {
            assert_eq!(head.ends.of(stream), self.written[stream_index(stream)].len() as u64);
        }
        let Watcher { follower, .. } = self.readers.pop().unwrap();
        assert_eq!(follower.exited, usize::from(head.verdict.is_some()));
        assert_eq!(follower.closed, usize::from(head.closed));
        assert_eq!(self.writer().retention_error(), None);
        (follower, self)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_log_holds_what_was_written_whatever_happens(steps in prop::collection::vec(step(false), 1..60)) {
        let mut machine = Machine::new(PLENTY);
        machine.run_all(&steps);
        let (follower, machine) = machine.finish();
        prop_assert_eq!(follower.gap_bytes, 0);
        let total: usize = machine.written.iter().map(Vec::len).sum();
        prop_assert_eq!(follower.output_bytes, total as u64);
    }

    #[test]
    fn a_log_with_a_small_limit_keeps_head_and_tail_and_states_the_rest(
        limit in 4096_u64..20_000,
        steps in prop::collection::vec(step(false), 1..120),
    ) {
        let mut machine = Machine::new(LogOptions::new(limit));
        machine.run_all(&steps);
        let (follower, machine) = machine.finish();
        let view = machine.log.state.borrow().view;
        let total: usize = machine.written.iter().map(Vec::len).sum();
        prop_assert_eq!(follower.output_bytes + follower.gap_bytes, total as u64);
        let chunk = (limit / 16).max(512) + 64;
        let Some(trim) = view.trim else {
            prop_assert!(view.last.cost() <= limit + limit / 16);
            return Ok(());
        };
        let kept = view.last.cost() - trim.tail.cost() + trim.head.cost();
        prop_assert!(kept <= limit + limit / 16);
        prop_assert!(trim.head.cost() <= limit / 2);
        if !machine.cut {
            prop_assert!(kept > limit - chunk, "{} of {}", kept, limit);
            prop_assert!(trim.head.cost() > limit / 2 - chunk);
        }
    }

    #[test]
    fn a_lossless_reader_meets_no_gap_whatever_happens_and_the_log_stays_bounded(
        limit in 4096_u64..20_000,
        steps in prop::collection::vec(step(true), 1..120),
    ) {
        let lossless = LosslessOptions { min_lag: 512, ..LosslessOptions::DEFAULT };
        let mut machine = Machine::new(LogOptions { lossless, ..LogOptions::new(limit) });
        machine.run_all(&steps);
        // `finish` checks that no lossless reader met a gap.
        let (_, machine) = machine.finish();
        let view = machine.log.state.borrow().view;
        let gone = view.trim.map_or(0, |trim| trim.tail.cost() - trim.head.cost());
        // A step writes at most 5000 bytes in at most ten records more, and looks for room only before.
        let most = limit + lossless.lag(limit) + limit / 16 + 6000;
        prop_assert!(view.last.cost() - gone <= most, "{} of {most}", view.last.cost() - gone);
    }
}
