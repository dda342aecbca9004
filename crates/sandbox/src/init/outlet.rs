//! The outlet: a listening socket on the session's own loopback device, where programs find what the worker offers.
//!
//! init makes it, since the socket belongs to the network of whoever makes it, and the worker accepts on it: what
//! programs say goes straight to the worker, and nothing inside has to pass it on.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

/// Connections that wait to be accepted, while no worker is there among others.
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
