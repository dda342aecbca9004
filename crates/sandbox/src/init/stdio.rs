//! Both ends of a program's input and output: the program's, and the worker's, which init keeps.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_protocol::TtySize;
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, fcntl_setfl, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::link;
use crate::wire::{Fds, Start, StdinFrom};

/// Pipe sizes to try in this order: the kernel limits how much pipe memory an unprivileged user may have.
const PIPE_SIZES_BYTES: [usize; 3] = [1024 * 1024, 256 * 1024, 64 * 1024];

/// The program's ends, which become its 0, 1 and 2. Without `stdin` it inherits init's 0, which is
/// `/dev/null`.
#[derive(Debug)]
pub(super) struct ProgramEnds {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    /// `None`: the same as `stdout`.
    pub(super) stderr: Option<OwnedFd>,
    /// Whether `stdout` is a terminal that becomes the controlling terminal.
    pub(super) is_tty: bool,
}

/// The worker's ends. All are nonblocking, which does not affect the program's ends.
#[derive(Debug)]
pub(super) enum WorkerEnds {
    Pipes { stdout: OwnedFd, stderr: Option<OwnedFd>, stdin: Option<Input> },
    Tty { master: OwnedFd, relay: (OwnedFd, OwnedFd), buffer: OwnedFd },
    None,
}

/// An open input pipe.
#[derive(Debug)]
pub(super) struct Input {
    buffer: OwnedFd,
    writer: OwnedFd,
}

impl WorkerEnds {
    /// The descriptors that are sent with `Started` and `Adopt`.
    pub(super) fn lend(&self) -> (Fds, Vec<BorrowedFd<'_>>) {
        match self {
            Self::Pipes { stdout, stderr, stdin } => {
                let kind = Fds::Pipes { outputs: 1 + u8::from(stderr.is_some()), stdin: stdin.is_some() };
                let input = stdin.iter().flat_map(|input| [&input.buffer, &input.writer]);
                (kind, std::iter::once(stdout).chain(stderr).chain(input).map(AsFd::as_fd).collect())
            }
            Self::Tty { master, relay, buffer } => {
                (Fds::Tty, [master, &relay.0, &relay.1, buffer].map(AsFd::as_fd).into())
            }
            Self::None => (Fds::None, Vec::new()),
        }
    }

    /// Closes the write end of the input pipe, and its buffer.
    pub(super) fn close_stdin(&mut self) {
        if let Self::Pipes { stdin, .. } = self {
            *stdin = None;
        }
    }

    /// The terminal's master, if there is a terminal.
    pub(super) fn terminal(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tty { master, .. } => Some(master.as_fd()),
            _ => None,
        }
    }

    /// The largest descriptor number in use.
    pub(super) fn highest(&self) -> i32 {
        use std::os::fd::AsRawFd;
        self.lend().1.iter().map(AsRawFd::as_raw_fd).max().unwrap_or(0)
    }
}

/// Creates both ends for a program. `given` is the descriptor that was passed as its input.
pub(super) fn create(start: &Start, given: Option<OwnedFd>) -> Result<(ProgramEnds, WorkerEnds), Errno> {
    match start.tty {
        Some(size) => terminal(size, start.stdin, given),
        None => pipes(start.stdin, given, start.merge_output),
    }
}

fn pipes(from: StdinFrom, given: Option<OwnedFd>, merge: bool) -> Result<(ProgramEnds, WorkerEnds), Errno> {
    let (stdout, inner_stdout) = output()?;
    let (stderr, inner_stderr) = if merge { (None, None) } else { split(output()?) };
    let (inner_stdin, stdin) = match from {
        StdinFrom::Null => (None, None),
        StdinFrom::Fd => (given, None),
        StdinFrom::Open => {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            fcntl_setfl(&writer, OFlags::NONBLOCK)?;
            enlarge(&writer); // each chunk takes a buffer slot, however small it is
            (Some(reader), Some(Input { buffer: input_buffer()?, writer }))
        }
    };
    let inner = ProgramEnds { stdin: inner_stdin, stdout: inner_stdout, stderr: inner_stderr, is_tty: false };
    Ok((inner, WorkerEnds::Pipes { stdout, stderr, stdin }))
}

/// A file in memory through which the worker sends input. Its offset is how much of the input has been sent.
/// The offset belongs to the open file, which init keeps open, so the next worker finds it.
fn input_buffer() -> Result<OwnedFd, Errno> {
    link::memfd_create(c"input", MemfdFlags::CLOEXEC)
}

/// A pipe with a nonblocking read end.
fn output() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    enlarge(&reader);
    Ok((reader, writer))
}

fn split(pair: (OwnedFd, OwnedFd)) -> (Option<OwnedFd>, Option<OwnedFd>) {
    (Some(pair.0), Some(pair.1))
}

/// Enlarges a pipe before the program gets it: a program that makes it nonblocking at once relies on its
/// size.
fn enlarge(pipe: &OwnedFd) {
    for bytes in PIPE_SIZES_BYTES {
        if fcntl_setpipe_size(pipe, bytes).is_ok() {
            return;
        }
    }
}

fn terminal(
    size: TtySize,
    from: StdinFrom,
    given: Option<OwnedFd>,
) -> Result<(ProgramEnds, WorkerEnds), Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let master = openat(CWD, "/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size)?;
    // Through the master and not by path, which may name another terminal.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    let mut modes = tcgetattr(&slave)?;
    modes.input_modes |= InputModes::IUTF8; // erase removes a character, not a byte
    tcsetattr(&slave, OptionalActions::Now, &modes)?;
    let relay = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    enlarge(&relay.0);
    let stdin = match from {
        StdinFrom::Null => None,
        StdinFrom::Open => Some(rustix::io::fcntl_dupfd_cloexec(&slave, 3)?),
        StdinFrom::Fd => given,
    };
    let ends = WorkerEnds::Tty { master, relay, buffer: input_buffer()? };
    Ok((ProgramEnds { stdin, stdout: slave, stderr: None, is_tty: true }, ends))
}
