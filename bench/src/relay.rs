//! A minimal relay between a unix socket and a PTY, for comparison. It runs as a separate process, as a
//! server would; its socket is its standard input.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;

/// The name of the hidden command that runs the relay.
pub const COMMAND: &str = "relay";

/// A running relay and its socket.
#[derive(Debug)]
pub struct Relay {
    /// Bytes written here are typed; bytes read from here were printed.
    pub socket: UnixStream,
    child: Child,
}

impl Relay {
    /// Starts a relay with an idle terminal, or with one that shows a file.
    pub fn start(show: Option<&PathBuf>) -> Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(COMMAND).args(show).stdin(Stdio::from(OwnedFd::from(theirs)));
        let child = command.spawn().context("starting the relay")?;
        Ok(Self { socket, child })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It ends by itself when its socket is closed; this is for a relay that does not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A new terminal: master and slave.
pub fn terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let name = rustix::pty::ptsname(&master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(name, flags, Mode::empty())?;
    Ok((master, slave))
}

/// Runs the relay until the socket is closed or the program that it shows has ended.
pub fn serve(show: Option<PathBuf>) -> Result<()> {
    let socket = rustix::stdio::stdin();
    let (master, slave) = terminal()?;
    let Some(path) = show else {
        shovel(socket, &master)?;
        drop(slave); // kept until here: a terminal without an open slave does not echo
        return Ok(());
    };
    // The first byte means that the client is ready.
    rustix::io::read(socket, &mut [0; 1])?;
    let mut child = Command::new("/bin/cat").arg(path).stdout(Stdio::from(slave)).spawn()?;
    shovel(socket, &master)?;
    child.wait()?;
    Ok(())
}

fn shovel(socket: impl AsFd, master: impl AsFd) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let mut fds = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&master, PollFlags::IN)];
        rustix::event::poll(&mut fds, None)?;
        let [from_socket, from_master] = fds.map(|fd| !fd.revents().is_empty());
        if from_master {
            match rustix::io::read(&master, &mut buffer) {
                Ok(0) | Err(rustix::io::Errno::IO) => return Ok(()),
                Ok(n) => write_all(&socket, buffer.get(..n).unwrap_or_default())?,
                Err(error) => return Err(error.into()),
            }
        }
        if from_socket {
            match rustix::io::read(&socket, &mut buffer)? {
                0 => return Ok(()),
                n => write_all(&master, buffer.get(..n).unwrap_or_default())?,
            }
        }
    }
}

fn write_all(to: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = rustix::io::write(&to, bytes)?;
        bytes = bytes.get(n..).unwrap_or_default();
    }
    Ok(())
}
