//! Reads passwords.

use std::io::{BufRead, IsTerminal};

use crate::error::CommandError;
use crate::escape::printable;
use crate::output::{print_note, print_prompt};
use crate::terminal::TerminalMode;

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
    if !std::io::stdin().is_terminal() {
        return read_line();
    }
    print_prompt(prompt);
    let hidden = TerminalMode::hidden()?;
    let read = read_line();
    drop(hidden);
    print_note("");
    read
}

fn read_line() -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    read.map_err(|error| CommandError::internal(format!("cannot read standard input: {error}")))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
