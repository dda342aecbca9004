//! Runs a command inside the walls: for tests, for measuring, and for exploring.
//!
//! `walled [--uid HOST_UID] [--bind HOST:INSIDE] [--none] WORKSPACE COMMAND [ARGUMENT]...`
//! prints the command's output and `status=CODE` (or `status=signal N`); `walled init` is a real init;
//! with `--launch` and without a command it launches such an init, prints its ids, and ends it.

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use headwater_protocol::{SandboxKind, SessionId};
use headwater_sandbox::launch::{Launch, launch, own_binary};
use headwater_sandbox::wire::{Bind, Setup, ToInit};
use headwater_sandbox::{init, link, walls};
use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

#[allow(clippy::print_stdout, clippy::print_stderr)] // printing is what it is for
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == "init") {
        return ExitCode::from(init::main());
    }
    let Some((setup, command)) = parse(arguments) else {
        eprintln!(
            "usage: walled [--uid HOST_UID] [--bind HOST:INSIDE] [--none] WORKSPACE COMMAND [ARGUMENT]..."
        );
        return ExitCode::from(2);
    };
    if command.is_empty() {
        return match launched(setup) {
            Ok(text) => {
                println!("{text}status=0");
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let built = match setup.sandbox {
        SandboxKind::Full => walls::enter(&setup),
        SandboxKind::None => walls::without(&setup),
    };
    if let Err(failure) = built {
        println!("{failure}\nfix: {}", failure.fix);
        return ExitCode::FAILURE;
    }
    let Some((program, rest)) = command.split_first() else {
        return ExitCode::from(2);
    };
    let status = Command::new(program)
        .args(rest)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/workspace")
        .status();
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => println!("status={code}"),
        Ok((None, signal)) => println!("status=signal {}", signal.unwrap_or(0)),
        Err(error) => println!("status=not started: {error}"),
    }
    ExitCode::SUCCESS
}

/// Launches a session and ends it again. Returns what the host sees of its init.
fn launched(setup: Setup) -> Result<String, Box<dyn std::error::Error>> {
    let socket = Path::new(&setup.workspace).join("socket");
    let listener =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&listener, &SocketAddrUnix::new(&socket)?)?;
    rustix::net::listen(&listener, 1)?;
    let launched = launch(Launch { init_binary: own_binary(), listener, setup, cgroup: None })?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", launched.pid))?;
    link::send(launched.link_fd.as_fd(), &ToInit::End, &[])?;
    rustix::event::poll(&mut [PollFd::new(&launched.pidfd, PollFlags::IN)], None)?;
    std::fs::remove_file(socket)?;
    Ok(status)
}

/// The setup and the command.
fn parse(mut arguments: impl Iterator<Item = String>) -> Option<(Setup, Vec<String>)> {
    let mut setup = Setup {
        session: SessionId::random(),
        sandbox: SandboxKind::Full,
        host_uid: None,
        workspace: String::new(),
        place: None,
        binds: Vec::new(),
        tmp_bytes: 16 << 20,
        tmp_inodes: 1024,
        orphan_timeout_ms: 1000,
        network: headwater_sandbox::wire::NetworkNamespace::Session,
        kernel: headwater_sandbox::wire::KernelLimits::default(),
    };
    loop {
        match arguments.next()?.as_str() {
            "--uid" => setup.host_uid = Some(arguments.next()?.parse().ok()?),
            "--launch" => {}
            "--none" => setup.sandbox = SandboxKind::None,
            "--bind" => {
                let (host, inside) =
                    arguments.next()?.split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned()))?;
                setup.binds.push(Bind { host, inside, optional: false });
            }
            workspace => {
                workspace.clone_into(&mut setup.workspace);
                return Some((setup, arguments.collect()));
            }
        }
    }
}
