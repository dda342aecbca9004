//! A WebSocket client by hand: every frame as it arrives.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use headwater_protocol::Stream;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::Api;
use crate::host::PATIENCE;

/// A frame from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A binary frame of output.
    Output(Stream, u64, Vec<u8>),
    /// A binary frame with JSON.
    Event(Value),
    /// A text frame with JSON.
    Text(Value),
    /// A close frame: its code and reason.
    Close(u16, String),
}

/// A WebSocket.
#[derive(Debug)]
pub struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    /// Opens a WebSocket.
    pub(crate) async fn open(api: &Api, path: &str) -> Result<Self> {
        let mut request = format!("ws://{}{path}", api.address()).into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {}", api.token()).parse()?);
        let stream = TcpStream::connect(api.address()).await?;
        stream.set_nodelay(true)?;
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(answer)) => {
                let body = answer.body().clone().unwrap_or_default();
                bail!("{}: {}", answer.status(), String::from_utf8_lossy(&body))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The next frame.
    pub async fn next(&mut self) -> Result<Received> {
        timeout(PATIENCE, self.receive()).await.context("no frame in time")?
    }

    async fn receive(&mut self) -> Result<Received> {
        loop {
            let message = self.0.next().await.context("the socket ended without a close frame")??;
            return Ok(match message {
                Message::Binary(frame) => binary(&frame)?,
                Message::Text(text) => Received::Text(serde_json::from_str(&text)?),
                Message::Close(frame) => {
                    let frame = frame.context("a close without a code")?;
                    Received::Close(frame.code.into(), frame.reason.to_string())
                }
                _ => continue,
            });
        }
    }

    /// Sends a binary frame.
    pub async fn send(&mut self, kind: u8, rest: &[u8]) -> Result<()> {
        let frame: Bytes = [&[kind], rest].concat().into();
        Ok(self.0.send(Message::Binary(frame)).await?)
    }

    /// Sends a text frame.
    pub async fn say(&mut self, text: &str) -> Result<()> {
        Ok(self.0.send(Message::text(text)).await?)
    }

    /// Closes the socket and waits until the server has closed it too.
    pub async fn close(mut self) -> Result<()> {
        self.0.close(None).await?;
        while let Some(Ok(_)) = timeout(PATIENCE, self.0.next()).await? {}
        Ok(())
    }

    /// All output, all events and the close code, until the server closes the socket.
    pub async fn rest(&mut self) -> Result<(Vec<u8>, Vec<Value>, u16)> {
        let (mut output, mut events) = (Vec::new(), Vec::new());
        loop {
            match self.next().await? {
                Received::Output(_, _, bytes) => output.extend_from_slice(&bytes),
                Received::Event(event) | Received::Text(event) => events.push(event),
                Received::Close(code, _) => return Ok((output, events, code)),
            }
        }
    }
}

fn binary(frame: &[u8]) -> Result<Received> {
    match frame {
        [1, stream, rest @ ..] if rest.len() >= 8 => {
            let (seq, bytes) = rest.split_at(8);
            let stream = Stream::from_number(*stream).context("no such stream")?;
            Ok(Received::Output(stream, u64::from_le_bytes(seq.try_into()?), bytes.to_vec()))
        }
        [2, json @ ..] => Ok(Received::Event(serde_json::from_slice(json)?)),
        other => bail!("an unknown frame: {other:?}"),
    }
}
