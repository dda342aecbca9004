//! The network of a session: a loopback device of its own, and nothing else.

use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::failure::{OrWall, Wall};
use super::process::last_errno;
use crate::wire::WallFailure;

/// Brings `lo` up; the kernel gives it its addresses.
pub(super) fn loopback_up() -> Result<(), WallFailure> {
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .or_wall(Wall::Loopback, "open a socket")?;
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or(libc::c_short::MAX);
    // SAFETY: `request` outlives the call, which reads an `ifreq` from it.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(last_errno()).or_wall(Wall::Loopback, "bring `lo` up"),
    }
}
