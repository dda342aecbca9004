//! Moves the bytes of a connection to a port of a session.

use std::sync::Arc;

use bytes::BytesMut;
use futures_util::StreamExt;
use headwater_contract::{Fault, FaultKind, v1};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Status, Streaming};

use super::response_stream::ResponseStream;
use crate::engine::Engine;
use crate::sessions::session::Session;

/// Connections of all sessions together: each needs a descriptor.
pub(crate) const MAX_CONNECTIONS: usize = 1024;
/// The bytes of one message.
const CHUNK_BYTES: usize = 64 << 10;

/// What a connection holds until its response ends.
struct Held {
    reader: OwnedReadHalf,
    is_open: bool,
    /// Ends the writer.
    #[allow(dead_code)] // counts while it exists
    writer: DropGuard,
    #[allow(dead_code)] // counts while it exists
    permit: OwnedSemaphorePermit,
}

/// Connects to the port. The response has an empty message when the connection is open, then what the program sends.
pub(crate) async fn connect(
    engine: &Engine,
    session: Arc<Session>,
    port: u32,
    chunks: Streaming<v1::ConnectPortRequest>,
) -> Result<ResponseStream<v1::ConnectPortResponse>, Fault> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    let port = port.ok_or_else(|| Fault::new(FaultKind::Invalid, "a port is between 1 and 65535"))?;
    let busy = |_| Fault::new(FaultKind::Exhausted, "too many connections to ports of sessions are open");
    let permit = Semaphore::try_acquire_owned(Arc::clone(&engine.port_permits)).map_err(busy)?;
    let (reader, writer) = session.connect(port).await?.into_split();
    let gone = CancellationToken::new();
    tokio::spawn(gone.clone().run_until_cancelled_owned(write(writer, chunks, session)));
    let held = Held { reader, is_open: false, writer: gone.drop_guard(), permit };
    Ok(Box::pin(futures_util::stream::unfold(Some(held), read)))
}

/// Writes what the caller sends until it closes its direction.
async fn write(
    mut writer: OwnedWriteHalf,
    mut chunks: Streaming<v1::ConnectPortRequest>,
    session: Arc<Session>,
) {
    while let Some(Ok(chunk)) = chunks.next().await {
        session.touch();
        // A program that no longer reads may still send.
        if writer.write_all(&chunk.data).await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

/// The next message: first that the connection is open, then the program's bytes.
async fn read(held: Option<Held>) -> Option<(Result<v1::ConnectPortResponse, Status>, Option<Held>)> {
    let mut held = held?;
    let mut data = BytesMut::new();
    if held.is_open {
        data.reserve(CHUNK_BYTES);
        match held.reader.read_buf(&mut data).await {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some((Err(Status::unavailable(error.to_string())), None)),
        }
    }
    held.is_open = true;
    Some((Ok(v1::ConnectPortResponse { data: data.freeze() }), Some(held)))
}
