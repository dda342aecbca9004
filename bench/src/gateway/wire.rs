//! Reading from a connection with little overhead: the cost of the benchmark's clients must not count.

use anyhow::{Context, Result, ensure};
use memchr::memmem::find;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The maximum of one read.
const BUFFER_BYTES: usize = 256 << 10;

/// A connection, with bytes that were read and not yet used.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    quick_ack: bool,
}

impl Wire {
    /// Opens a TCP connection without Nagle's algorithm.
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new(), start: 0, end: 0, quick_ack: false })
    }

    /// Acknowledges everything at once from now on, so that a server with Nagle's algorithm does not wait.
    pub const fn acknowledge_at_once(&mut self) {
        self.quick_ack = true;
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// Reads more bytes into the buffer.
    async fn fill(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER_BYTES]; // allocated by the first read
        }
        if self.end == self.buffer.len() {
            ensure!(self.start > 0, "a line or a frame's head is longer than {BUFFER_BYTES} bytes");
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

    /// Reads a line, without its end (`\r\n`).
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

    /// Reads exactly this many bytes.
    pub async fn exactly(&mut self, bytes: usize) -> Result<&[u8]> {
        while self.end - self.start < bytes {
            self.fill().await?;
        }
        self.start += bytes;
        Ok(&self.buffer[self.start - bytes..self.start])
    }

    /// Reads at least one byte and at most this many.
    pub async fn some(&mut self, at_most: u64) -> Result<&[u8]> {
        if self.start == self.end {
            self.fill().await?;
        }
        let there = self.end - self.start;
        let bytes = usize::try_from(at_most).map_or(there, |most| most.min(there));
        self.start += bytes;
        Ok(&self.buffer[self.start - bytes..self.start])
    }

    /// Returns the open connection, whose readiness is no longer watched.
    pub fn abandon(self) -> Result<std::net::TcpStream> {
        Ok(self.stream.into_std()?)
    }
}
