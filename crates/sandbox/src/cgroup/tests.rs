//! Tests with real cgroups of this host, below the one that the tests run in. Each test uses its own folder.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use headwater_protocol::Limits;

use super::{CgroupRoot, Controllers, Discovered, Folder, SessionCgroup, Version};

/// A folder for one test, removed with its contents on drop.
struct TestRoot(CgroupRoot);

impl TestRoot {
    fn new(test: &str) -> Self {
        match CgroupRoot::discover() {
            Discovered::Ready(root) => {
                Self(root.below(&format!("headwater-test-{test}-{}", std::process::id())).unwrap())
            }
            Discovered::Nothing { reasons, fix } => panic!("this host gives no cgroups: {reasons:?}; {fix}"),
        }
    }
}

impl Drop for TestRoot {
    fn drop(&mut self) {
        for name in self.0.list().unwrap_or_default() {
            if let Ok(left) = self.0.reopen(&name) {
                let _ = left.kill();
                let _ = left.remove();
            }
        }
    }
}

/// A shell in the cgroup that runs `script` when it reads a line.
fn shell(cgroup: &SessionCgroup, script: &str) -> Child {
    let child = Command::new("sh")
        .args(["-c", &format!("read go; {script}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for file in cgroup.procs_files().unwrap() {
        std::fs::File::from(file).write_all(child.id().to_string().as_bytes()).unwrap();
    }
    child
}

fn go(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
}

#[test]
fn a_program_that_takes_too_much_memory_is_ended_and_counted() {
    let place = TestRoot::new("memory");
    let cgroup = place.0.create_session("ses_a").unwrap();
    cgroup.set_limits(&Limits { memory_bytes: Some(32 << 20), ..Limits::default() }).unwrap();
    let hungry = "exec perl -e 'my $x = \"x\" x (100 << 20); print length $x'";
    let mut child = shell(&cgroup, hungry);
    assert_eq!(cgroup.oom_kills(), 0);
    go(&mut child);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(cgroup.oom_kills() >= 1);
    assert!(cgroup.memory_peak().unwrap() > 16 << 20);
    assert!(cgroup.memory_current().unwrap() < 32 << 20);

    let roomy = place.0.create_session("ses_b").unwrap();
    roomy.set_limits(&Limits { memory_bytes: Some(512 << 20), ..Limits::default() }).unwrap();
    let mut child = shell(&roomy, hungry);
    go(&mut child);
    assert!(child.wait().unwrap().success());
    assert_eq!(roomy.oom_kills(), 0);
}

#[test]
fn a_limit_on_memory_can_be_raised_and_lowered() {
    let place = TestRoot::new("raise");
    let cgroup = place.0.create_session("ses_a").unwrap();
    for megabytes in [64, 256, 32] {
        cgroup.set_limits(&Limits { memory_bytes: Some(megabytes << 20), ..Limits::default() }).unwrap();
    }
}

#[test]
fn processes_are_limited_in_a_session_and_further_in_an_execution() {
    let place = TestRoot::new("pids");
    let session = place.0.create_session("ses_a").unwrap();
    session.set_limits(&Limits { pids: Some(8), ..Limits::default() }).unwrap();
    let execution = session.child("exe_a").unwrap();
    execution.set_limits(&Limits { pids: Some(2), ..Limits::default() }).unwrap();
    let script = "perl -e 'my $n = 0; while ($n < 20) { my $p = fork; last unless defined $p; \
                  if (!$p) { sleep 100; exit } $n++ } print $n; kill 9, -getpgrp if 0'; true";
    let count = |cgroup: &SessionCgroup| {
        let mut child = shell(cgroup, script);
        go(&mut child);
        let mut text = [0; 2];
        let read = std::io::Read::read(child.stdout.as_mut().unwrap(), &mut text).unwrap();
        child.wait().unwrap();
        cgroup.kill().unwrap();
        String::from_utf8_lossy(&text[..read]).parse::<u32>().unwrap()
    };
    assert_eq!(count(&execution), 0, "the shell and perl are two");
    assert_eq!(count(&session), 6, "the shell and perl are two of eight");
}

#[test]
fn a_share_of_the_processors_is_set() {
    let place = TestRoot::new("cpu");
    let cgroup = place.0.create_session("ses_a").unwrap();
    cgroup.set_limits(&Limits { cpus: Some(0.5), ..Limits::default() }).unwrap();
    let folder = cgroup.folders.iter().find(|folder| folder.controllers.cpu).unwrap();
    let (file, expected) = match folder.version {
        Version::One => ("cpu.cfs_quota_us", "50000"),
        Version::Two => ("cpu.max", "50000 100000"),
    };
    assert_eq!(std::fs::read_to_string(folder.path.join(file)).unwrap().trim(), expected);
}

#[test]
fn all_processes_end_at_once_with_and_without_the_kernels_help() {
    let place = TestRoot::new("kill");
    let ways = [("ses_a", super::kill::kill as fn(&[Folder]) -> _), ("ses_b", super::kill::one_by_one)];
    for (name, kill) in ways {
        let cgroup = place.0.create_session(name).unwrap();
        // The shell must not end by itself if it outlives the others for a moment.
        let mut child = shell(&cgroup, "sleep 1000 & setsid sleep 1000 & wait; exec sleep 1000");
        go(&mut child);
        // A shell that is forking when no process may fork any more reports that and exits by itself.
        while super::kill::processes(&cgroup.folders).len() < 3 {
            std::thread::yield_now();
        }
        kill(&cgroup.folders).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        cgroup.remove().unwrap();
        assert!(cgroup.is_empty());
    }
}

#[test]
fn the_cgroup_of_a_worker_exists_while_it_has_a_session() {
    let place = TestRoot::new("folder");
    let there = || place.0.paths().filter(|path| path.is_dir()).count();
    assert_eq!(there(), 0);
    let (first, second) =
        (place.0.create_session("ses_a").unwrap(), place.0.create_session("ses_b").unwrap());
    assert_eq!(there(), place.0.paths().count());
    first.remove().unwrap();
    assert_eq!(there(), place.0.paths().count());
    second.remove().unwrap();
    assert_eq!(there(), 0);
    assert!(place.0.list().unwrap().is_empty());
}

#[test]
fn sessions_come_and_go_at_once_without_harm_to_each_other() {
    let place = TestRoot::new("race");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let root = &place.0;
            scope.spawn(move || {
                for round in 0..50 {
                    root.create_session(&format!("ses_{thread}_{round}")).unwrap().remove().unwrap();
                }
            });
        }
    });
    assert!(place.0.list().unwrap().is_empty());
}

#[test]
fn the_cgroup_of_a_process_is_found_without_knowing_where_it_is() {
    let place = TestRoot::new("find");
    let cgroup = place.0.create_session("ses_a").unwrap();
    let mut child = shell(&cgroup, "sleep 1000");
    let pid = i32::try_from(child.id()).unwrap();
    let found = SessionCgroup::of_process(pid, "ses_a").unwrap();
    let paths = |cgroup: &SessionCgroup| cgroup.process_folders().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(paths(&found), paths(&cgroup));
    let other = SessionCgroup::of_process(pid, "ses_b").unwrap_err();
    assert_eq!(other.kind(), std::io::ErrorKind::NotFound);
    found.kill().unwrap();
    child.wait().unwrap();
    found.remove().unwrap();
    assert!(place.0.paths().all(|path| !path.exists()), "the folder has gone with it");
}

#[test]
fn a_later_worker_finds_what_an_earlier_one_left() {
    let place = TestRoot::new("reopen");
    let session = place.0.create_session("ses_a").unwrap();
    session.child("exe_a").unwrap();
    place.0.create_session("ses_b").unwrap();
    assert_eq!(place.0.list().unwrap(), ["ses_a", "ses_b"]);
    let again = place.0.reopen("ses_a").unwrap();
    again.reopen_child("exe_a").unwrap();
    let missing = |result: std::io::Result<SessionCgroup>| result.unwrap_err().kind();
    assert_eq!(missing(again.reopen_child("exe_b")), std::io::ErrorKind::NotFound);
    assert_eq!(missing(place.0.reopen("ses_c")), std::io::ErrorKind::NotFound);
    assert_eq!(missing(place.0.create_session("ses_a")), std::io::ErrorKind::AlreadyExists);
    again.remove().unwrap();
    assert_eq!(place.0.list().unwrap(), ["ses_b"]);
}

/// The version 2 files in a plain folder: this host's version 2 hierarchy has no controllers.
#[test]
fn version_2_gets_its_limits_and_gives_its_counts_by_its_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let put = |file: &str, text: &str| std::fs::write(path.join(file), text).unwrap();
    let get = |file: &str| std::fs::read_to_string(path.join(file)).unwrap();
    for file in ["memory.max", "memory.swap.max", "cpu.max", "pids.max"] {
        put(file, "");
    }
    put("memory.events", "low 0\noom 4\noom_kill 3\n");
    put("memory.peak", "4096\n");
    put("memory.current", "1024\n");
    put("pids.current", "7\n");
    let controllers = Controllers { memory: true, cpu: true, pids: true };
    let cgroup = SessionCgroup {
        above: Vec::new(),
        folders: vec![Folder { path: path.clone(), version: Version::Two, controllers }],
    };
    let limits = Limits { memory_bytes: Some(1 << 20), cpus: Some(1.5), pids: Some(9), ..Limits::default() };
    cgroup.set_limits(&limits).unwrap();
    assert_eq!(get("memory.max"), "1048576");
    assert_eq!(get("memory.swap.max"), "0");
    assert_eq!(get("cpu.max"), "150000 100000");
    assert_eq!(get("pids.max"), "9");
    assert_eq!(
        (cgroup.oom_kills(), cgroup.memory_peak(), cgroup.memory_current()),
        (3, Some(4096), Some(1024))
    );
    assert_eq!(cgroup.pids_current(), Some(7));
    assert_eq!(cgroup.process_folders().collect::<Vec<_>>(), [path.join("leaf")]);
}
