//! The outlet: a listening socket on the session's loopback device, through which programs reach the worker's
//! proxy.
//!
//! init creates it, because a socket belongs to the network namespace of its creator. The worker accepts on
//! it, so that connections go straight to the worker and nothing inside the session has to forward them.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

/// Connections that can wait to be accepted, for example while no worker is running.
const LISTEN_BACKLOG: i32 = 128;

/// Listens on this port of 127.0.0.1.
pub(super) fn open(port: u16) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, LISTEN_BACKLOG)?;
    Ok(socket)
}
