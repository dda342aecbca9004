//! A WebSocket connection: the handshake with the HTTP client, then frames in both directions.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{Sink, Stream};
use reqwest::{Method, Upgraded, Url};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use crate::Result;
use crate::attach::{Outbox, Sent};
use crate::client::Client;
use crate::error::ClientError;
use crate::stream::{STABLE_AFTER, silent};

/// The maximum size of a message: one event of the log is smaller.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// A frame, or the end of the connection.
#[derive(Debug)]
pub(crate) enum Received {
    /// A frame.
    Frame(Bytes),
    /// The server closed the connection in order.
    End,
}

/// An open WebSocket connection.
#[derive(Debug)]
pub(crate) struct Socket {
    ws: WebSocketStream<Upgraded>,
    /// After this long without data the connection is lost; after a third of it a ping is sent.
    idle_timeout: Duration,
    opened: Instant,
    heard: Instant,
    asked: Instant,
    /// The senders of frames that are written but perhaps not flushed.
    unflushed: VecDeque<Sent>,
    /// The frame that waits until the socket is writable.
    next: Option<(Message, Option<Sent>)>,
}

impl Socket {
    /// Connects and performs the handshake.
    pub(crate) async fn open(client: &Client, url: Url) -> Result<Self> {
        timeout(client.idle_timeout(), Self::shake_hands(client, url)).await.map_err(|_| silent())?
    }

    async fn shake_hands(client: &Client, url: Url) -> Result<Self> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| ClientError::Setup(error.to_string()))?;
        let key = STANDARD.encode(nonce);
        let request = client
            .request(Method::GET, url)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", &key);
        let answer = client.send(request).await?;
        let accept = answer.headers().get("Sec-WebSocket-Accept").map(|value| value.as_bytes().to_vec());
        if answer.status().as_u16() != 101
            || accept.as_deref() != Some(derive_accept_key(key.as_bytes()).as_bytes())
        {
            return Err(ClientError::Malformed("the answer is not a WebSocket".into()));
        }
        let stream = answer.upgrade().await.map_err(|error| client.request_error(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let ws = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await;
        let now = Instant::now();
        Ok(Self {
            ws,
            idle_timeout: client.idle_timeout(),
            opened: now,
            heard: now,
            asked: now,
            unflushed: VecDeque::new(),
            next: None,
        })
    }

    /// Whether the connection worked.
    pub(crate) fn was_stable(&self) -> bool {
        self.opened.elapsed() >= STABLE_AFTER
    }

    /// The next frame; meanwhile the frames of the outbox are sent. Cancelling this future loses nothing.
    pub(crate) async fn next(&mut self, outbox: &mut Outbox) -> Result<Received> {
        loop {
            let until =
                (self.heard.max(self.asked) + self.idle_timeout / 3).min(self.heard + self.idle_timeout);
            if let Ok(heard) = timeout_at(until, std::future::poll_fn(|cx| self.poll(cx, outbox))).await {
                return heard;
            }
            if self.heard.elapsed() >= self.idle_timeout {
                return Err(silent());
            }
            self.asked = Instant::now();
            outbox.ping();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, outbox: &mut Outbox) -> Poll<Result<Received>> {
        if let Poll::Ready(Err(error)) = self.poll_write(cx, outbox) {
            return Poll::Ready(Err(request_error(&error)));
        }
        loop {
            let message = match ready!(Pin::new(&mut self.ws).poll_next(cx)) {
                None | Some(Err(WsError::ConnectionClosed)) => return Poll::Ready(Ok(Received::End)),
                Some(Err(error)) => return Poll::Ready(Err(request_error(&error))),
                Some(Ok(message)) => message,
            };
            self.heard = Instant::now();
            match message {
                Message::Binary(frame) => return Poll::Ready(Ok(Received::Frame(frame))),
                Message::Close(frame) => return Poll::Ready(close_result(frame)),
                // The library answers pings; text frames are sent only on request.
                Message::Ping(_) | Message::Pong(_) | Message::Text(_) | Message::Frame(_) => {}
            }
        }
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        outbox: &mut Outbox,
    ) -> Poll<std::result::Result<(), WsError>> {
        loop {
            if self.next.is_none() {
                let Poll::Ready(Some(message)) = outbox.poll_next(cx) else { break };
                self.next = Some(message);
            }
            ready!(Pin::new(&mut self.ws).poll_ready(cx))?;
            if let Some((message, sent)) = self.next.take() {
                Pin::new(&mut self.ws).start_send(message)?;
                self.unflushed.extend(sent);
            }
        }
        ready!(Pin::new(&mut self.ws).poll_flush(cx))?;
        for sent in self.unflushed.drain(..) {
            let _ = sent.send(()); // the sender may have stopped waiting
        }
        Poll::Ready(Ok(()))
    }
}

fn request_error(error: &WsError) -> ClientError {
    match error {
        WsError::Capacity(error) => ClientError::malformed(error),
        WsError::Utf8(error) => ClientError::malformed(error),
        // A cut connection is a protocol violation, too: only a retry can tell the difference.
        other => ClientError::Disconnected(other.to_string()),
    }
}

/// The meaning of a close frame: reconnect, give up, or check whether there is more.
fn close_result(frame: Option<CloseFrame>) -> Result<Received> {
    let Some(CloseFrame { code, reason }) = frame else {
        return Ok(Received::End);
    };
    let why = format!("the server closed the attachment: {reason}");
    match code {
        CloseCode::Restart | CloseCode::Away | CloseCode::Again => Err(ClientError::Disconnected(why)),
        CloseCode::Protocol
        | CloseCode::Unsupported
        | CloseCode::Invalid
        | CloseCode::Policy
        | CloseCode::Size
        | CloseCode::Error => Err(ClientError::Malformed(why)),
        _ => Ok(Received::End),
    }
}
