//! Code that is too long for an argument, in a file while its program runs.

use std::path::PathBuf;

use headwater_sandbox::wire::{CodeFile, Start, StdinFrom, ToInit};

use crate::harness::{Worker, read_until};

/// A shell that runs the code in a file with this name, and the file's path.
fn with_code(worker: &Worker, name: &str, text: &str) -> (Start, PathBuf) {
    let path = worker.dir.path().join(name);
    let inside = path.to_str().unwrap().to_owned();
    let mut start = worker.spec(&["sh", &inside]);
    start.stdin = StdinFrom::Open;
    start.code_file = Some(CodeFile { path: inside, text: text.into() });
    (start, path)
}

#[test]
fn a_code_file_exists_while_its_program_runs_and_is_gone_when_its_exit_is_reported() {
    let mut worker = Worker::launch();
    // Far more than fits in one packet.
    let text = format!("{}echo ready; read go; exit 3\n", "# a remark\n".repeat(100_000));
    let (start, path) = with_code(&worker, "code.sh", &text);
    let program = worker.start(start);
    read_until(&program.fds[0], |text| text.contains("ready"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    worker.leave(); // init needs no worker for it
    assert!(worker.reconnect().pop().unwrap().exit.is_none());
    assert!(path.exists());
    drop(program.fds);
    worker.send(&ToInit::CloseStdin { execution: program.id });
    assert_eq!(worker.exit(program.id).code, Some(3));
    assert!(!path.exists());
}

#[test]
fn a_file_of_code_replaces_nothing_and_is_gone_when_its_program_cannot_start() {
    let worker = Worker::launch();
    let (start, path) = with_code(&worker, "code.sh", "echo hello");
    let target = worker.dir.path().join("target");
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let failure = worker.try_start(start, &[]).map(|running| running.id).unwrap_err();
    assert!(failure.message.contains("code"), "{failure:?}");
    assert!(!target.exists() && path.is_symlink());

    let (mut start, path) = with_code(&worker, "other.sh", "echo hello");
    start.argv = vec!["no-such-command".into()];
    assert!(worker.try_start(start, &[]).is_err());
    assert!(!path.exists());
}

#[test]
fn a_scratch_folder_goes_with_its_program_whatever_that_left_in_it() {
    let worker = Worker::launch();
    let (path, outside) = (worker.dir.path().join("scratch"), worker.dir.path().join("outside"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "kept").unwrap();
    let inside = path.to_str().unwrap().to_owned();
    let script = "cd $0 && mkdir -p a/b/c && touch a/b/c/d e && ln -s ../outside f && ln -s .. a/g && cat code && exit 4";
    let mut start = worker.spec(&["sh", "-c", script, &inside]);
    start.code_file = Some(CodeFile { path: format!("{inside}/code"), text: "in it".into() });
    start.scratch = Some(inside.clone());
    let program = worker.start(start);
    read_until(&program.fds[0], |text| text.contains("in it"));
    assert_eq!(worker.exit(program.id).code, Some(4));
    assert!(!path.exists() && outside.join("kept").exists());

    // An existing file is neither used nor removed.
    std::fs::create_dir(&path).unwrap();
    let mut start = worker.spec(&["true"]);
    start.scratch = Some(inside.clone());
    assert!(worker.try_start(start, &[]).is_err());
    assert!(path.exists());
    std::fs::remove_dir(&path).unwrap();

    let mut start = worker.spec(&["no-such-command"]);
    start.scratch = Some(inside);
    assert!(worker.try_start(start, &[]).is_err());
    assert!(!path.exists());
}
