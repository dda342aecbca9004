//! Bytes of a connection, read as cheaply as can be: what the clients of these benchmarks cost must not count.

use anyhow::{Context, Result, ensure};
use memchr::memmem::find;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Read at once at most.
const BUFFER: usize = 256 << 10;

/// A connection, and what was read of it and not yet used.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    quick_ack: bool,
}

impl Wire {
    /// Connects.
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new(), start: 0, end: 0, quick_ack: false })
    }

    /// From now on all that comes is acknowledged at once: a server that leaves Nagle's algorithm on is not kept waiting.
    pub const fn acknowledge_at_once(&mut self) {
        self.quick_ack = true;
    }

    /// Sends.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// Reads more, behind what is there.
    async fn fill(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER]; // only who reads has one
        }
        if self.end == self.buffer.len() {
            ensure!(self.start > 0, "a line or a frame's head is longer than {BUFFER} bytes");
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.quick_ack {
            rustix::net::sockopt::set_tcp_quickack(&self.stream, true)?;
        }
        let n = self.stream.read(&mut self.buffer[self.end..]).await?;
        ensure!(n > 0, "the server closed the connection");
        self.end += n;
        Ok(())
    }

    /// A line, without its end (`\r\n`).
    pub async fn line(&mut self) -> Result<String> {
        loop {
            let there = &self.buffer[self.start..self.end];
            if let Some(length) = find(there, b"\r\n") {
                let line = std::str::from_utf8(&there[..length]).context("a line is not text")?.to_owned();
                self.start += length + 2;
                return Ok(line);
            }
            self.fill().await?;
        }
    }

    /// Exactly so many bytes.
    pub async fn exactly(&mut self, bytes: usize) -> Result<&[u8]> {
        while self.end - self.start < bytes {
            self.fill().await?;
        }
        self.start += bytes;
        Ok(&self.buffer[self.start - bytes..self.start])
    }

    /// At least one byte and at most so many: what is there.
    pub async fn some(&mut self, at_most: u64) -> Result<&[u8]> {
        if self.start == self.end {
            self.fill().await?;
        }
        let there = self.end - self.start;
        let bytes = usize::try_from(at_most).map_or(there, |most| most.min(there));
        self.start += bytes;
        Ok(&self.buffer[self.start - bytes..self.start])
    }

    /// Leaves the connection open, and not even its readiness is looked at any more.
    pub fn abandon(self) -> Result<std::net::TcpStream> {
        Ok(self.stream.into_std()?)
    }
}
