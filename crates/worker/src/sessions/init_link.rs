//! The worker's end of the connection to the init of a session.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_sandbox::link::{self, LinkError, Received};
use headwater_sandbox::wire::{FromInit, ToInit};
use rustix::net::Shutdown;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use crate::async_fd::register;

/// A connection to an init, for asynchronous tasks.
#[derive(Debug)]
pub(crate) struct InitLink {
    socket: AsyncFd<OwnedFd>,
    /// Held while a message is sent: messages of several tasks go out one after the other.
    sending: Mutex<()>,
}

impl InitLink {
    /// Takes a connected socket. Must be called within the runtime that receives.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self {
            socket: register(socket, Interest::READABLE | Interest::WRITABLE)?,
            sending: Mutex::new(()),
        })
    }

    /// Shuts the connection down in both directions.
    pub(crate) fn shut_down(&self) {
        // An error means that the other end is gone.
        let _ = rustix::net::shutdown(self.socket.get_ref(), Shutdown::Both);
    }

    /// Sends one message. Waits only if init has not read the previous ones.
    pub(crate) async fn send(&self, message: &ToInit, fds: &[BorrowedFd<'_>]) -> Result<(), LinkError> {
        let _lock = self.sending.lock().await;
        loop {
            match link::send(self.socket.get_ref().as_fd(), message, fds) {
                Err(LinkError::WouldBlock) => {}
                other => return other,
            }
            let mut guard = self.socket.writable().await.map_err(|_| LinkError::Closed)?;
            guard.clear_ready();
        }
    }

    /// The next message and its descriptors; `None` when init is gone.
    pub(crate) async fn recv(&self) -> Result<Option<(FromInit, Vec<OwnedFd>)>, LinkError> {
        loop {
            let mut guard = self.socket.ready(Interest::READABLE).await.map_err(|_| LinkError::Closed)?;
            match link::recv(self.socket.get_ref().as_fd()) {
                Ok(Received::Message(message, fds)) => return Ok(Some((message, fds))),
                Ok(Received::Closed) | Err(LinkError::Closed) => return Ok(None),
                Err(LinkError::WouldBlock) => guard.clear_ready(),
                Err(error) => return Err(error),
            }
        }
    }
}
