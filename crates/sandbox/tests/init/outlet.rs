//! The outlet: a socket inside the session that the worker accepts on.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use headwater_protocol::SandboxKind;
use headwater_sandbox::wire::{FromInit, ToInit};

use crate::harness::{Options, Worker, read_all};

const PORT: u16 = 4180;

fn open(worker: &Worker) -> TcpListener {
    worker.send(&ToInit::Listen { port: PORT });
    let (FromInit::Listening, mut fds) = worker.next() else { panic!("no outlet") };
    let listener = TcpListener::from(fds.pop().unwrap());
    listener.set_nonblocking(false).unwrap();
    listener
}

fn answer(listener: &TcpListener, text: &[u8]) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut byte = [0; 2];
    stream.read_exact(&mut byte).unwrap();
    stream.write_all(text).unwrap();
}

const KNOCK: &str = "exec 3<>/dev/tcp/127.0.0.1/4180; echo x >&3; cat <&3";

#[test]
fn programs_find_the_worker_at_the_outlet_and_the_next_worker_too() {
    for ordinary in [false, true] {
        let options = Options { sandbox: SandboxKind::Full, ordinary, ..Default::default() };
        let mut worker = Worker::launch_with(&options);
        let listener = open(&worker);
        let program = worker.start(worker.spec(&["bash", "-c", KNOCK]));
        answer(&listener, b"first\n");
        assert_eq!(read_all(&program.fds[0]), "first\n");
        assert_eq!(worker.exit(program.id).code, Some(0));
        // A connection made while no worker accepts waits for the next worker.
        worker.leave();
        drop(listener);
        worker.reconnect();
        let program = worker.start(worker.spec(&["bash", "-c", KNOCK]));
        answer(&open(&worker), b"second\n");
        assert_eq!(read_all(&program.fds[0]), "second\n");
    }
}

#[test]
fn no_program_has_the_outlet_or_can_open_another_at_its_place() {
    let options = Options { sandbox: SandboxKind::Full, ..Default::default() };
    let worker = Worker::launch_with(&options);
    let _listener: OwnedFd = open(&worker).into();
    let script = "ls -l /proc/self/fd | grep -c socket; \
                  python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 4180))' 2>&1 | tail -1";
    let program = worker.start(worker.shell(script));
    let text = read_all(&program.fds[0]);
    assert!(text.starts_with("0\n") && text.contains("Address already in use"), "{text}");
}
