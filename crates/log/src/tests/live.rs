//! Real pipes, other threads, and waiting.

use std::io::Write;
use std::os::fd::AsFd;
use std::thread;

use super::*;

/// Takes everything out of a pipe until its end.
fn pump(writer: &mut Writer, stream: Stream, pipe: &OwnedFd) {
    loop {
        match writer.splice(stream, pipe.as_fd(), 1 << 20).unwrap() {
            Taken::Bytes(_) => {}
            Taken::End => return,
            Taken::Empty => {
                let mut fds = [rustix::event::PollFd::new(pipe, rustix::event::PollFlags::IN)];
                rustix::event::poll(&mut fds, None).unwrap();
            }
        }
    }
}

#[test]
fn the_log_holds_exactly_what_was_written_to_the_pipe() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let (read, write) = pipe();
    assert_eq!(writer.splice(Stream::Stdout, read.as_fd(), 100), Ok(Taken::Empty));
    rustix::io::write(&write, b"hello").unwrap();
    assert_eq!(writer.splice(Stream::Stdout, read.as_fd(), 0), Ok(Taken::Empty));
    assert_eq!(writer.splice(Stream::Stdout, read.as_fd(), 2), Ok(Taken::Bytes(2)));
    assert_eq!(writer.splice(Stream::Stdout, read.as_fd(), 100), Ok(Taken::Bytes(3)));
    assert_eq!(writer.splice(Stream::Stdout, read.as_fd(), 100), Ok(Taken::Empty));
    drop(write);
    // A child that another test is just starting holds the other end until it executes its program.
    pump(&mut writer, Stream::Stdout, &read);
    let events = read_all(&log);
    assert_eq!(bytes_of(&events, Stream::Stdout), b"hello");
    assert_eq!(place.read("stdout"), b"hello");
}

#[test]
fn a_large_output_through_a_pipe_arrives_whole() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let (read, write) = pipe();
    let sent = pattern(0, 5 << 20);
    let expected = sent.clone();
    let program = thread::spawn(move || std::fs::File::from(write).write_all(&sent).unwrap());
    pump(&mut writer, Stream::Output, &read);
    program.join().unwrap();
    assert!(bytes_of(&read_all(&log), Stream::Output) == expected);
}

#[test]
fn readers_in_other_threads_never_see_a_false_byte_while_the_log_is_flooded_and_trimmed() {
    const TOTAL: usize = 24 << 20;
    let place = Place::new();
    let (log, mut writer) = place.create(LogOptions::new(256 << 10));
    let all = Arc::new([pattern(0, TOTAL), Vec::new(), Vec::new()]);
    let (read, write) = pipe();
    let sent = Arc::clone(&all);
    let program = thread::spawn(move || std::fs::File::from(write).write_all(&sent[0]).unwrap());
    let follow = |max_bytes: usize| {
        let mut reader = log.reader(Seq(0), ReaderOptions { max_bytes, ..ReaderOptions::default() });
        let all = Arc::clone(&all);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut follower = Follower::from_start();
            while let Some(event) = runtime.block_on(reader.next()).unwrap() {
                follower.take(&event, &all);
            }
            follower
        })
    };
    let followers = [follow(1), follow(4096), follow(1 << 20)];
    pump(&mut writer, Stream::Stdout, &read);
    program.join().unwrap();
    writer.exited(&verdict(), 1).unwrap();
    writer.closed(1).unwrap();
    for follower in followers {
        let follower = follower.join().unwrap();
        follower.check_end(&all);
        assert_eq!((follower.exited, follower.closed), (1, 1));
        assert_eq!(follower.output_bytes + follower.gap_bytes, TOTAL as u64);
    }
    assert_eq!(writer.retention_error(), None);
    assert!(place.disk_use() < 1 << 20, "{}", place.disk_use());
}

#[tokio::test]
async fn waiting_readers_wake_on_live_data_and_end_after_closed() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut reader = log.reader(Seq(0), ReaderOptions::default());
    let (sender, mut seen) = tokio::sync::mpsc::channel(1);
    let task = tokio::spawn(async move {
        while let Some(event) = reader.next().await.unwrap() {
            sender.send(event.kind.name()).await.unwrap();
        }
    });
    writer.started(1, 1).unwrap();
    assert_eq!(seen.recv().await, Some("started"));
    for stream in Stream::ALL {
        writer.append(stream, b"x").unwrap();
        assert_eq!(seen.recv().await, Some(stream.name()));
    }
    writer.exited(&verdict(), 1).unwrap();
    assert_eq!(seen.recv().await, Some("exited"));
    writer.closed(1).unwrap();
    assert_eq!(seen.recv().await, Some("closed"));
    assert_eq!(seen.recv().await, None);
    task.await.unwrap();
    let mut late = log.reader(log.head().last_seq, ReaderOptions::default());
    assert_eq!(late.next().await, Ok(None));
}

#[tokio::test]
async fn a_log_whose_writer_is_gone_ends_its_followers_after_the_last_record() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    writer.append(Stream::Stdout, b"x").unwrap();
    let mut reader = log.reader(Seq(0), ReaderOptions::default());
    assert!(reader.next().await.unwrap().is_some());
    let waiting = tokio::spawn(async move { reader.next().await });
    tokio::task::yield_now().await;
    drop(writer);
    assert_eq!(waiting.await.unwrap(), Ok(None));
    let opened = Log::open(&place.dir).unwrap();
    let mut reader = opened.reader(Seq(1), ReaderOptions::default());
    assert_eq!(reader.next().await, Ok(None));
}

#[tokio::test]
async fn giving_up_waiting_loses_nothing() {
    let place = Place::new();
    let (log, mut writer) = place.create(PLENTY);
    let mut reader = log.reader(Seq(0), ReaderOptions::default());
    for i in 0..100_u8 {
        {
            let next = std::pin::pin!(reader.next());
            tokio::select! {
                biased;
                event = next => panic!("{event:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
        writer.append(Stream::Stdout, &[i]).unwrap();
        let event = reader.next().await.unwrap().unwrap();
        assert!(matches!(event.kind, EventKind::Output { bytes, .. } if bytes[..] == [i]));
    }
}
