//! Reads passwords.

use std::io::{BufRead, IsTerminal};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::error::CommandError;
use crate::escape::printable;
use crate::output::{print_note, print_prompt};

/// Reads a new password: at a terminal twice, without echo.
pub fn ask_password(name: &str) -> Result<String, CommandError> {
    if !std::io::stdin().is_terminal() {
        return read_line();
    }
    let first = read_hidden(&format!("Password of {}: ", printable(name)))?;
    if first != read_hidden("Repeat password: ")? {
        return Err(CommandError::usage("the passwords do not match"));
    }
    Ok(first)
}

/// Reads a line; at a terminal it prompts and does not echo it.
pub fn read_hidden(prompt: &str) -> Result<String, CommandError> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return read_line();
    }
    let failed = |error: rustix::io::Errno| CommandError::internal(format!("cannot turn off echo: {error}"));
    let before = tcgetattr(&stdin).map_err(failed)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    print_prompt(prompt);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(failed)?;
    let read = read_line();
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(failed)?;
    print_note("");
    read
}

fn read_line() -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    read.map_err(|error| CommandError::internal(format!("cannot read standard input: {error}")))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
