//! The user's terminal: in raw mode while keys go to a program, and restored afterwards.

use headwater_protocol::TtySize;
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{
    InputModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};

use crate::error::CommandError;

/// Ctrl+P and Ctrl+Q, which detach together.
pub const DETACH_KEYS: [u8; 2] = [0x10, 0x11];

/// The terminal in another mode; restored on drop.
#[derive(Debug)]
pub struct TerminalMode {
    before: Termios,
}

impl TerminalMode {
    /// Puts the terminal on standard input into raw mode, if it is one: every key goes to the program at once.
    pub fn raw() -> Result<Option<Self>, CommandError> {
        Self::enter(Termios::make_raw)
    }

    /// Leaves the terminal on standard input in line mode, if it is one, but delivers the keys that detach at once: each
    /// ends a line, as Enter does, and Ctrl+Q does not resume stopped output.
    pub fn lines() -> Result<Option<Self>, CommandError> {
        Self::enter(|mode| {
            mode.input_modes.remove(InputModes::IXON);
            mode.special_codes[SpecialCodeIndex::VEOL] = DETACH_KEYS[0];
            mode.special_codes[SpecialCodeIndex::VEOL2] = DETACH_KEYS[1];
        })
    }

    fn enter(change: impl FnOnce(&mut Termios)) -> Result<Option<Self>, CommandError> {
        if !stdin_is_terminal() {
            return Ok(None);
        }
        let failed =
            |error| CommandError::internal(format!("cannot change the mode of the terminal: {error}"));
        let before = tcgetattr(stdin()).map_err(failed)?;
        let mut mode = before.clone();
        change(&mut mode);
        tcsetattr(stdin(), OptionalActions::Now, &mode).map_err(failed)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        // `Drain`: the last output of the program is still printed in this mode. A failure cannot be handled.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
    }
}

/// Whether standard input is a terminal.
pub fn stdin_is_terminal() -> bool {
    isatty(stdin())
}

/// Whether we are a background job of the terminal on standard input, so that reading from it would stop us.
pub fn in_background() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|foreground| foreground != getpgrp())
}

/// The size of the user's terminal, if there is one.
pub fn size() -> Option<TtySize> {
    [stdout(), stdin(), stderr()].into_iter().find_map(|fd| {
        let size = tcgetwinsize(fd).ok()?;
        (size.ws_row > 0 && size.ws_col > 0).then_some(TtySize { rows: size.ws_row, cols: size.ws_col })
    })
}
