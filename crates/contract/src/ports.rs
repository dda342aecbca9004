//! Connections to the ports that programs of a session listen on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use headwater_protocol::SessionId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::io::StreamReader;
use tokio_util::sync::PollSender;

use crate::client::Transport;
use crate::error::{ContractError, Fault, FaultKind};
use crate::v1::{self, worker_client::WorkerClient};

/// Messages that wait to be sent.
const MAX_QUEUED_MESSAGES: usize = 4;
/// The bytes of one message.
const CHUNK_BYTES: usize = 64 << 10;

/// The TCP ports that programs of a session listen on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListeningPorts {
    /// Ascending, each once. Those of the host if the session has no network namespace of its own.
    pub ports: Vec<u16>,
    /// Whether [`Client::connect_port`](crate::Client::connect_port) can reach them.
    pub can_connect: bool,
}

type Incoming = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A TCP connection to a port of a session.
pub struct PortConnection {
    incoming: StreamReader<Incoming, Bytes>,
    outgoing: PollSender<v1::ConnectPortRequest>,
}

impl std::fmt::Debug for PortConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortConnection").finish_non_exhaustive()
    }
}

impl PortConnection {
    pub(crate) async fn open(
        mut worker: WorkerClient<Transport>,
        session: SessionId,
        port: u16,
    ) -> Result<Self, ContractError> {
        let (outgoing, receiver) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let session_id = session.to_string();
        let first = v1::ConnectPortRequest { session_id, port: port.into(), data: Bytes::new() };
        // The channel is new and empty: this neither blocks nor fails.
        let _ = outgoing.send(first).await;
        let mut incoming = worker.connect_port(ReceiverStream::new(receiver)).await?.into_inner();
        // The first message says that the connection is open.
        let gone = || Fault::new(FaultKind::Unavailable, "the worker closed the connection");
        incoming.message().await?.ok_or_else(gone)?;
        let incoming: Incoming =
            Box::pin(incoming.map(|message| message.map(|message| message.data).map_err(io::Error::other)));
        Ok(Self { incoming: StreamReader::new(incoming), outgoing: PollSender::new(outgoing) })
    }
}

impl AsyncRead for PortConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.incoming).poll_read(cx, into)
    }
}

impl AsyncWrite for PortConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        ready!(self.outgoing.poll_reserve(cx)).map_err(closed)?;
        let taken = from.len().min(CHUNK_BYTES);
        let data = Bytes::copy_from_slice(&from[..taken]);
        self.outgoing.send_item(v1::ConnectPortRequest { data, ..Default::default() }).map_err(closed)?;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The end of the requests closes this direction.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.close();
        Poll::Ready(Ok(()))
    }
}
