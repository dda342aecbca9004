//! All walls together: a real session, with a real init, in which a program runs.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::time::{Duration, Instant};

use headwater_protocol::{ExecutionId, SandboxKind, SessionId};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Signal;

use super::facts::{Facts, field};
use super::scratch_dir::ScratchDir;
use super::{Check, Options, privileges};
use crate::launch::{Launch, LaunchError, Launched, launch};
use crate::link::{self, Received};
use crate::wire::{FromInit, Rlimits, Setup, Start, StdinFrom, ToInit};

const NAME: &str = "session";

/// Building the walls takes a millisecond, and running a program not much more.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no session could be started, and the fix if it is known.
struct Failure {
    message: String,
    fix: Option<String>,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, fix: None }
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        let fix = match &error {
            LaunchError::Wall(failure) => Some(failure.fix.clone()),
            _ => None,
        };
        let source =
            std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        Self { message: format!("{error}{source}"), fix }
    }
}

/// Starts a session and runs a program in it. `walls` are the results of the separate checks: if one of them
/// has failed, it is the cause.
pub(super) fn check(options: &Options, facts: &Facts, walls: &[Check]) -> Check {
    let failure = match run(options, facts) {
        Ok(detail) => return Check::fine(NAME, detail),
        Err(failure) => failure,
    };
    let culprit = walls.iter().find(|check| !check.ok).map(|check| format!("fix `{}` first", check.name));
    let unknown =
        "every wall works separately: please report this with the output of `headwater doctor --json`";
    let fix = culprit.or(failure.fix).unwrap_or_else(|| unknown.to_owned());
    Check::failure(NAME, failure.message, fix)
}

fn run(options: &Options, facts: &Facts) -> Result<String, Failure> {
    let cannot = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| format!("cannot {what} in `{}`: {error}", options.folder.display())
    };
    let scratch = ScratchDir::new(&options.folder).map_err(cannot("create a folder"))?;
    let workspace = scratch.join("workspace");
    fs::DirBuilder::new().mode(0o700).create(&workspace).map_err(cannot("create a workspace"))?;
    if let Some(uid) = facts.session_uid {
        chown(&workspace, Some(uid), Some(uid)).map_err(cannot("change the owner of a workspace"))?;
    }
    let setup = Setup {
        session: SessionId::random(),
        sandbox: SandboxKind::Full,
        host_uid: facts.session_uid,
        workspace: workspace.to_string_lossy().into_owned(),
        place: None,
        binds: options.binds.clone(),
        tmp_bytes: 1 << 20,
        tmp_inodes: 64,
        orphan_timeout_ms: 1000,
        network: crate::wire::NetworkNamespace::Session,
        kernel: crate::wire::KernelLimits::default(),
    };
    let listener = listen(&scratch).map_err(cannot("listen"))?;
    let begun = Instant::now();
    let init_binary = options.init_binary.clone();
    let launched = launch(Launch { init_binary, listener, setup, cgroup: None })?;
    let took = begun.elapsed();
    let found = inspect(&launched).and_then(|()| program(&launched));
    end(&launched);
    found?;
    Ok(format!(
        "all walls were built in {:.1} ms, and a program ran behind them",
        took.as_secs_f64() * 1000.0
    ))
}

/// Binds through a descriptor: socket paths are limited in length, folder paths are not.
fn listen(scratch: &ScratchDir) -> std::io::Result<OwnedFd> {
    let folder = rustix::fs::open(scratch.join("."), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let path = format!("/proc/self/fd/{}/init.sock", folder.as_raw_fd());
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, 1)?;
    Ok(socket)
}

/// Inspects init from outside, without relying on what it reports.
fn inspect(launched: &Launched) -> Result<(), Failure> {
    let path = format!("/proc/{}/status", launched.pid);
    let status = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    if let Some(left) = privileges::left(&status) {
        return Err(format!("a session still has privileges: {left}").into());
    }
    if field(&status, "Seccomp") != Some("2") {
        return Err("a session has no seccomp filter".to_owned().into());
    }
    let inside = field(&status, "NSpid").and_then(|pids| pids.split_whitespace().last());
    if inside != Some("1") {
        return Err("a session has no separate pid namespace".to_owned().into());
    }
    Ok(())
}

/// Runs `true` and waits until it has exited.
fn program(launched: &Launched) -> Result<(), Failure> {
    let start = Start {
        execution: ExecutionId::random(),
        argv: vec!["true".to_owned()],
        env: vec!["PATH=/usr/local/bin:/usr/bin:/bin".to_owned()],
        cwd: "/workspace".to_owned(),
        stdin: StdinFrom::Null,
        tty: None,
        merge_output: true,
        rlimits: Rlimits::default(),
        timeout_ms: None,
        grace_ms: 0,
        kill_children: true,
        cgroups: 0,
        code_file: None,
        scratch: None,
        note: Vec::new(),
    };
    let link = launched.link_fd.as_fd();
    link::send(link, &ToInit::Start(Box::new(start)), &[])
        .map_err(|error| format!("init is gone: {error}"))?;
    let deadline = Instant::now() + PROGRAM_TIMEOUT;
    while ready(&launched.link_fd, deadline) {
        match link::recv::<FromInit>(link).map_err(|error| format!("init is gone: {error}"))? {
            Received::Message(FromInit::Exited { exit, .. }, _) if exit.code == Some(0) => return Ok(()),
            Received::Message(FromInit::Exited { exit, .. }, _) => {
                return Err(
                    format!("`true` ended with code {:?}, signal {:?}", exit.code, exit.signal).into()
                );
            }
            Received::Message(FromInit::StartFailed { failure, .. }, _) => {
                return Err(format!("no program can be started in a session: {}", failure.message).into());
            }
            Received::Message(..) => {}
            Received::Closed => return Err("init ended by itself".to_owned().into()),
        }
    }
    Err(format!("no program exited in a session within {PROGRAM_TIMEOUT:?}").into())
}

/// Whether the descriptor becomes readable before the deadline.
fn ready(fd: &OwnedFd, deadline: Instant) -> bool {
    loop {
        let Ok(left) = Timespec::try_from(deadline.saturating_duration_since(Instant::now())) else {
            return false;
        };
        match rustix::event::poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(count) => return count > 0,
            Err(_) => return false,
        }
    }
}

/// Ends init, and with it the session, and waits until it is gone.
fn end(launched: &Launched) {
    let _ = link::send(launched.link_fd.as_fd(), &ToInit::End, &[]); // it may be gone already
    if !ready(&launched.pidfd, Instant::now() + PROGRAM_TIMEOUT) {
        let _ = rustix::process::pidfd_send_signal(&launched.pidfd, Signal::KILL);
    }
}
