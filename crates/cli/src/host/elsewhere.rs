//! On this system no sessions can run: commands need a server.

use std::future::{Ready, ready};
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;

use crate::args::Command;
use crate::error::{CommandError, ErrorKind};

/// What to do if a server cannot be reached.
pub const UNREACHABLE: &str = "is it running? `headwater serve` starts a server on a Linux host";

/// How to name a server.
const NAME_ONE: &str = "sign in to a server with `headwater login URL`, or name one with `--server URL`";

/// There is no init here.
pub const fn init() -> Option<ExitCode> {
    None
}

/// Refuses a command that always acts on this machine.
#[allow(clippy::needless_pass_by_value)] // as on Linux
pub fn act(name: &str, _: Command, _: &Path, _: &ArgMatches) -> Result<u8, CommandError> {
    let message = format!("`headwater {name}` acts on a Linux host, and this is {}", std::env::consts::OS);
    Err(CommandError::new(ErrorKind::Refused, message)
        .hint("run it on the host")
        .hint(format!("for other commands, {NAME_ONE}")))
}

/// The error of a command for which no server is selected.
pub fn no_server() -> CommandError {
    let message = format!("no server is selected, and sessions cannot run on {}", std::env::consts::OS);
    CommandError::new(ErrorKind::NoWorker, message).hint(NAME_ONE)
}

/// The result of what needs the worker or the store of this machine.
pub fn refused<T>() -> Ready<Result<T, CommandError>> {
    ready(Err(no_server()))
}
