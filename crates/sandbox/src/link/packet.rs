//! One message per packet: a flag byte and postcard, with up to [`MAX_FDS`] descriptors.
//!
//! A message longer than [`INLINE_BYTES`] travels in a sealed memfd, which is then the packet's last
//! descriptor; the flag byte says so. Both functions are synchronous and work on blocking and nonblocking
//! sockets; an event loop treats [`LinkError::WouldBlock`] as "wait until ready".

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::memfd;
use crate::wire::{INLINE_BYTES, MAX_FDS};

/// The longest message. The longest argument list that the kernel accepts is far below it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// The message follows in the packet.
const INLINE: u8 = 0;
/// The message is in the last descriptor.
const IN_MEMFD: u8 = 1;

/// Space for the descriptors of a message and the memfd.
const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_FDS + 1));

/// Why a message could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The socket is nonblocking and not ready: nothing was sent or received.
    #[error("the link is not ready")]
    WouldBlock,
    /// Sending: the other end is closed.
    #[error("the link is closed")]
    Closed,
    /// The message is longer than [`MAX_MESSAGE_BYTES`].
    #[error("a message of `{bytes}` bytes is too long")]
    TooLong {
        /// The length of the message.
        bytes: u64,
    },
    /// The message has more than [`MAX_FDS`] descriptors.
    #[error("a message with `{0}` descriptors has too many")]
    TooManyFds(usize),
    /// Descriptors were lost: too many were sent, or this process has reached its limit.
    #[error("descriptors of a message were lost")]
    FdsLost,
    /// A long message was not in a sealed memfd.
    #[error("a long message was not in a sealed memfd")]
    NotSealed,
    /// A packet without a known flag byte.
    #[error("a packet with an unknown flag `{0}`")]
    UnknownFlag(u8),
    /// The bytes cannot be decoded.
    #[error("a packet could not be decoded")]
    Malformed(#[from] postcard::Error),
    /// Any other error of the kernel.
    #[error("the link failed: {0}")]
    Io(Errno),
}

impl From<Errno> for LinkError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::AGAIN => Self::WouldBlock,
            Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => Self::Closed,
            other => Self::Io(other),
        }
    }
}

impl LinkError {
    /// Whether only this message is unusable: it has been taken from the socket, and the next one may be
    /// fine.
    pub fn spoils_one_message(&self) -> bool {
        !matches!(self, Self::WouldBlock | Self::Closed | Self::Io(_))
    }
}

/// The result of receiving.
#[derive(Debug)]
pub enum Received<T> {
    /// A message and its descriptors, which are close-on-exec.
    Message(T, Vec<OwnedFd>),
    /// The other end is closed, and everything that was sent has been received.
    Closed,
}

/// Sends one message completely or not at all. The descriptors are duplicated; the caller keeps its own.
pub fn send(fd: BorrowedFd<'_>, message: &impl Serialize, fds: &[BorrowedFd<'_>]) -> Result<(), LinkError> {
    if fds.len() > MAX_FDS {
        return Err(LinkError::TooManyFds(fds.len()));
    }
    let packet = postcard::to_extend(message, vec![INLINE])?;
    if packet.len() <= INLINE_BYTES + 1 {
        return send_packet(fd, &packet, fds);
    }
    let body = memfd::seal(packet.get(1..).unwrap_or_default())?;
    let mut all = Vec::with_capacity(fds.len() + 1);
    all.extend_from_slice(fds);
    all.push(body.as_fd());
    send_packet(fd, &[IN_MEMFD], &all)
}

fn send_packet(fd: BorrowedFd<'_>, packet: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), LinkError> {
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(LinkError::TooManyFds(fds.len()));
    }
    let parts = [IoSlice::new(packet)];
    retry_on_intr(|| rustix::net::sendmsg(fd, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives one message.
pub fn recv<T: DeserializeOwned>(fd: BorrowedFd<'_>) -> Result<Received<T>, LinkError> {
    // Get the length first, so that init can work with small buffers.
    let peek = RecvFlags::PEEK | RecvFlags::TRUNC;
    let length = loop {
        match rustix::net::recv(fd, &mut [0_u8; 0], peek) {
            Ok((_, 0)) => return Ok(Received::Closed),
            Ok((_, length)) => break length,
            // The other end closed without reading everything. This is reported once, before the data that it
            // sent.
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    let mut packet = vec![0; length.min(INLINE_BYTES + 1)];
    let mut fds = recv_packet(fd, &mut packet)?;
    if length > packet.len() {
        return Err(LinkError::TooLong { bytes: length as u64 });
    }
    let message = match packet.split_first() {
        Some((&INLINE, body)) => postcard::from_bytes(body)?,
        Some((&IN_MEMFD, _)) => {
            let body = fds.pop().ok_or(LinkError::NotSealed)?;
            postcard::from_bytes(&memfd::open(body.as_fd())?)?
        }
        Some((&flag, _)) => return Err(LinkError::UnknownFlag(flag)),
        None => return Ok(Received::Closed),
    };
    Ok(Received::Message(message, fds))
}

/// Reads one packet and its descriptors from the socket.
fn recv_packet(fd: BorrowedFd<'_>, packet: &mut [u8]) -> Result<Vec<OwnedFd>, LinkError> {
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(packet)];
    let received = loop {
        match rustix::net::recvmsg(fd, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR | Errno::CONNRESET) => {} // as above
            other => break other?,
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(LinkError::FdsLost);
    }
    Ok(fds)
}

#[cfg(test)]
mod tests;
