//! Programs that run and exit by themselves: output, input, exit status.

use std::io::Write;
use std::os::fd::AsFd;

use headwater_sandbox::wire::{Fds, Rlimits, StdinFrom, ToInit};
use rustix::fs::{OFlags, fcntl_getfl};

use crate::harness::{Worker, read_all, read_until};

#[test]
fn output_and_exit_code_arrive() {
    let worker = Worker::launch();
    let program = worker.start(worker.shell("echo out; echo err >&2; exit 7"));
    assert_eq!(program.kind, Fds::Pipes { outputs: 2, stdin: false });
    assert_eq!(read_all(&program.fds[0]), "out\n");
    assert_eq!(read_all(&program.fds[1]), "err\n");
    let exit = worker.exit(program.id);
    assert_eq!((exit.code, exit.signal, exit.cause), (Some(7), None, None));
    assert!(exit.duration_us > 0 && exit.at_us > 1_600_000_000_000_000 && exit.usage.max_rss_bytes > 0);
}

#[test]
fn merged_output_keeps_its_order_in_one_pipe() {
    let worker = Worker::launch();
    let mut start = worker.shell("echo 1; echo 2 >&2; echo 3");
    start.merge_output = true;
    let program = worker.start(start);
    assert_eq!(program.kind, Fds::Pipes { outputs: 1, stdin: false });
    assert_eq!(read_all(&program.fds[0]), "1\n2\n3\n");
}

#[test]
fn an_open_input_takes_bytes_until_both_duplicates_are_closed() {
    let worker = Worker::launch();
    let mut start = worker.spec(&["cat"]);
    start.stdin = StdinFrom::Open;
    let mut program = worker.start(start);
    assert_eq!(program.kind, Fds::Pipes { outputs: 2, stdin: true });
    let mut input = std::fs::File::from(program.fds.pop().unwrap());
    input.write_all(b"one\n").unwrap();
    assert_eq!(read_until(&program.fds[0], |text| text.ends_with('\n')), "one\n");
    drop(input);
    worker.send(&ToInit::CloseStdin { execution: program.id });
    assert_eq!(worker.exit(program.id).code, Some(0));
}

#[test]
fn a_given_descriptor_is_the_input_and_no_input_is_an_empty_one() {
    let worker = Worker::launch();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"given").unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let mut start = worker.spec(&["cat"]);
    start.stdin = StdinFrom::Fd;
    let program = worker.start_with(start, &[file.as_fd()]);
    assert_eq!(read_all(&program.fds[0]), "given");

    let program = worker.start(worker.shell("cat; readlink /proc/self/fd/0"));
    assert_eq!(read_all(&program.fds[0]), "/dev/null\n");
}

#[test]
fn only_the_workers_ends_are_nonblocking() {
    let worker = Worker::launch();
    let mut start = worker.shell("grep flags /proc/self/fdinfo/[012]; cat");
    start.stdin = StdinFrom::Open;
    let program = worker.start(start);
    let [stdout, stderr, _buffer, stdin] = &program.fds[..] else { panic!("{:?}", program.fds) };
    for fd in [stdout, stderr, stdin] {
        assert!(fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK));
    }
    let flags = read_until(&program.fds[0], |text| text.lines().count() == 3);
    for line in flags.lines() {
        let octal = line.rsplit(|c: char| c.is_whitespace()).next().unwrap();
        assert_eq!(i32::from_str_radix(octal, 8).unwrap() & libc::O_NONBLOCK, 0, "{flags}");
    }
}

#[test]
fn a_program_gets_three_descriptors_its_own_process_session_and_default_signals() {
    let worker = Worker::launch();
    let script =
        "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; ps -o sid= -p $$; umask";
    let program = worker.start(worker.spec(&["bash", "-c", script]));
    let text = read_all(&program.fds[0]);
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert_eq!(lines[0], "4", "ls itself opens the fourth: {text}");
    assert!(lines[1].ends_with("0000000000000000") && lines[2].ends_with("0000000000000000"), "{text}");
    assert_eq!(lines[4], program.pid.to_string());
    assert_eq!(lines[5], "0022");
}

#[test]
fn resource_limits_are_set() {
    let worker = Worker::launch();
    let mut start = worker.shell("ulimit -n; ulimit -f; ulimit -t; ulimit -d");
    start.rlimits = Rlimits {
        open_files: Some(77),
        file_bytes: Some(512 * 1000),
        cpu_ms: Some(2500),
        data_bytes: Some(300 << 20),
        processes: None,
    };
    let program = worker.start(start);
    assert_eq!(read_all(&program.fds[0]), "77\n1000\n3\n307200\n");
}

#[test]
fn a_script_without_a_first_line_is_run_by_the_shell() {
    let worker = Worker::launch();
    let path = worker.dir.path().join("script");
    std::fs::write(&path, "echo \"$0 $1\"\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = worker.start(worker.spec(&["./script", "argument"]));
    assert_eq!(read_all(&program.fds[0]), "./script argument\n");
}

#[test]
fn a_command_is_found_by_the_path_variable_of_its_environment() {
    let worker = Worker::launch();
    let folder = worker.dir.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("/bin/echo", folder.join("mine")).unwrap();
    let mut start = worker.spec(&["mine", "found"]);
    start.env = vec![format!("PATH=/nowhere:{}", folder.display())];
    assert_eq!(read_all(&worker.start(start).fds[0]), "found\n");
}

#[test]
fn arguments_far_above_a_packet_arrive() {
    let worker = Worker::launch();
    let long = "x".repeat(100_000);
    let mut argv = vec!["printf", "%s"];
    argv.extend(std::iter::repeat_n(long.as_str(), 10));
    let program = worker.start(worker.spec(&argv));
    assert_eq!(read_all(&program.fds[0]).len(), 1_000_000);
}

#[test]
fn two_hundred_programs_leave_no_descriptor_behind() {
    // With 64 descriptors, 32 of them reserved, a leak of one per run would fail after a few runs.
    let options = crate::harness::Options { open_files: Some(64), ..Default::default() };
    let worker = Worker::launch_with(&options);
    for number in 0..200 {
        let mut start = worker.spec(&["true"]);
        start.stdin = StdinFrom::Open;
        let program = if number % 4 == 3 {
            assert!(worker.start_fails(worker.spec(&["./missing"])).message.contains("missing"));
            continue;
        } else {
            worker.start(start)
        };
        worker.exit(program.id);
        worker.send(&ToInit::ExitLogged { execution: program.id });
        worker.send(&ToInit::Release { execution: program.id });
    }
}
