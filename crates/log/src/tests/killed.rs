//! A writer that is really killed, again and again, while a program prints.
//!
//! The test runs itself again as the writer: its stdin is the pipe, and it reports on stdout how often it took bytes.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use super::*;

/// Set in the second run: where the log is.
const DIR: &str = "HEADWATER_TEST_LOG";
const TOTAL: usize = 32 << 20;
/// Small records, so that much of the time goes into the index.
const OPTIONS: LogOptions = LogOptions::new(1 << 30);
const PORTION: usize = 3000;
/// The length of a report. A pipe of one page holds few of them, so that the writer is never far ahead of the test.
const REPORT_BYTES: usize = 100;
const PAGE_BYTES: usize = 4096;

/// The writer: takes up the log and moves bytes to it until the pipe ends, or until it is killed.
fn write_until_killed(dir: &Path) {
    let (_log, mut writer) = Log::recover(dir, OPTIONS).unwrap();
    let (pipe, mut reports) = (std::io::stdin(), std::io::stdout());
    loop {
        match writer.splice(Stream::Stdout, pipe.as_fd(), PORTION).unwrap() {
            Taken::Bytes(_) => writeln!(reports, "{:>REPORT_BYTES$}", "took").unwrap(),
            Taken::End => return,
            Taken::Empty => {
                let mut fds = [rustix::event::PollFd::new(&pipe, rustix::event::PollFlags::IN)];
                rustix::event::poll(&mut fds, None).unwrap();
            }
        }
    }
}

/// Starts the writer; its reports come from the second return value.
fn start_writer(place: &Place, pipe: &OwnedFd) -> (Child, OwnedFd) {
    let (reports, stdout) = super::pipe();
    // Before the writer has the pipe: one that holds more than a page can no longer become that small.
    rustix::pipe::fcntl_setpipe_size(&reports, PAGE_BYTES).unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::killing_the_writer_loses_and_doubles_nothing");
    let writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(DIR, &place.dir)
        .stdin(Stdio::from(pipe.try_clone().unwrap()))
        .stdout(Stdio::from(stdout))
        .spawn()
        .unwrap();
    (writer, reports)
}

#[test]
fn killing_the_writer_loses_and_doubles_nothing() {
    if let Some(dir) = std::env::var_os(DIR) {
        return write_until_killed(Path::new(&dir));
    }
    let place = Place::new();
    drop(place.create(OPTIONS));
    let (read, write) = pipe();
    let sent = pattern(0, TOTAL);
    let printed = sent.clone();
    let program = thread::spawn(move || std::fs::File::from(write).write_all(&printed).unwrap());
    let mut kills = 0;
    loop {
        let (mut writer, reports) = start_writer(&place, &read);
        let reports = BufReader::with_capacity(REPORT_BYTES, std::fs::File::from(reports));
        let mut reports = reports.lines();
        // A different number of steps each time; reading them paces the kills without a clock.
        let took = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|line| line.ends_with("took"));
        let steps = 50 + kills * 37 % 400;
        let seen = reports.by_ref().filter(took).take(steps).count();
        writer.kill().unwrap();
        let status = writer.wait().unwrap();
        if seen < steps || status.success() {
            break; // it has taken everything
        }
        assert_eq!(status.signal(), Some(9), "it did not end by itself");
        kills += 1;
    }
    program.join().unwrap();
    let (log, _writer) = place.recover(OPTIONS);
    assert!(bytes_of(&read_all(&log), Stream::Stdout) == sent);
    assert!(kills >= 20, "{kills}");
}
