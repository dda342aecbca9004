//! Server-sent events as they arrive, without a client that resumes or repairs anything.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::host::PATIENCE;
use crate::{Api, http};

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `id:` field.
    pub id: Option<String>,
    /// The `event:` field.
    pub event: Option<String>,
    /// The `data:` field.
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
    /// Bytes of chunks that are not complete yet.
    raw: Vec<u8>,
    /// The content of complete chunks.
    text: Vec<u8>,
    ended: bool,
}

impl SseStream {
    /// Sends a request that is answered with a stream.
    pub(crate) async fn open(
        api: &Api,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Self> {
        let headers = [&[("Accept", "text/event-stream")], headers].concat();
        let mut stream = api.open(method, path, &headers, body).await?;
        let response = http::read(&mut stream, false).await?;
        ensure!(response.status == 200, "{path}: {}\n{}", response.head, response.text());
        ensure!(response.header("content-type") == Some("text/event-stream"), "{}", response.head);
        Ok(Self { stream, raw: response.body, text: Vec::new(), ended: false })
    }

    /// The next event; none at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<SseEvent>> {
        loop {
            self.ended |= http::take_chunks(&mut self.raw, &mut self.text)?;
            while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                if let Some(event) = parse(std::str::from_utf8(&block)?) {
                    return Ok(Some(event));
                }
            }
            if self.ended {
                return Ok(None);
            }
            let read = timeout(PATIENCE, self.stream.read_buf(&mut self.raw)).await;
            if read.context("no event arrived")?? == 0 {
                self.ended = true;
            }
        }
    }

    /// The next event as JSON; fails at the end of the stream.
    pub async fn json(&mut self) -> Result<Value> {
        self.next().await?.context("the stream ended")?.json()
    }

    /// All events up to the first that `last` accepts, as JSON.
    pub async fn until(&mut self, last: impl Fn(&Value) -> bool) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        loop {
            all.push(self.json().await.with_context(|| format!("after {all:?}"))?);
            if all.last().is_some_and(&last) {
                return Ok(all);
            }
        }
    }

    /// All events to the end of the stream, as JSON.
    pub async fn rest(&mut self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await? {
            all.push(event.json()?);
        }
        Ok(all)
    }
}

/// Parses the lines of an event. Comments and `retry:` alone are not an event.
fn parse(block: &str) -> Option<SseEvent> {
    let field = |name: &str| {
        let mut lines = block.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    Some(SseEvent { id: field("id"), event: field("event"), data: field("data")? })
}
