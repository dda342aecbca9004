//! The person's terminal: raw while keys go to a program, as it was when we are done.

use headwater_protocol::TtySize;
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use crate::error::CommandError;

/// The terminal in raw mode; dropping this restores it.
#[derive(Debug)]
pub struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Makes the terminal on standard input raw, if there is one.
    pub fn enter() -> Result<Option<Self>, CommandError> {
        if !stdin_is_terminal() {
            return Ok(None);
        }
        let failed = |error| CommandError::internal(format!("cannot make the terminal raw: {error}"));
        let before = tcgetattr(stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(failed)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // `Drain`: what the program printed last is shown as it meant it. Nothing is left to do if this fails.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
    }
}

/// Whether a person types.
pub fn stdin_is_terminal() -> bool {
    isatty(stdin())
}

/// Whether the terminal that we would read from belongs to another job at the moment: reading would stop us.
pub fn in_background() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|foreground| foreground != getpgrp())
}

/// The size of the person's terminal, if there is one.
pub fn size() -> Option<TtySize> {
    [stdout(), stdin(), stderr()].into_iter().find_map(|fd| {
        let size = tcgetwinsize(fd).ok()?;
        (size.ws_row > 0 && size.ws_col > 0).then_some(TtySize { rows: size.ws_row, cols: size.ws_col })
    })
}
