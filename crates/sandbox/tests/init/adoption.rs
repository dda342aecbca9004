//! Workers that disconnect and reconnect.

use std::io::Write;

use headwater_protocol::TtySize;
use headwater_sandbox::wire::{Cause, Fds, FromInit, StdinFrom, ToInit};

use crate::harness::{Worker, read_all, read_until};

#[test]
fn output_and_exits_without_a_worker_are_handed_to_the_next_one() {
    let mut worker = Worker::launch();
    let mut start = worker.shell("read go; seq 1 20000; echo done >&2; exit 5");
    start.stdin = StdinFrom::Open;
    start.note = b"remember".to_vec();
    let mut program = worker.start(start);
    let mut input = std::fs::File::from(program.fds.pop().unwrap());
    worker.leave();
    drop(program.fds);
    input.write_all(b"go\n").unwrap();
    drop(input);
    while crate::harness::is_alive(program.pid) {
        std::thread::yield_now();
    }
    for _ in 0..2 {
        let mut adopted = worker.reconnect();
        assert_eq!(adopted.len(), 1);
        let adopted = adopted.pop().unwrap();
        assert_eq!((adopted.running.id, adopted.running.pid), (program.id, program.pid));
        assert_eq!(adopted.note, b"remember");
        assert_eq!(adopted.exit.unwrap().code, Some(5));
        assert_eq!(adopted.running.kind, Fds::Pipes { outputs: 2, stdin: true });
        worker.leave();
    }
    let adopted = worker.reconnect().pop().unwrap();
    let text = read_all(&adopted.running.fds[0]);
    assert!(text.ends_with('\n') && text.lines().eq((1..=20000).map(|number| number.to_string())));
    assert_eq!(read_all(&adopted.running.fds[1]), "done\n");
}

#[test]
fn a_running_program_is_adopted_and_its_exit_reported_once() {
    let mut worker = Worker::launch();
    let mut start = worker.spec(&["cat"]);
    start.stdin = StdinFrom::Open;
    let program = worker.start(start);
    worker.leave();
    let adopted = worker.reconnect().pop().unwrap();
    assert!(adopted.exit.is_none());
    drop(program.fds);
    let mut fds = adopted.running.fds;
    let mut input = std::fs::File::from(fds.pop().unwrap());
    input.write_all(b"hello\n").unwrap();
    assert_eq!(read_until(&fds[0], |text| text.ends_with('\n')), "hello\n");
    drop(input);
    worker.send(&ToInit::CloseStdin { execution: program.id });
    assert_eq!(worker.exit(program.id).code, Some(0));
    // Nothing more: the answer to a request is the next message.
    assert!(worker.processes(program.id).is_empty());
    assert!(worker.saw_nothing_else());
}

#[test]
fn how_much_input_was_sent_is_known_to_the_next_worker() {
    let mut worker = Worker::launch();
    let (mut piped, mut typed) = (worker.spec(&["cat"]), worker.spec(&["cat"]));
    (piped.stdin, typed.stdin) = (StdinFrom::Open, StdinFrom::Open);
    typed.tty = Some(TtySize::default());
    for (start, buffer, target) in [(piped, 2, 3), (typed, 3, 0)] {
        let program = worker.start(start);
        for sent in [0, 5, 10] {
            worker.leave();
            let adopted =
                worker.reconnect().into_iter().find(|adopted| adopted.running.id == program.id).unwrap();
            let fds = adopted.running.fds;
            assert_eq!((fds.len(), rustix::fs::tell(&fds[buffer])), (4, Ok(sent)));
            rustix::io::pwrite(&fds[buffer], b"input, and bytes that are never sent", sent).unwrap();
            assert_eq!(rustix::fs::sendfile(&fds[target], &fds[buffer], None, 5), Ok(5));
        }
    }
}

#[test]
fn an_exit_is_repeated_until_it_is_logged_and_an_execution_kept_until_released() {
    let mut worker = Worker::launch();
    let program = worker.start(worker.shell("exit 4"));
    assert_eq!(worker.exit(program.id).code, Some(4));
    worker.leave();
    let adopted = worker.reconnect().pop().unwrap();
    assert_eq!(adopted.exit.unwrap().code, Some(4));
    worker.send(&ToInit::ExitLogged { execution: program.id });
    worker.leave();
    let adopted = worker.reconnect().pop().unwrap();
    assert!(adopted.exit.is_none());
    assert_eq!(adopted.running.fds.len(), 2);
    worker.send(&ToInit::Release { execution: program.id });
    worker.leave();
    assert!(worker.reconnect().is_empty());
}

#[test]
fn an_execution_released_early_is_kept_without_descriptors_until_its_exit_is_logged() {
    let mut worker = Worker::launch();
    let program = worker.start(worker.spec(&["sleep", "1000"]));
    worker.send(&ToInit::Release { execution: program.id });
    worker.leave();
    let adopted = worker.reconnect().pop().unwrap();
    assert_eq!((adopted.running.kind, adopted.running.fds.len()), (Fds::None, 0));
    worker.stop(program.id, Cause::Cancelled, 1000);
    assert_eq!(worker.exit(program.id).cause, Some(Cause::Cancelled));
    worker.send(&ToInit::ExitLogged { execution: program.id });
    worker.leave();
    assert!(worker.reconnect().is_empty());
}

#[test]
fn commands_that_a_worker_sent_before_it_died_are_executed() {
    let mut worker = Worker::launch();
    let program = worker.start(worker.spec(&["sleep", "1000"]));
    let last = worker.spec(&["true"]);
    let id = last.execution;
    // The answers to these cannot be delivered.
    worker.stop(program.id, Cause::Cancelled, 0);
    worker.send(&ToInit::Processes { execution: program.id });
    worker.send(&ToInit::Start(Box::new(last)));
    worker.leave();
    let adopted = worker.reconnect();
    assert_eq!(adopted.len(), 2);
    assert!(adopted.iter().any(|adopted| adopted.running.id == id));
    for adopted in adopted {
        if adopted.exit.is_none() {
            worker.exit(adopted.running.id);
        }
    }
}

#[test]
fn deadlines_are_enforced_while_no_worker_runs() {
    let mut worker = Worker::launch();
    let mut start = worker.spec(&["sleep", "1000"]);
    start.timeout_ms = Some(200);
    let program = worker.start(start);
    worker.leave();
    while crate::harness::is_alive(program.pid) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let adopted = worker.reconnect().pop().unwrap();
    assert_eq!(adopted.exit.unwrap().cause, Some(Cause::TimedOut));
}

#[test]
fn a_worker_that_does_not_listen_loses_nothing_when_it_does_again() {
    let worker = Worker::launch();
    let count = 2000;
    let mut sent = Vec::new();
    // Far more answers than the socket holds. Sending stops when init stops reading requests.
    for _ in 0..count {
        let mut start = worker.spec(&["true"]);
        start.merge_output = true;
        let id = start.execution;
        if !worker.send_if_room(&ToInit::Start(Box::new(start))) {
            break;
        }
        sent.push(id);
    }
    let mut started = 0;
    let mut exited = 0;
    while started < sent.len() || exited < sent.len() {
        match worker.next().0 {
            FromInit::Started { .. } => started += 1,
            FromInit::Exited { execution, .. } => {
                exited += 1;
                worker.send(&ToInit::ExitLogged { execution });
                worker.send(&ToInit::Release { execution });
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((started, exited), (sent.len(), sent.len()));
}
