//! Programs that cannot be started, and invalid messages.

use headwater_protocol::ExecutionId;
use headwater_sandbox::wire::{Cause, StartFailureKind, Target, ToInit};

use crate::harness::{Options, Worker, read_all};

#[test]
fn a_missing_command_is_named() {
    let worker = Worker::launch();
    for name in ["no-such-command", "./no/such", "/no/such"] {
        let failure = worker.start_fails(worker.spec(&[name]));
        assert_eq!(failure.kind, StartFailureKind::NotFound);
        assert_eq!(failure.message, format!("command not found: `{name}`"));
    }
    for argv in [&[][..], &[""]] {
        assert_eq!(worker.start_fails(worker.spec(argv)).kind, StartFailureKind::NotFound);
    }
}

#[test]
fn a_file_that_cannot_be_executed_is_named() {
    let worker = Worker::launch();
    std::fs::write(worker.dir.path().join("plain"), "text").unwrap();
    std::fs::write(worker.dir.path().join("lost"), "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(worker.dir.path().join("lost"), mode).unwrap();
    for (name, message) in [
        ("./plain", "`./plain` is not executable"),
        ("/", "`/` is not executable"),
        ("./lost", "the interpreter that `./lost` asks for is missing"),
    ] {
        let failure = worker.start_fails(worker.spec(&[name]));
        assert_eq!((failure.kind, failure.message.as_str()), (StartFailureKind::NotExecutable, message));
    }
}

#[test]
fn a_bad_working_directory_is_named() {
    let worker = Worker::launch();
    for (cwd, message) in [
        ("/no/such", "working directory `/no/such` does not exist"),
        ("/dev/null", "working directory `/dev/null` is not a directory"),
    ] {
        let mut start = worker.spec(&["true"]);
        start.cwd = cwd.into();
        let failure = worker.start_fails(start);
        assert_eq!((failure.kind, failure.message.as_str()), (StartFailureKind::BadCwd, message));
    }
}

#[test]
fn arguments_that_are_too_long_and_texts_with_nul_are_refused() {
    let worker = Worker::launch();
    let failure = worker.start_fails(worker.spec(&["true", &"x".repeat(4 << 20)]));
    assert_eq!(failure.kind, StartFailureKind::TooLong);
    assert!(failure.message.contains("`true`"), "{}", failure.message);
    let failure = worker.start_fails(worker.spec(&["echo", "a\0b"]));
    assert!(failure.message.contains("an argument contains a NUL byte"), "{}", failure.message);
}

#[test]
fn without_descriptors_a_start_fails_and_init_goes_on() {
    let worker = Worker::launch_with(&Options { open_files: Some(48), ..Default::default() });
    let mut running = Vec::new();
    let failure = loop {
        assert!(running.len() < 48);
        let start = worker.spec(&["sleep", "1000"]);
        match worker.try_start(start, &[]) {
            Ok(program) => running.push(program.id),
            Err(failure) => break failure,
        }
    };
    assert!(!running.is_empty());
    assert_eq!(failure.kind, StartFailureKind::NoResources);
    let first = running[0];
    worker.stop(first, Cause::Cancelled, 0);
    worker.exit(first);
    worker.send(&ToInit::ExitLogged { execution: first });
    worker.send(&ToInit::Release { execution: first });
    assert_eq!(read_all(&worker.start(worker.spec(&["echo", "on"])).fds[0]), "on\n");
}

#[test]
fn requests_for_unknown_executions_and_garbage_are_ignored() {
    let worker = Worker::launch();
    let execution = ExecutionId::random();
    worker.send_bytes(&[9, 9, 9]);
    worker.send_bytes(&[0, 250, 250, 250]);
    for target in [Target::Group, Target::Tree] {
        worker.send(&ToInit::Signal { execution, signal: 9, target });
    }
    worker.stop(execution, Cause::Cancelled, 0);
    for message in
        [ToInit::CloseStdin { execution }, ToInit::ExitLogged { execution }, ToInit::Release { execution }]
    {
        worker.send(&message);
    }
    assert!(worker.processes(execution).is_empty());
    let program = worker.start(worker.spec(&["sleep", "1000"]));
    for signal in [-9, 0, 65, 1000, i32::MIN] {
        worker.send(&ToInit::Signal { execution: program.id, signal, target: Target::Group });
    }
    assert_eq!(worker.processes(program.id).len(), 1);
}
