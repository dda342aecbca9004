//! The user's terminal: in raw mode while keys go to a program, and restored afterwards.

use headwater_protocol::TtySize;
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use crate::error::CommandError;

/// The terminal in raw mode; restored on drop.
#[derive(Debug)]
pub struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Puts the terminal on standard input into raw mode, if it is one.
    pub fn enter() -> Result<Option<Self>, CommandError> {
        if !stdin_is_terminal() {
            return Ok(None);
        }
        let failed = |error| CommandError::internal(format!("cannot set the terminal to raw mode: {error}"));
        let before = tcgetattr(stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(failed)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // `Drain`: the last output of the program is still printed in raw mode. A failure cannot be handled.
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
