//! The same init inside its walls: everything it needs from the kernel passes the filter, as root and as an
//! ordinary user.

use headwater_protocol::{SandboxKind, TtySize};
use headwater_sandbox::wire::{Cause, Rlimits, StdinFrom, Target, ToInit};

use crate::harness::{Options, Worker, read_all, read_until};

/// Walls built by root, if the tests run as root, and by an ordinary user.
fn each_way(test: impl Fn(Worker)) {
    for ordinary in [false, true] {
        let options = Options { sandbox: SandboxKind::Full, ordinary, ..Default::default() };
        test(Worker::launch_with(&options));
    }
}

#[test]
fn programs_run_on_pipes_and_on_terminals() {
    each_way(|worker| {
        let program = worker.start(worker.shell("echo $PPID; pwd; echo apart >&2; exit 3"));
        assert_eq!(read_all(&program.fds[0]), "1\n/workspace\n");
        assert_eq!(read_all(&program.fds[1]), "apart\n");
        assert_eq!(worker.exit(program.id).code, Some(3));

        let mut start = worker.shell("stty size; echo via-tty >/dev/tty; tty");
        start.tty = Some(TtySize { rows: 11, cols: 22 });
        start.stdin = StdinFrom::Open;
        let program = worker.start(start);
        assert_eq!(read_all(&program.fds[0]), "11 22\r\nvia-tty\r\n/dev/pts/0\r\n");
    });
}

#[test]
fn a_long_message_passes_and_failures_are_named() {
    each_way(|worker| {
        let long = "x".repeat(100_000);
        let program = worker.start(worker.spec(&["printf", "%s%s", &long, &long]));
        assert_eq!(read_all(&program.fds[0]).len(), 200_000);
        let failure = worker.start_fails(worker.spec(&["no-such-command"]));
        assert_eq!(failure.message, "command not found: `no-such-command`");
    });
}

#[test]
fn trees_are_found_signalled_and_ended() {
    each_way(|worker| {
        let daemon =
            "setsid bash -c 'trap \"\" TERM; echo up; exec >&- 2>&-; while :; do sleep 1000; done' & wait";
        let mut start = worker.spec(&["bash", "-c", daemon]);
        start.timeout_ms = Some(300);
        start.grace_ms = 100;
        let program = worker.start(start);
        read_until(&program.fds[0], |text| text.contains("up"));
        assert!(worker.processes(program.id).len() >= 2);
        let exit = worker.exit(program.id);
        assert_eq!((exit.cause, exit.signal), (Some(Cause::TimedOut), Some(libc::SIGTERM)));
        worker.assert_gone(program.id, &[]);

        let program = worker.start(worker.spec(&["sleep", "1000"]));
        worker.send(&ToInit::Signal { execution: program.id, signal: libc::SIGHUP, target: Target::Group });
        assert_eq!(worker.exit(program.id).signal, Some(libc::SIGHUP));
    });
}

#[test]
fn a_program_cannot_shed_its_tag() {
    each_way(|worker| {
        let script =
            "prlimit --rttime=1:1 true; prlimit --rttime --output SOFT --noheadings --pid $$; sleep 1000";
        let program = worker.start(worker.spec(&["bash", "-c", script]));
        let text = read_until(&program.fds[0], |text| text.ends_with('\n'));
        assert!(text.trim().parse::<u64>().unwrap() > 1 << 20, "{text}");
        assert!(!read_until(&program.fds[1], |text| text.ends_with('\n')).is_empty());
        worker.stop(program.id, Cause::Cancelled, 0);
        worker.assert_gone(program.id, &[]);
    });
}

#[test]
fn a_fork_bomb_inside_is_ended() {
    each_way(|worker| {
        let script = "trap '' TERM; b() { b 2>/dev/null & b 2>/dev/null & wait; }; b";
        let mut start = worker.spec(&["bash", "-c", script]);
        start.rlimits = Rlimits { processes: Some(100), ..Rlimits::default() };
        let program = worker.start(start);
        worker.await_processes(program.id, |found| found.len() > 30);
        worker.stop(program.id, Cause::Cancelled, 0);
        worker.exit(program.id);
        worker.assert_gone(program.id, &[]);
    });
}

#[test]
fn a_program_that_stops_others_before_they_run_does_not_stop_init() {
    each_way(|worker| {
        let script = "$| = 1; print qq(up\n); while (1) { kill STOP => $_ for ($$ + 1 .. $$ + 64) }";
        let hostile = worker.start(worker.spec(&["perl", "-e", script]));
        read_until(&hostile.fds[0], |text| text.contains("up"));
        for _ in 0..10 {
            // Stopped as soon as it runs, or cancelled before: there is an answer in any case.
            if let Ok(victim) = worker.try_start(worker.spec(&["sleep", "1000"]), &[]) {
                worker.stop(victim.id, Cause::Cancelled, 0);
                worker.exit(victim.id);
            }
        }
        worker.stop(hostile.id, Cause::Cancelled, 0);
        worker.exit(hostile.id);
        assert_eq!(read_all(&worker.start(worker.spec(&["echo", "on"])).fds[0]), "on\n");
    });
}

#[test]
fn the_end_of_init_is_the_end_of_everything_inside() {
    each_way(|worker| {
        let program = worker.start(worker.shell("trap '' TERM; setsid sleep 1000 & echo up; sleep 1000"));
        read_until(&program.fds[0], |text| text.contains("up"));
        worker.send(&ToInit::End);
        worker.await_end();
        assert_eq!(read_all(&program.fds[0]), "", "no writer is left");
    });
}

#[test]
fn a_worker_comes_back_to_what_runs_inside() {
    each_way(|mut worker| {
        let program = worker.start(worker.shell("echo before; exit 6"));
        worker.leave();
        let adopted = worker.reconnect().pop().unwrap();
        assert_eq!(read_all(&adopted.running.fds[0]), "before\n");
        let exit = adopted.exit.unwrap_or_else(|| worker.exit(program.id));
        assert_eq!(exit.code, Some(6));
    });
}
