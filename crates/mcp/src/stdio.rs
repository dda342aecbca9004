//! Serves on two streams of bytes, a message in each line.
//!
//! The transport of rmcp drops lines that it cannot read; this one answers them, because a client waits for
//! an answer.

use std::io;
use std::sync::Arc;

use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{
    RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::legacy::Legacy;
use crate::server::Server;

mod lines;

use lines::{Line, Lines};

/// Serves until the client closes its side, or `stop` is cancelled. Calls that are running when the client
/// closes its side have a few seconds to end.
pub async fn serve<R, W>(server: Server, read: R, write: W, stop: CancellationToken) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = LineTransport {
        lines: Lines::new(BufReader::new(read)),
        write: Arc::new(Mutex::new(Some(write))),
        legacy: Arc::default(),
        refusals: JoinSet::new(),
        closing: server.closing().clone(),
    };
    let running = match serve_server_with_ct(server, transport, stop).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map(drop).map_err(io::Error::other)
}

struct LineTransport<R, W> {
    lines: Lines<BufReader<R>>,
    write: Arc<Mutex<Option<W>>>,
    legacy: Arc<Legacy>,
    /// Answers that are being sent.
    refusals: JoinSet<()>,
    closing: CancellationToken,
}

impl<R, W> LineTransport<R, W>
where
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Answers a message that rmcp does not get to see, in a task of its own: rmcp drops `receive` whenever
    /// it has other work, and an answer that is dropped half-written would break the stream.
    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        let answer = TxJsonRpcMessage::<RoleServer>::error(error, id);
        let (write, legacy) = (Arc::clone(&self.write), Arc::clone(&self.legacy));
        while self.refusals.try_join_next().is_some() {}
        self.refusals.spawn(async move {
            if let Err(error) = send(&write, &legacy, answer).await {
                tracing::warn!(%error, "an answer was not sent");
            }
        });
    }

    /// A line as a message, if it is one.
    fn message(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                self.refuse(ErrorData::parse_error(format!("invalid JSON: {error}"), None), None);
                return None;
            }
        };
        if !value.is_object() {
            let error = "a message is a JSON object; batches are not supported";
            self.refuse(ErrorData::invalid_request(error, None), None);
            return None;
        }
        let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let is_notification = value.get("id").is_none();
        self.legacy.incoming(&mut value);
        match serde_json::from_value(value) {
            Ok(message) => Some(message),
            // Notifications are never answered.
            Err(error) if is_notification => {
                tracing::debug!(%error, "a notification was ignored");
                None
            }
            Err(_) => {
                let error = "not a JSON-RPC 2.0 message: it needs `jsonrpc`, `method` and an `id`";
                self.refuse(ErrorData::invalid_request(error, None), id);
                None
            }
        }
    }
}

async fn send<W: AsyncWrite + Unpin>(
    write: &Mutex<Option<W>>,
    legacy: &Legacy,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
    let mut line = if is_answer && legacy.is_waiting() {
        let mut value = serde_json::to_value(&message)?;
        legacy.outgoing(&mut value);
        serde_json::to_vec(&value)?
    } else {
        serde_json::to_vec(&message)?
    };
    line.push(b'\n');
    let mut write = write.lock().await;
    let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (write, legacy) = (Arc::clone(&self.write), Arc::clone(&self.legacy));
        async move { send(&write, &legacy, message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Cancel-safe: the position within a line is kept in `lines`.
            match self.lines.next().await {
                Ok(Line::Complete) => {
                    let line = self.lines.take();
                    if line.iter().all(u8::is_ascii_whitespace) {
                        continue;
                    }
                    if let Some(message) = self.message(&line) {
                        return Some(message);
                    }
                }
                Ok(Line::TooLong(id)) => {
                    let error = format!("a message has at most {} bytes", lines::MAX_BYTES);
                    self.refuse(ErrorData::invalid_request(error, None), id);
                }
                Ok(Line::End) => {
                    self.closing.cancel();
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%error, "the client can no longer be read");
                    self.closing.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        while self.refusals.join_next().await.is_some() {}
        drop(self.write.lock().await.take());
        Ok(())
    }
}
