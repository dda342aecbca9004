//! Sockets through which the worker connects to ports of the session.
//!
//! init creates them, because a socket belongs to the network namespace of its creator. The worker connects them,
//! so that init never waits.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A TCP socket that is not connected.
pub(super) fn open(ipv6: bool) -> Result<OwnedFd, Errno> {
    let family = if ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}
