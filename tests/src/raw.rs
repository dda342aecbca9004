//! HTTP by hand: requests that no well-behaved client would send, and answers exactly as they came.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// A head is never larger.
const HEAD_BYTES: usize = 64 << 10;

/// An answer.
#[derive(Debug)]
pub struct Raw {
    /// Its status.
    pub status: u16,
    /// Its head, as text.
    pub head: String,
    /// Its body, if it was read.
    pub body: Vec<u8>,
}

impl Raw {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("not JSON: {}", self.text()))
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// Sends a request and reads the whole answer.
pub async fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Raw> {
    let mut stream = send(address, method, path, headers, body).await?;
    read(&mut stream, true).await
}

/// Sends a request and reads only the head of the answer: for streams that do not end.
pub async fn head(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Raw> {
    let mut stream = send(address, method, path, headers, body).await?;
    read(&mut stream, false).await
}

/// Sends a request; the answer is the caller's to read. `Host` is the address unless it is among the headers.
pub async fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<TcpStream> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        let _ = write!(text, "Host: {address}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    if !body.is_empty() || matches!(method, "POST" | "PATCH" | "PUT") {
        let _ = write!(text, "Content-Length: {}\r\n", body.len());
    }
    text += "\r\n";
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(text.as_bytes()).await?;
    // A server that refuses the head may not read the body.
    let _ = stream.write_all(body).await;
    Ok(stream)
}

/// Reads an answer, with its body or without.
pub async fn read(stream: &mut TcpStream, whole: bool) -> Result<Raw> {
    timeout(PATIENCE, read_answer(stream, whole)).await.context("no answer in time")?
}

async fn read_answer(stream: &mut TcpStream, whole: bool) -> Result<Raw> {
    let mut got = Vec::new();
    let end = loop {
        if let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if got.len() > HEAD_BYTES || stream.read_buf(&mut got).await? == 0 {
            bail!("no whole head: {}", String::from_utf8_lossy(&got));
        }
    };
    let head = String::from_utf8_lossy(&got[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    let mut raw = Raw { status, head, body: got[end + 4..].to_vec() };
    if !whole || status == 204 || status == 304 {
        return Ok(raw);
    }
    if let Some(length) = raw.header("content-length").and_then(|length| length.parse().ok()) {
        while raw.body.len() < length {
            if stream.read_buf(&mut raw.body).await? == 0 {
                bail!("{} of {length} bytes came", raw.body.len());
            }
        }
    } else {
        while !raw.body.ends_with(b"0\r\n\r\n") {
            if stream.read_buf(&mut raw.body).await? == 0 {
                break;
            }
        }
        raw.body = unchunk(&raw.body)?;
    }
    Ok(raw)
}

fn unchunk(mut body: &[u8]) -> Result<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|two| two == b"\r\n").context("a chunk without a size")?;
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line])?.trim(), 16)?;
        body = &body[line + 2..];
        if size == 0 {
            return Ok(whole);
        }
        whole.extend_from_slice(body.get(..size).context("a chunk is cut")?);
        body = body.get(size + 2..).context("a chunk is cut")?;
    }
}
