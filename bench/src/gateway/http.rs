//! A minimal HTTP client: one kept-alive connection to the server under test.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memchr::memmem;
use serde_json::Value;

use super::wire::Wire;

/// The rest of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    /// The rest has this many bytes.
    Bytes(u64),
    /// The line with the size of a chunk.
    ChunkSize,
    /// This many bytes of a chunk, or the end of its line.
    Chunk(u64),
}

/// Servers close idle connections after some seconds: after this time a new one is opened first.
const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// A kept-alive connection, with the state of the answer that is being read.
#[derive(Debug)]
pub struct Http {
    wire: Wire,
    address: String,
    used: Instant,
    /// The headers of every request.
    headers: String,
    left: Left,
}

impl Http {
    /// Connects. Every request sends this value in `Authorization`.
    pub async fn connect(address: &str, authorization: &str) -> Result<Self> {
        let headers = format!("Host: {address}\r\nAuthorization: {authorization}\r\n");
        let (wire, address) = (Wire::connect(address).await?, address.to_owned());
        Ok(Self { wire, address, used: Instant::now(), headers, left: Left::Nothing })
    }

    /// Sends a request in one write; `more` are further headers, each with a line end.
    pub async fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<()> {
        ensure!(self.left == Left::Nothing, "the answer before was not read to its end");
        if self.used.elapsed() > KEEP_ALIVE {
            self.wire = Wire::connect(&self.address).await?;
        }
        self.used = Instant::now();
        let headers = &self.headers;
        let length = body.len();
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{headers}{more}{kind}Content-Length: {length}\r\n\r\n{body}"
        );
        self.wire.send(request.as_bytes()).await
    }

    /// Sends the head of a request whose body of this length is sent by [`more`](Self::more).
    pub async fn begin(&mut self, method: &str, path: &str, length: u64) -> Result<()> {
        let headers = &self.headers;
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n");
        self.wire.send(head.as_bytes()).await
    }

    /// Sends a part of a body.
    pub async fn more(&mut self, bytes: &[u8]) -> Result<()> {
        self.wire.send(bytes).await
    }

    /// Reads the head of the answer; returns its status.
    pub async fn head(&mut self) -> Result<u16> {
        let line = self.wire.line().await?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        self.left = Left::Nothing;
        loop {
            let line = self.wire.line().await?;
            let Some((name, value)) = line.split_once(':') else {
                return Ok(status);
            };
            if name.eq_ignore_ascii_case("content-length") && !matches!(status, 204 | 304) {
                self.left = Left::Bytes(value.trim().parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                self.left = Left::ChunkSize;
            }
        }
    }

    /// The next bytes of the body.
    pub async fn piece(&mut self) -> Result<Option<&[u8]>> {
        let most = loop {
            match self.left {
                Left::Bytes(0) | Left::Nothing => {
                    self.left = Left::Nothing;
                    return Ok(None);
                }
                Left::Chunk(0) => {
                    ensure!(self.wire.line().await?.is_empty(), "a chunk is longer than it said");
                    self.left = Left::ChunkSize;
                }
                Left::Bytes(left) | Left::Chunk(left) => break left,
                Left::ChunkSize => {
                    let size = u64::from_str_radix(&self.wire.line().await?, 16)?;
                    if size == 0 {
                        ensure!(self.wire.line().await?.is_empty(), "trailers came");
                        self.left = Left::Bytes(0);
                    } else {
                        self.left = Left::Chunk(size);
                    }
                }
            }
        };
        let piece = self.wire.some(most).await?;
        let rest = most - piece.len() as u64;
        self.left = if matches!(self.left, Left::Bytes(_)) { Left::Bytes(rest) } else { Left::Chunk(rest) };
        Ok(Some(piece))
    }

    /// The rest of the body.
    pub async fn body(&mut self) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(piece) = self.piece().await? {
            whole.extend_from_slice(piece);
        }
        Ok(whole)
    }

    /// Reads until the body contains this text.
    pub async fn until(&mut self, needle: &str) -> Result<()> {
        let mut got = Vec::new();
        while memmem::find(&got, needle.as_bytes()).is_none() {
            let Some(piece) = self.piece().await? else {
                anyhow::bail!("no `{}` in: {}", needle.trim(), String::from_utf8_lossy(&got));
            };
            got.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Makes a call. The answer must have this status; returns its JSON, if there is any.
    pub async fn call(&mut self, method: &str, path: &str, body: &str, expected: u16) -> Result<Value> {
        self.send(method, path, "", body).await?;
        let status = self.head().await?;
        let answer = self.body().await?;
        let shown = || String::from_utf8_lossy(&answer).into_owned();
        ensure!(status == expected, "{method} {path}: {status}: {}", shown());
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer).with_context(shown)
    }

    /// Requests a stream, whose body the caller reads.
    pub async fn stream(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<()> {
        self.send(method, path, more, body).await?;
        let status = self.head().await?;
        if status != 200 {
            let answer = self.body().await?;
            anyhow::bail!("{method} {path}: {status}: {}", String::from_utf8_lossy(&answer));
        }
        Ok(())
    }

    /// The underlying connection, after a protocol upgrade.
    pub fn into_wire(self) -> Wire {
        self.wire
    }
}
