//! Ending programs: the whole process tree, whatever it does.

use std::time::Instant;

use headwater_sandbox::wire::{Cause, Rlimits, Target, ToInit};

use crate::harness::{LONG, Options, Worker, is_alive, read_until};

/// Starts a script and reads the pids that it prints, one per line.
fn start_pids(worker: &Worker, script: &str, count: usize) -> (headwater_protocol::ExecutionId, Vec<i32>) {
    start_pids_with(worker, worker.spec(&["bash", "-c", script]), count)
}

fn start_pids_with(
    worker: &Worker,
    start: headwater_sandbox::wire::Start,
    count: usize,
) -> (headwater_protocol::ExecutionId, Vec<i32>) {
    let program = worker.start(start);
    let text = read_until(&program.fds[0], |text| text.lines().count() == count && text.ends_with('\n'));
    let pids: Vec<i32> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(pids.len(), count, "{text}");
    (program.id, pids)
}

const STUBBORN_GRANDCHILD: &str =
    "setsid bash -c 'trap \"\" TERM; echo $BASHPID; while :; do sleep 1000; done' & echo $$; wait";
const DAEMON: &str = "(setsid bash -c 'echo $BASHPID; exec >/dev/null 2>&1; exec sleep 1000' &) ; sleep 0.01";

#[test]
fn a_timeout_ends_a_stubborn_grandchild_in_another_session() {
    let worker = Worker::launch();
    let mut start = worker.spec(&["bash", "-c", STUBBORN_GRANDCHILD]);
    start.timeout_ms = Some(500);
    start.grace_ms = 300;
    let (id, pids) = start_pids_with(&worker, start, 2);
    let exit = worker.exit(id);
    assert_eq!((exit.cause, exit.signal), (Some(Cause::TimedOut), Some(libc::SIGTERM)));
    assert!(exit.duration_us >= 500_000);
    worker.assert_gone(id, &pids);
}

#[test]
fn a_tree_that_heeds_sigterm_is_gone_before_the_grace_is_over() {
    let worker = Worker::launch();
    let (id, pids) = start_pids(&worker, "echo $$; sleep 1000", 1);
    worker.stop(id, Cause::Cancelled, 3_600_000);
    let exit = worker.exit(id);
    assert_eq!((exit.cause, exit.signal), (Some(Cause::Cancelled), Some(libc::SIGTERM)));
    worker.assert_gone(id, &pids);
}

#[test]
fn a_second_stop_with_less_grace_kills_and_the_first_cause_stays() {
    let worker = Worker::launch();
    let (id, pids) = start_pids(&worker, "trap '' TERM; echo $$; while :; do sleep 1000; done", 1);
    worker.stop(id, Cause::OutputLimit, 3_600_000);
    worker.await_processes(id, |found| !found.is_empty());
    worker.stop(id, Cause::Cancelled, 0);
    let exit = worker.exit(id);
    assert_eq!((exit.cause, exit.signal), (Some(Cause::OutputLimit), Some(libc::SIGKILL)));
    worker.assert_gone(id, &pids);
}

#[test]
fn a_program_that_had_ended_by_itself_was_not_stopped() {
    let worker = Worker::launch();
    for _ in 0..20 {
        let program = worker.start(worker.shell("exit 3"));
        let begun = Instant::now();
        while is_alive(program.pid) {
            assert!(begun.elapsed() < LONG);
            std::thread::yield_now();
        }
        worker.stop(program.id, Cause::Cancelled, 1000);
        let exit = worker.exit(program.id);
        assert_eq!((exit.code, exit.cause), (Some(3), None));
    }
}

#[test]
fn a_daemon_is_listed_after_its_program_has_ended_and_is_ended_by_stop() {
    let worker = Worker::launch();
    let (id, pids) = start_pids(&worker, DAEMON, 1);
    assert_eq!(worker.exit(id).code, Some(0));
    let found = worker.await_processes(id, |found| found.len() == 1);
    assert_eq!(found[0].pid, pids[0]);
    // Even after the worker has released the execution.
    worker.send(&ToInit::ExitLogged { execution: id });
    worker.send(&ToInit::Release { execution: id });
    // Until it has called exec, the daemon has the name of the shell that forked it.
    let found = worker.await_processes(id, |found| found.len() == 1 && found[0].name == "sleep");
    assert_eq!(found[0].pid, pids[0]);
    worker.stop(id, Cause::Cancelled, 5000);
    worker.assert_gone(id, &pids);
}

#[test]
fn the_program_is_listed_first_and_a_hostile_name_is_only_a_name() {
    let worker = Worker::launch();
    let script = "printf ') R 1 (' >/proc/$$/comm; sleep 1000 & echo $!; wait";
    let (id, pids) = start_pids(&worker, script, 1);
    let found = worker.await_processes(id, |found| found.len() == 2);
    assert_eq!(found[0].name, ") R 1 (");
    assert_eq!((found[1].pid, found[1].ppid), (pids[0], found[0].pid));
}

#[test]
fn stopped_processes_are_ended() {
    let worker = Worker::launch();
    let (id, pids) = start_pids(&worker, "sleep 1000 & echo $!; echo $$; kill -STOP $! $$; wait", 2);
    worker.stop(id, Cause::Cancelled, 3_600_000);
    assert_eq!(worker.exit(id).signal, Some(libc::SIGTERM));
    worker.assert_gone(id, &pids);
}

#[test]
fn children_are_killed_with_their_program_if_so_wished_and_only_then() {
    let worker = Worker::launch();
    for kill_children in [true, false] {
        let mut start = worker.spec(&["bash", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"]);
        start.kill_children = kill_children;
        let (id, pids) = start_pids_with(&worker, start, 1);
        assert_eq!(worker.exit(id).code, Some(0));
        if kill_children {
            worker.assert_gone(id, &pids);
        } else {
            assert_eq!(worker.processes(id).len(), 1);
        }
    }
}

#[test]
fn signals_go_to_the_group_or_to_the_tree() {
    let worker = Worker::launch();
    let script = "trap 'exit 9' USR1; setsid bash -c 'echo $BASHPID; exec sleep 1000' & sleep 1000 & while :; do wait; done";
    let (id, pids) = start_pids(&worker, script, 1);
    // A child of bash that has not yet called exec may handle the signal like its shell.
    worker.await_processes(id, |found| found.iter().filter(|process| process.name == "sleep").count() == 2);
    worker.send(&ToInit::Signal { execution: id, signal: libc::SIGUSR1, target: Target::Group });
    assert_eq!(worker.exit(id).code, Some(9));
    let left = worker.await_processes(id, |found| found.len() == 1);
    assert_eq!(left[0].pid, pids[0]);
    worker.send(&ToInit::Signal { execution: id, signal: libc::SIGUSR1, target: Target::Tree });
    worker.assert_gone(id, &pids);
}

#[test]
fn only_the_tree_of_its_execution_is_ended() {
    let worker = Worker::launch();
    let (one, _) = start_pids(&worker, "echo $$; exec sleep 1000", 1);
    let (other, pids) = start_pids(&worker, "echo $$; exec sleep 1000", 1);
    worker.stop(one, Cause::Cancelled, 0);
    assert_eq!(worker.exit(one).signal, Some(libc::SIGKILL));
    worker.assert_gone(one, &[]);
    assert!(is_alive(pids[0]));
    assert_eq!(worker.processes(other).len(), 1);
}

#[test]
fn a_fork_bomb_is_ended() {
    let worker = Worker::launch_with(&Options { ordinary: true, ..Default::default() });
    let mut start =
        worker.spec(&["bash", "-c", "trap '' TERM; b() { b 2>/dev/null & b 2>/dev/null & wait; }; b"]);
    start.rlimits = Rlimits { processes: Some(150), ..Rlimits::default() };
    start.merge_output = true;
    let program = worker.start(start);
    let seen = worker.await_processes(program.id, |found| found.len() > 40);
    worker.stop(program.id, Cause::Cancelled, 0);
    assert_eq!(worker.exit(program.id).cause, Some(Cause::Cancelled));
    let pids: Vec<_> = seen.iter().map(|process| process.pid).collect();
    worker.assert_gone(program.id, &pids);
}

#[test]
fn a_process_that_forks_and_exits_all_the_time_is_caught() {
    let worker = Worker::launch();
    for grace_ms in [0, 200] {
        let script = "$SIG{TERM} = 'IGNORE'; $| = 1; print qq(up\n); while (1) { my $p = fork; exit if $p; }";
        let program = worker.start(worker.spec(&["perl", "-e", script]));
        worker.exit(program.id);
        worker.stop(program.id, Cause::Cancelled, grace_ms);
        // It holds the pipe open as long as it lives.
        read_until(&program.fds[0], |_| false);
    }
}

#[test]
fn the_end_of_init_ends_every_program() {
    let worker = Worker::launch();
    let (_, mut pids) = start_pids(&worker, STUBBORN_GRANDCHILD, 2);
    let (id, daemon) = start_pids(&worker, DAEMON, 1);
    worker.exit(id);
    pids.extend(daemon);
    worker.send(&ToInit::End);
    worker.await_end();
    for pid in pids {
        assert!(!is_alive(pid), "{pid}");
    }
}

#[test]
fn an_orphaned_init_ends_with_its_programs() {
    let mut worker = Worker::launch_with(&Options { orphan_timeout_ms: 300, ..Default::default() });
    let (_, pids) = start_pids(&worker, STUBBORN_GRANDCHILD, 2);
    worker.leave();
    let begun = Instant::now();
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(begun.elapsed() < LONG);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
