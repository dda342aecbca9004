//! Runs a command inside the walls: for the tests of the walls, for measuring, and for looking around in them.
//!
//! `walled [--uid HOST_UID] [--bind HOST:INSIDE] [--none] WORKSPACE COMMAND [ARGUMENT]...`
//! prints what the command prints and `status=CODE` (or `status=signal N`); `walled init` is a real init.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use headwater_protocol::{SandboxKind, SessionId};
use headwater_sandbox::wire::{Bind, Setup};
use headwater_sandbox::{init, walls};

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

/// The setup and the command.
fn parse(mut arguments: impl Iterator<Item = String>) -> Option<(Setup, Vec<String>)> {
    let mut setup = Setup {
        session: SessionId::random(),
        sandbox: SandboxKind::Full,
        host_uid: None,
        workspace: String::new(),
        binds: Vec::new(),
        tmp_bytes: 16 << 20,
        tmp_inodes: 1024,
        orphan_timeout_ms: 1000,
    };
    loop {
        match arguments.next()?.as_str() {
            "--uid" => setup.host_uid = Some(arguments.next()?.parse().ok()?),
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
