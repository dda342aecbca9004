//! A minimal WebSocket client, which parses frames only as far as needed to count their bytes.

use anyhow::{Result, ensure};

use super::http::Http;
use super::wire::Wire;

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
/// The first byte of a frame: the final flag and the opcode.
const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;

/// An open WebSocket.
#[derive(Debug)]
pub struct Socket {
    wire: Wire,
}

/// The head of a received frame.
#[derive(Debug, Clone, Copy)]
struct Head {
    kind: u8,
    bytes: u64,
}

impl Socket {
    /// Upgrades a connection.
    pub async fn open(mut http: Http, path: &str) -> Result<Self> {
        http.send("GET", path, UPGRADE, "").await?;
        let status = http.head().await?;
        if status != 101 {
            let answer = http.body().await?;
            anyhow::bail!("{path}: {status}: {}", String::from_utf8_lossy(&answer));
        }
        Ok(Self { wire: http.into_wire() })
    }

    /// Acknowledges everything at once from now on.
    pub const fn acknowledge_at_once(&mut self) {
        self.wire.acknowledge_at_once();
    }

    /// Sends a binary message.
    pub async fn binary(&mut self, message: &[u8]) -> Result<()> {
        self.send(BINARY, message).await
    }

    /// Sends a text message.
    pub async fn text(&mut self, message: &str) -> Result<()> {
        self.send(TEXT, message.as_bytes()).await
    }

    /// Sends a frame. The mask is zero, which leaves the bytes unchanged.
    async fn send(&mut self, kind: u8, message: &[u8]) -> Result<()> {
        let mut frame = vec![kind];
        if let Ok(length @ ..126) = u8::try_from(message.len()) {
            frame.push(0x80 | length);
        } else {
            frame.push(0x80 | 0x7e); // the length follows in two bytes
            frame.extend_from_slice(&u16::try_from(message.len())?.to_be_bytes());
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(message);
        self.wire.send(&frame).await
    }

    async fn head(&mut self) -> Result<Head> {
        let &[kind, length] = self.wire.exactly(2).await? else { anyhow::bail!("no head") };
        let bytes = match length {
            126 => u64::from(u16::from_be_bytes(self.wire.exactly(2).await?.try_into()?)),
            127 => u64::from_be_bytes(self.wire.exactly(8).await?.try_into()?),
            length => u64::from(length),
        };
        Ok(Head { kind, bytes })
    }

    /// The next message; `None` when the server closes.
    pub async fn message(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let head = self.head().await?;
            let mut message = Vec::with_capacity(usize::try_from(head.bytes)?);
            while (message.len() as u64) < head.bytes {
                message.extend_from_slice(self.wire.some(head.bytes - message.len() as u64).await?);
            }
            match head.kind {
                TEXT | BINARY => return Ok(Some(message)),
                CLOSE => return Ok(None),
                _ => {}
            }
        }
    }

    /// The next binary message, of which only the first byte is kept and the rest is counted; `None` when the
    /// server closes.
    pub async fn count(&mut self) -> Result<Option<(u8, u64)>> {
        loop {
            let head = self.head().await?;
            let (mut left, mut first) = (head.bytes, None);
            while left > 0 {
                let piece = self.wire.some(left).await?;
                first = first.or_else(|| piece.first().copied());
                left -= piece.len() as u64;
            }
            match head.kind {
                BINARY => {
                    ensure!(head.bytes > 0, "an empty message came");
                    return Ok(Some((first.unwrap_or(0), head.bytes - 1)));
                }
                CLOSE => return Ok(None),
                _ => {}
            }
        }
    }

    /// Returns the open connection, which is no longer read.
    pub fn abandon(self) -> Result<std::net::TcpStream> {
        self.wire.abandon()
    }
}
