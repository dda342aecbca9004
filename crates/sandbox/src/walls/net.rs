//! The network of a session: its own loopback device, and nothing else.
//!
//! Creating a network namespace takes the kernel longer than all other namespaces together. So the process
//! that stays behind at the fork creates it while pid 1 builds the root, and hands it over before it exits.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::failure::{OrWall, Wall};
use super::process::last_errno;
use crate::link::{self, Received};
use crate::wire::WallFailure;

/// The request for the network namespace of a socket.
const SIOCGSKNS: libc::Ioctl = 0x894c;

/// A socket pair over which the namespace is passed from one process to the other.
pub(super) struct Handover {
    maker: OwnedFd,
    taker: OwnedFd,
}

impl Handover {
    /// Creates the pair. Call it before the fork.
    pub(super) fn new() -> Result<Self, WallFailure> {
        let kind = (AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (maker, taker) = rustix::net::socketpair(kind.0, kind.1, kind.2, None)
            .or_wall(Wall::Namespaces, "create a socket pair")?;
        Ok(Self { maker, taker })
    }

    /// In the process that stays behind: creates the namespace and sends it, or the failure.
    pub(super) fn make(&self) {
        let made = make();
        let (outcome, network): (Result<(), WallFailure>, _) = match made {
            Ok(network) => (Ok(()), Some(network)),
            Err(failure) => (Err(failure), None),
        };
        let fds: Vec<_> = network.iter().map(AsFd::as_fd).collect();
        // If this fails, the other process finds the link closed.
        let _ = link::send(self.maker.as_fd(), &outcome, &fds);
    }

    /// In pid 1: receives the namespace and enters it.
    pub(super) fn take(self) -> Result<(), WallFailure> {
        drop(self.maker);
        let broken =
            |what: &str| Wall::Namespaces.refused(format_args!("the network was not handed over: {what}"));
        match link::recv::<Result<(), WallFailure>>(self.taker.as_fd()) {
            Ok(Received::Message(outcome, fds)) => {
                outcome?;
                let network = fds.into_iter().next().ok_or_else(|| broken("no descriptor"))?;
                rustix::thread::move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
                    .or_wall(Wall::Namespaces, "enter the network namespace")
            }
            Ok(Received::Closed) => Err(broken("its creator has exited")),
            Err(error) => Err(broken(&error.to_string())),
        }
    }
}

/// Enters a new network namespace, brings `lo` up (the kernel assigns its addresses), and returns the
/// namespace.
fn make() -> Result<OwnedFd, WallFailure> {
    super::unshare(UnshareFlags::NEWNET, "unshare the network namespace")?;
    // The session may use all ports, those below 1024 too. Where `/proc/sys` is read-only, the low ones stay
    // closed.
    let _ = std::fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    let family = AddressFamily::INET;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .or_wall(Wall::Loopback, "open a socket")?;
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or(libc::c_short::MAX);
    // SAFETY: `request` outlives the call, which reads an `ifreq` from it.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } != 0 {
        return Err(last_errno()).or_wall(Wall::Loopback, "bring `lo` up");
    }
    // SAFETY: the call takes no further argument and returns a new descriptor.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS) } {
        -1 => Err(last_errno()).or_wall(Wall::Namespaces, "get the network namespace"),
        // SAFETY: a new descriptor that nothing else owns.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}
