//! Server-sent events as they come over the wire, without a client that resumes or mends anything.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::TestServer;
use crate::raw;

/// How long a stream may be silent before a test gives up: a hang must not look like a slow machine.
const SILENCE: Duration = Duration::from_mins(1);

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its `id:`.
    pub id: Option<String>,
    /// Its `event:`.
    pub event: Option<String>,
    /// Its `data:`.
    pub data: String,
}

impl SseEvent {
    /// The data as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.data).with_context(|| format!("not JSON: {}", self.data))
    }
}

/// A stream of events.
#[derive(Debug)]
pub struct SseStream {
    stream: TcpStream,
    /// As it came, in chunks.
    raw: Vec<u8>,
    /// Without them.
    text: Vec<u8>,
    ended: bool,
}

impl SseStream {
    /// Asks with the first token; with a body it is a POST of JSON.
    pub async fn open(server: &TestServer, path: &str, headers: &[(&str, &str)], body: &str) -> Result<Self> {
        Self::open_as(server, server.token(), path, headers, body).await
    }

    /// Asks with this token.
    pub async fn open_as(
        server: &TestServer,
        token: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Self> {
        let bearer = format!("Bearer {token}");
        let mut all = vec![("Authorization", bearer.as_str()), ("Accept", "text/event-stream")];
        if !body.is_empty() {
            all.push(("Content-Type", "application/json"));
        }
        all.extend_from_slice(headers);
        let method = if body.is_empty() { "GET" } else { "POST" };
        let mut stream = raw::send(server.address(), method, path, &all, body.as_bytes()).await?;
        let answer = raw::read(&mut stream, false).await?;
        ensure!(answer.status == 200, "{path}: {}\n{}", answer.head, answer.text());
        ensure!(answer.header("content-type") == Some("text/event-stream"), "{}", answer.head);
        Ok(Self { stream, raw: answer.body, text: Vec::new(), ended: false })
    }

    /// The next event; none at the stream's end.
    pub async fn next(&mut self) -> Result<Option<SseEvent>> {
        loop {
            self.unchunk()?;
            while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                if let Some(event) = parse(std::str::from_utf8(&block)?) {
                    return Ok(Some(event));
                }
            }
            if self.ended {
                return Ok(None);
            }
            let read = timeout(SILENCE, self.stream.read_buf(&mut self.raw)).await;
            if read.context("no event came")?? == 0 {
                self.ended = true;
            }
        }
    }

    /// The next event as JSON, which must come.
    pub async fn json(&mut self) -> Result<Value> {
        self.next().await?.context("the stream ended")?.json()
    }

    /// All events up to the one that `last` wants, as JSON.
    pub async fn until(&mut self, last: impl Fn(&Value) -> bool) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        loop {
            all.push(self.json().await.with_context(|| format!("after {all:?}"))?);
            if all.last().is_some_and(&last) {
                return Ok(all);
            }
        }
    }

    /// All events to the stream's end, as JSON.
    pub async fn rest(&mut self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await? {
            all.push(event.json()?);
        }
        Ok(all)
    }

    fn unchunk(&mut self) -> Result<()> {
        while let Some(line) = self.raw.windows(2).position(|two| two == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line])?.trim(), 16)?;
            let from = line + 2;
            if self.raw.len() < from + size + 2 {
                return Ok(());
            }
            self.text.extend_from_slice(&self.raw[from..from + size]);
            self.raw.drain(..from + size + 2);
            self.ended |= size == 0;
        }
        Ok(())
    }
}

/// An event of its lines; none of comments and `retry:` alone.
fn parse(block: &str) -> Option<SseEvent> {
    let field = |name: &str| {
        let mut lines = block.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    Some(SseEvent { id: field("id"), event: field("event"), data: field("data")? })
}
