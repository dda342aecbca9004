//! Standard streams, the terminal and signals of Linux and macOS.

use std::io;
use std::os::fd::BorrowedFd;

use headwater_protocol::TtySize;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;
use crate::output::Target;
use crate::terminal::DETACH_KEYS;

/// Reads from standard input; 0 is its end.
pub fn read_stdin(buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match retry_on_intr(|| read(stdin(), &mut *buffer)) {
            // Another process that shares the descriptor has made it non-blocking.
            Err(Errno::AGAIN) => wait(stdin(), PollFlags::IN)?,
            read => return Ok(read?),
        }
    }
}

/// Whether our standard input is `/dev/null` or closed, so that no input can ever arrive.
pub fn stdin_is_null() -> bool {
    match (rustix::fs::fstat(stdin()), rustix::fs::stat("/dev/null")) {
        (Ok(own), Ok(null)) => own.st_rdev != 0 && own.st_rdev == null.st_rdev,
        (own, _) => own.is_err(),
    }
}

/// Writes to standard output or standard error.
pub fn write_all(to: Target, mut bytes: &[u8]) -> io::Result<()> {
    let fd: BorrowedFd<'static> = match to {
        Target::Stdout => stdout(),
        Target::Stderr => stderr(),
    };
    while !bytes.is_empty() {
        match retry_on_intr(|| write(fd, bytes)) {
            Ok(count) => bytes = &bytes[count..],
            // Another process that shares the descriptor has made it non-blocking.
            Err(Errno::AGAIN) => wait(fd, PollFlags::OUT)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until a descriptor is ready.
fn wait(fd: BorrowedFd<'_>, flags: PollFlags) -> io::Result<()> {
    retry_on_intr(|| poll(&mut [PollFd::new(&fd, flags)], None))?;
    Ok(())
}

/// The terminal in another mode; restored on drop.
#[derive(Debug)]
pub struct TerminalMode {
    before: Termios,
    restore: OptionalActions,
}

impl TerminalMode {
    /// Puts the terminal on standard input into raw mode, if it is one: every key goes to the program at once.
    pub fn raw() -> Result<Option<Self>, CommandError> {
        // `Drain`: the last output of the program is still printed in this mode.
        Self::enter(OptionalActions::Now, OptionalActions::Drain, Termios::make_raw)
    }

    /// Leaves the terminal on standard input in line mode, if it is one, but delivers the keys that detach at once: each
    /// ends a line, as Enter does, and Ctrl+Q does not resume stopped output.
    pub fn lines() -> Result<Option<Self>, CommandError> {
        Self::enter(OptionalActions::Now, OptionalActions::Drain, |mode| {
            mode.input_modes.remove(InputModes::IXON);
            mode.special_codes[SpecialCodeIndex::VEOL] = DETACH_KEYS[0];
            mode.special_codes[SpecialCodeIndex::VEOL2] = DETACH_KEYS[1];
        })
    }

    /// Does not show what is typed at the terminal on standard input, if it is one.
    pub fn hidden() -> Result<Option<Self>, CommandError> {
        Self::enter(OptionalActions::Flush, OptionalActions::Flush, |mode| {
            mode.local_modes.remove(LocalModes::ECHO);
        })
    }

    /// Delivers every key of the terminal on standard input at once and unseen, if it is one. Ctrl+C stays a signal.
    pub fn keys() -> Result<Option<Self>, CommandError> {
        Self::enter(OptionalActions::Now, OptionalActions::Drain, |mode| {
            mode.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            mode.special_codes[SpecialCodeIndex::VMIN] = 1;
            mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        })
    }

    fn enter(
        enter: OptionalActions,
        restore: OptionalActions,
        change: impl FnOnce(&mut Termios),
    ) -> Result<Option<Self>, CommandError> {
        if !isatty(stdin()) {
            return Ok(None);
        }
        let failed =
            |error| CommandError::internal(format!("cannot change the mode of the terminal: {error}"));
        let before = tcgetattr(stdin()).map_err(failed)?;
        let mut mode = before.clone();
        change(&mut mode);
        tcsetattr(stdin(), enter, &mode).map_err(failed)?;
        Ok(Some(Self { before, restore }))
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), self.restore, &self.before); // a failure cannot be handled
    }
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

/// SIGINT and SIGTERM.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From now on the signals arrive here instead of ending the process.
    pub fn listen() -> Result<Self, CommandError> {
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Changes of the size of the user's terminal.
#[derive(Debug)]
pub struct Resizes(Signal);

impl Resizes {
    /// Reports every change from now on. Call it before the size is read: a change in between would be lost.
    pub fn listen() -> Result<Self, CommandError> {
        Ok(Self(listen(SignalKind::window_change())?))
    }

    /// Waits for the next change.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

fn listen(kind: SignalKind) -> Result<Signal, CommandError> {
    signal(kind).map_err(|error| CommandError::internal(format!("cannot handle signals: {error}")))
}
