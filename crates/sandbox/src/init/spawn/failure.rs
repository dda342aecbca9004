//! Why a program could not be started, with messages that name the cause.

use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;

use super::child::Stage;
use super::plan::Plan;
use crate::wire::{Start, StartFailure, StartFailureKind};

/// An empty argument list, or an empty name.
pub(super) fn nothing_to_run() -> StartFailure {
    other(StartFailureKind::NotFound, "no command was given".into(), 0)
}

/// A string that cannot be passed to a program.
pub(super) fn has_nul(what: &str) -> StartFailure {
    other(StartFailureKind::Other, format!("{what} contains a NUL byte"), libc::EINVAL)
}

/// The kernel could not create a pipe, a terminal or a process.
pub(super) fn cannot_create(what: &str, errno: Errno) -> StartFailure {
    let number = errno.raw_os_error();
    let kind = if is_shortage(number) { StartFailureKind::NoResources } else { StartFailureKind::Other };
    other(kind, format!("cannot create {what}: {errno}"), number)
}

/// The message does not carry the descriptors that it announces.
pub(super) fn wrong_descriptors() -> StartFailure {
    let message = "the start request carries the wrong number of descriptors".into();
    other(StartFailureKind::Other, message, libc::EBADF)
}

/// init is near its limit on open files.
pub(super) fn no_descriptors() -> StartFailure {
    cannot_create("the program's pipes", Errno::MFILE)
}

/// The child did not reach exec in time.
pub(super) fn load_timed_out() -> StartFailure {
    other(StartFailureKind::Other, "the program could not be loaded in time".into(), libc::ETIMEDOUT)
}

/// The failure of a step in the child.
pub(super) fn in_child(stage: Stage, errno: i32, start: &Start, plan: &Plan) -> StartFailure {
    let reason = Errno::from_raw_os_error(errno);
    let (kind, message) = match stage {
        Stage::Exec => of_exec(errno, start, plan),
        Stage::Cwd => (StartFailureKind::BadCwd, of_cwd(errno, &start.cwd)),
        Stage::Cgroup => (StartFailureKind::Other, format!("cannot join the execution's cgroup: {reason}")),
        Stage::Session => (StartFailureKind::Other, format!("cannot create a process session: {reason}")),
        Stage::Terminal => {
            (StartFailureKind::Other, format!("cannot set the controlling terminal: {reason}"))
        }
        Stage::Stdio => (StartFailureKind::Other, format!("cannot connect input and output: {reason}")),
        Stage::Tag => (StartFailureKind::Other, format!("cannot tag the program: {reason}")),
        Stage::Limits => (StartFailureKind::Other, format!("cannot set the program's limits: {reason}")),
    };
    let kind = if is_shortage(errno) { StartFailureKind::NoResources } else { kind };
    other(kind, message, errno)
}

fn of_cwd(errno: i32, cwd: &str) -> String {
    match errno {
        libc::ENOENT => format!("working directory `{cwd}` does not exist"),
        libc::ENOTDIR => format!("working directory `{cwd}` is not a directory"),
        libc::EACCES => format!("working directory `{cwd}` may not be entered"),
        _ => format!("cannot enter working directory `{cwd}`: {}", Errno::from_raw_os_error(errno)),
    }
}

fn of_exec(errno: i32, start: &Start, plan: &Plan) -> (StartFailureKind, String) {
    let name = start.argv.first().map_or("", String::as_str);
    match errno {
        libc::E2BIG => {
            let bytes: usize = start.argv.iter().chain(&start.env).map(|text| text.len() + 1).sum();
            let message = format!("arguments and environment of `{name}` are too long: {bytes} bytes");
            (StartFailureKind::TooLong, message)
        }
        libc::ENOENT if exists(start, plan) => {
            (StartFailureKind::NotExecutable, format!("the interpreter that `{name}` asks for is missing"))
        }
        libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP => {
            (StartFailureKind::NotFound, format!("command not found: `{name}`"))
        }
        libc::EACCES | libc::ENOEXEC => {
            (StartFailureKind::NotExecutable, format!("`{name}` is not executable"))
        }
        _ => {
            let reason = Errno::from_raw_os_error(errno);
            (StartFailureKind::NotExecutable, format!("`{name}` cannot be executed: {reason}"))
        }
    }
}

/// Whether a candidate exists, in which case its interpreter is the one that is missing.
fn exists(start: &Start, plan: &Plan) -> bool {
    plan.candidates.iter().any(|path| {
        let path = std::ffi::OsStr::from_bytes(path.to_bytes());
        rustix::fs::stat(std::path::Path::new(&start.cwd).join(path)).is_ok()
    })
}

fn is_shortage(errno: i32) -> bool {
    matches!(errno, libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN | libc::ENOSPC | libc::ENOBUFS)
}

fn other(kind: StartFailureKind, message: String, errno: i32) -> StartFailure {
    StartFailure { kind, message, errno }
}
