//! The listening socket: bound here, or passed by systemd (socket activation). The supervisor keeps it open over every
//! restart of the server, which gets it as standard input.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use listenfd::ListenFd;

use crate::error::{CommandError, ErrorKind};

/// How long to wait for an address that a server killed just before still holds.
const IN_USE: Duration = Duration::from_millis(200);
/// How often binding is tried again meanwhile.
const RETRY: Duration = Duration::from_millis(5);

/// The socket passed by systemd, if any; otherwise a new one at this address.
pub fn open(address: SocketAddr) -> Result<TcpListener, CommandError> {
    let mut passed = ListenFd::from_env();
    if passed.len() > 1 {
        let message = format!("systemd passed {} sockets; exactly one is expected", passed.len());
        return Err(CommandError::usage(message).hint("keep one `ListenStream=` in the socket unit"));
    }
    let passed = passed.take_tcp_listener(0).map_err(|error| {
        CommandError::usage(format!("the socket passed by systemd is not usable: {error}"))
            .hint("`ListenStream=` in the socket unit must be an address and a port")
    })?;
    passed.map_or_else(|| bind(address), Ok)
}

/// Binds a new socket at this address.
pub fn bind(address: SocketAddr) -> Result<TcpListener, CommandError> {
    let deadline = Instant::now() + IN_USE;
    let bound = loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                std::thread::sleep(RETRY);
            }
            bound => break bound,
        }
    };
    bound.map_err(|error| {
        CommandError::new(ErrorKind::Refused, format!("cannot listen on `{address}`: {error}"))
            .hint("choose another address with `--listen 127.0.0.1:PORT`; port 0 picks a free one")
    })
}

/// The socket passed by the supervisor.
pub fn inherited() -> io::Result<TcpListener> {
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    listener.local_addr()?;
    Ok(listener)
}
