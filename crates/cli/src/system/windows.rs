//! Standard streams, the console and signals of Windows.

use std::io::{self, Read, Write};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use headwater_protocol::TtySize;
use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};
use winapi_util::{HandleRef, console};

use crate::error::CommandError;
use crate::output::Target;
use crate::utf8::Decoder;

/// Modes of a console's input: Ctrl+C is a signal, Enter ends a line, keys are shown, and keys such as arrows arrive as
/// escape sequences.
const PROCESSED_INPUT: u32 = 0x1;
const LINE_INPUT: u32 = 0x2;
const ECHO_INPUT: u32 = 0x4;
const VIRTUAL_TERMINAL_INPUT: u32 = 0x200;
/// Mode of a console's output: escape sequences have an effect.
const VIRTUAL_TERMINAL_PROCESSING: u32 = 0x4;

/// The key Ctrl+Z, the end of the input in line mode.
const CTRL_Z: u8 = 0x1a;
/// How often the size of the console is read: it changes without a signal.
const SIZE_POLL: Duration = Duration::from_millis(250);

/// Reads from standard input; 0 is its end.
pub fn read_stdin(buffer: &mut [u8]) -> io::Result<usize> {
    let count = io::stdin().lock().read(buffer)?;
    // The standard library takes a Ctrl+Z for the end of the input, which it is only in line mode.
    let is_raw = || console::mode(HandleRef::stdin()).is_ok_and(|mode| mode & LINE_INPUT == 0);
    match buffer.first_mut() {
        Some(first) if count == 0 && is_raw() => {
            *first = CTRL_Z;
            Ok(1)
        }
        _ => Ok(count),
    }
}

/// Whether no input can ever arrive: not known here; the input of `NUL` ends at once.
pub const fn stdin_is_null() -> bool {
    false
}

/// Writes to standard output or standard error.
pub fn write_all(to: Target, bytes: &[u8]) -> io::Result<()> {
    static STDOUT: LazyLock<Mutex<Output>> = LazyLock::new(|| Output::of(&HandleRef::stdout()));
    static STDERR: LazyLock<Mutex<Output>> = LazyLock::new(|| Output::of(&HandleRef::stderr()));
    match to {
        Target::Stdout => write_to(&STDOUT, io::stdout().lock(), bytes),
        Target::Stderr => write_to(&STDERR, io::stderr().lock(), bytes),
    }
}

/// What standard output or standard error is.
enum Output {
    /// A file, a pipe or a terminal that is not a console, which takes any bytes.
    Bytes,
    /// A console, which takes only text.
    Console(Decoder),
}

impl Output {
    fn of(handle: &HandleRef) -> Mutex<Self> {
        let Ok(mode) = console::mode(handle) else { return Mutex::new(Self::Bytes) };
        // It fails on a console of an old Windows, which shows the sequences as text.
        let _ = console::set_mode(handle, mode | VIRTUAL_TERMINAL_PROCESSING);
        Mutex::new(Self::Console(Decoder::default()))
    }
}

fn write_to(output: &Mutex<Output>, mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    match &mut *output.lock().unwrap_or_else(PoisonError::into_inner) {
        Output::Bytes => stream.write_all(bytes)?,
        Output::Console(decoder) => stream.write_all(decoder.decode(bytes).as_bytes())?,
    }
    stream.flush()
}

/// The console in another mode; restored on drop.
#[derive(Debug)]
pub struct TerminalMode {
    before: u32,
}

impl TerminalMode {
    /// Puts the console on standard input into raw mode, if it is one: every key goes to the program at once.
    pub fn raw() -> Result<Option<Self>, CommandError> {
        Self::enter(|mode| (mode & !(PROCESSED_INPUT | LINE_INPUT | ECHO_INPUT)) | VIRTUAL_TERMINAL_INPUT)
    }

    /// Leaves the console on standard input in line mode, if it is one: the keys that detach take effect with Enter.
    pub fn lines() -> Result<Option<Self>, CommandError> {
        Self::enter(|mode| mode)
    }

    /// Does not show what is typed at the console on standard input, if it is one.
    pub fn hidden() -> Result<Option<Self>, CommandError> {
        Self::enter(|mode| mode & !ECHO_INPUT)
    }

    /// Delivers every key of the console on standard input at once and unseen, if it is one. Ctrl+C stays a signal.
    pub fn keys() -> Result<Option<Self>, CommandError> {
        Self::enter(|mode| (mode & !(LINE_INPUT | ECHO_INPUT)) | VIRTUAL_TERMINAL_INPUT)
    }

    fn enter(change: impl FnOnce(u32) -> u32) -> Result<Option<Self>, CommandError> {
        // A terminal that is not a console, such as that of MSYS, has no mode: it stays as it is.
        let Ok(before) = console::mode(HandleRef::stdin()) else { return Ok(None) };
        console::set_mode(HandleRef::stdin(), change(before)).map_err(|error| {
            CommandError::internal(format!("cannot change the mode of the console: {error}"))
        })?;
        Ok(Some(Self { before }))
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        let _ = console::set_mode(HandleRef::stdin(), self.before); // a failure cannot be handled
    }
}

/// Whether reading from standard input would stop us: there are no background jobs here.
pub const fn in_background() -> bool {
    false
}

/// The size of the user's console, if there is one.
pub fn size() -> Option<TtySize> {
    [HandleRef::stdout(), HandleRef::stderr()].into_iter().find_map(|handle| {
        let window = console::screen_buffer_info(handle).ok()?.window_rect();
        let length = |from: i16, to: i16| u16::try_from(i32::from(to) - i32::from(from) + 1).ok();
        let (rows, cols) = (length(window.top, window.bottom)?, length(window.left, window.right)?);
        (rows > 0 && cols > 0).then_some(TtySize { rows, cols })
    })
}

/// Ctrl+C and Ctrl+Break.
#[derive(Debug)]
pub struct Signals {
    interrupt: CtrlC,
    terminate: CtrlBreak,
}

impl Signals {
    /// From now on the signals arrive here instead of ending the process.
    pub fn listen() -> Result<Self, CommandError> {
        let failed = |error| CommandError::internal(format!("cannot handle signals: {error}"));
        Ok(Self { interrupt: ctrl_c().map_err(failed)?, terminate: ctrl_break().map_err(failed)? })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Changes of the size of the user's console.
#[derive(Debug)]
pub struct Resizes {
    last: Option<TtySize>,
}

impl Resizes {
    /// Reports every change from now on. Call it before the size is read: a change in between would be lost.
    #[allow(clippy::unnecessary_wraps)] // it can fail on other systems
    pub fn listen() -> Result<Self, CommandError> {
        Ok(Self { last: size() })
    }

    /// Waits for the next change.
    pub async fn next(&mut self) {
        loop {
            tokio::time::sleep(SIZE_POLL).await;
            let now = size();
            if now != self.last {
                self.last = now;
                return;
            }
        }
    }
}
