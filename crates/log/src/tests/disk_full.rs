//! A full disk: nothing is harmed, everything can be tried again, and an execution can still end.
//!
//! Each test runs itself again in a mount namespace of its own, with a small tmpfs to fill.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::Command;

use rustix::mount::{MountFlags, mount};

use super::*;

/// Set in the second run: where the small disk is.
const DISK: &str = "HEADWATER_TEST_SMALL_DISK";

/// Runs `scenario` with a disk of 1 MiB, in a process of its own.
fn on_a_small_disk(test: &str, scenario: impl FnOnce(&Place)) {
    if let Some(disk) = std::env::var_os(DISK) {
        mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), Some(c"size=1m")).unwrap();
        let id = ExecutionId::random();
        let dir = PathBuf::from(disk).join(id.to_string());
        return scenario(&Place { root: None, id, dir });
    }
    let disk = tempfile::tempdir().unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(DISK, disk.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&status.stdout);
    assert!(
        status.status.success() && output.contains("1 passed"),
        "{output}{}",
        String::from_utf8_lossy(&status.stderr)
    );
}

/// A file that takes all the room that is left.
fn fill(place: &Place) -> PathBuf {
    let path = place.dir.with_file_name("ballast");
    let mut file = File::create(&path).unwrap();
    while file.write_all(&[1; 512]).is_ok() {}
    path
}

#[test]
fn an_execution_ends_properly_on_a_full_disk() {
    on_a_small_disk("an_execution_ends_properly_on_a_full_disk", |place| {
        for size in [1, 100, 50_000] {
            let (log, mut writer) = place.create(PLENTY);
            let mut written: [Vec<u8>; 3] = Default::default();
            loop {
                let bytes = pattern(written[0].len() as u64, size);
                match writer.append(Stream::Stdout, &bytes) {
                    Ok(()) => written[0].extend(bytes),
                    Err(error) => break assert!(error.is_disk_full(), "{error:?}"),
                }
            }
            assert_eq!(place.read("stdout").len(), written[0].len(), "a failed append leaves nothing");
            let ballast = fill(place);
            let detail = Some(ExitDetail::command_not_found(&"n".repeat(4096)));
            let spoken = Verdict { message: Some("m".repeat(9000)), detail, ..verdict() };
            writer.exited(&spoken, 1).unwrap();
            writer.closed(1).unwrap();
            let mut follower = Follower::from_start();
            follower.take_all(&read_all(&log), &written);
            follower.check_end(&written);
            assert_eq!((follower.exited, follower.closed, follower.gap_bytes), (1, 1, 0));
            let message = log.head().verdict.unwrap().message.clone().unwrap();
            assert!(message.contains("disk was full"), "{message}");
            assert_eq!(log.head().verdict.unwrap().detail, None, "there was no room for it");
            let (events, opened) = (read_all(&log), Log::open(&place.dir).unwrap());
            assert_eq!(read_all(&opened), events);
            std::fs::remove_file(ballast).unwrap();
            std::fs::remove_dir_all(&place.dir).unwrap();
        }
    });
}

#[test]
fn bytes_that_do_not_fit_stay_in_the_pipe_until_there_is_space() {
    on_a_small_disk("bytes_that_do_not_fit_stay_in_the_pipe_until_there_is_space", |place| {
        let (log, mut writer) = place.create(PLENTY);
        writer.started(1, 1).unwrap();
        let ballast = fill(place);
        let (read, write) = pipe();
        let sent = pattern(0, 60_000);
        rustix::io::write(&write, &sent).unwrap();
        drop(write);
        let mut full = 0;
        for _ in 0..5 {
            match writer.splice(Stream::Stdout, read.as_fd(), 1 << 20) {
                Ok(taken) => assert!(matches!(taken, Taken::Bytes(_)), "{taken:?}"),
                Err(error) => {
                    assert!(error.is_disk_full(), "{error:?}");
                    full += 1;
                }
            }
        }
        assert!(full > 0);
        assert!(writer.append(Stream::Stderr, &[1; 9000]).unwrap_err().is_disk_full());
        std::fs::remove_file(ballast).unwrap();
        while writer.splice(Stream::Stdout, read.as_fd(), 1 << 20).unwrap() != Taken::End {}
        writer.append(Stream::Stderr, &[1; 9000]).unwrap();
        for log in [&log, &Log::open(&place.dir).unwrap()] {
            let events = read_all(log);
            assert!(bytes_of(&events, Stream::Stdout) == sent);
            assert_eq!(bytes_of(&events, Stream::Stderr), [1; 9000]);
        }
        drop(writer);
        assert_eq!(read_all(&place.recover(PLENTY).0), read_all(&log), "a failed append left nothing behind");
    });
}

#[test]
fn a_log_is_taken_up_on_a_full_disk_and_ends_there() {
    on_a_small_disk("a_log_is_taken_up_on_a_full_disk_and_ends_there", |place| {
        // With 60 records the block is full but for the spare ones.
        for records in [58, 60] {
            let (_, mut writer) = place.create(PLENTY);
            for _ in 0..records {
                writer.append(Stream::Stdout, b"x").unwrap();
            }
            drop(writer);
            let mut raw = std::fs::OpenOptions::new().append(true).open(place.file("stdout")).unwrap();
            raw.write_all(b"without a record").unwrap();
            let ballast = fill(place);
            let (log, mut writer) = place.recover(PLENTY);
            assert_eq!(log.head().last_seq.0 > records, records == 58);
            writer.exited(&verdict(), 1).unwrap();
            writer.closed(1).unwrap();
            let events = read_all(&log);
            assert_eq!(bytes_of(&events, Stream::Stdout).len() as u64, records + 16);
            assert_eq!(names(&events), ["stdout", "exited", "closed"]);
            std::fs::remove_file(ballast).unwrap();
            std::fs::remove_dir_all(&place.dir).unwrap();
        }
    });
}

#[test]
fn a_log_that_could_not_be_created_can_be_created_later() {
    on_a_small_disk("a_log_that_could_not_be_created_can_be_created_later", |place| {
        let ballast = fill(place);
        let error = Log::create(&place.dir, place.id, PLENTY).unwrap_err();
        assert!(error.is_disk_full(), "{error:?}");
        assert!(!place.dir.exists());
        std::fs::remove_file(ballast).unwrap();
        place.create(PLENTY);
    });
}
