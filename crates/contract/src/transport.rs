//! The connection to the socket of a worker, which exists only where Unix sockets do.

use std::io;
use std::path::Path;

#[cfg(unix)]
pub(crate) async fn open(socket: &Path) -> io::Result<tokio::net::UnixStream> {
    tokio::net::UnixStream::connect(socket).await
}

/// Fails: the type only has to satisfy the caller.
#[cfg(not(unix))]
pub(crate) fn open(_: &Path) -> std::future::Ready<io::Result<tokio::io::DuplexStream>> {
    std::future::ready(Err(io::Error::new(io::ErrorKind::Unsupported, "a worker runs on Linux only")))
}
