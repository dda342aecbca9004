//! The user's terminal.

use std::io::IsTerminal;

pub use crate::system::{TerminalMode, in_background, size, stdin_is_null};

/// Ctrl+P and Ctrl+Q, which detach together.
pub const DETACH_KEYS: [u8; 2] = [0x10, 0x11];

/// Whether standard input is a terminal.
pub fn stdin_is_terminal() -> bool {
    std::io::stdin().is_terminal()
}
