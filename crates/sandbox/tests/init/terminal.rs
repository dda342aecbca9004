//! Programs on a terminal.

use std::io::Write;
use std::os::fd::OwnedFd;

use headwater_protocol::TtySize;
use headwater_sandbox::wire::{Fds, Start, StdinFrom, Target, ToInit};

use crate::harness::{Running, Worker, read_all, read_until};

fn on_terminal(worker: &Worker, script: &str) -> Start {
    let mut start = worker.shell(script);
    start.tty = Some(TtySize { rows: 31, cols: 97 });
    start.stdin = StdinFrom::Open;
    start
}

fn write(terminal: &OwnedFd, bytes: &[u8]) {
    std::fs::File::from(terminal.try_clone().unwrap()).write_all(bytes).unwrap();
}

fn begin(worker: &Worker, script: &str, until: &str) -> Running {
    let program = worker.start(on_terminal(worker, script));
    read_until(&program.fds[0], |text| text.contains(until));
    program
}

#[test]
fn a_terminal_has_its_size_and_is_the_controlling_one() {
    let worker = Worker::launch();
    let script =
        "stty size; echo via-tty >/dev/tty; test -t 0 && test -t 1 && test -t 2 && echo all; stty -a";
    let program = worker.start(on_terminal(&worker, script));
    assert_eq!(program.kind, Fds::Tty);
    assert_eq!(program.fds.len(), 4);
    let text = read_all(&program.fds[0]);
    assert!(text.starts_with("31 97\r\nvia-tty\r\nall\r\n"), "{text}");
    assert!(text.contains(" iutf8"), "{text}");
    assert_eq!(worker.exit(program.id).code, Some(0));
}

#[test]
fn control_c_interrupts_the_foreground_only() {
    let worker = Worker::launch();
    let program = begin(&worker, "echo ready; exec sleep 1000", "ready");
    write(&program.fds[0], &[3]);
    assert_eq!(worker.exit(program.id).signal, Some(libc::SIGINT));

    let child = "trap \"echo child-got-it; exit 42\" INT; echo ready; while :; do sleep 0.01; done";
    let script = format!("trap 'echo shell-got-it' INT; set -m; sh -c '{child}'; echo code=$?");
    let mut start = on_terminal(&worker, "");
    start.argv = ["bash", "-c", &script].map(Into::into).into();
    let program = worker.start(start);
    read_until(&program.fds[0], |text| text.contains("ready"));
    write(&program.fds[0], &[3]);
    let text = read_all(&program.fds[0]);
    assert!(text.contains("child-got-it") && text.contains("code=42"), "{text}");
    assert!(!text.contains("shell-got-it"), "{text}");
    assert_eq!(worker.exit(program.id).code, Some(0));
}

#[test]
fn a_signal_to_the_group_goes_to_the_foreground_of_the_terminal() {
    let worker = Worker::launch();
    let mut start = on_terminal(&worker, "");
    let script = "trap 'echo shell-got-it' USR1; set -m; sh -c 'echo ready; exec sleep 1000'; echo code=$?";
    start.argv = ["bash", "-c", script].map(Into::into).into();
    let program = worker.start(start);
    read_until(&program.fds[0], |text| text.contains("ready"));
    worker.send(&ToInit::Signal { execution: program.id, signal: libc::SIGUSR1, target: Target::Group });
    let text = read_all(&program.fds[0]);
    assert!(
        text.contains(&format!("code={}", 128 + libc::SIGUSR1)) && !text.contains("shell-got-it"),
        "{text}"
    );
}

#[test]
fn a_terminal_ends_when_the_program_has_though_init_keeps_its_side() {
    let worker = Worker::launch();
    let program = worker.start(on_terminal(&worker, "echo last"));
    assert_eq!(read_all(&program.fds[0]), "last\r\n");
    worker.exit(program.id);
}

#[test]
fn the_relay_of_a_terminal_is_a_pipe_for_the_worker() {
    let worker = Worker::launch();
    let program = worker.start(on_terminal(&worker, "echo moved"));
    worker.exit(program.id);
    let (master, read, write) = (&program.fds[0], &program.fds[1], &program.fds[2]);
    crate::harness::wait_readable(std::os::fd::AsFd::as_fd(master));
    let flags = rustix::pipe::SpliceFlags::NONBLOCK;
    let moved = rustix::pipe::splice(master, None, write, None, 65536, flags).unwrap();
    assert_eq!(moved, 7);
    assert_eq!(read_until(read, |text| text.len() == 7), "moved\r\n");
}
