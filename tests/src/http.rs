//! HTTP by hand: requests that no well-behaved client would send, and responses exactly as they arrive.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::host::eventually;

/// How long a response may take: a compile on a busy machine takes minutes.
const PATIENCE: Duration = Duration::from_mins(3);
/// No head of a response is larger.
const HEAD_BYTES: usize = 64 << 10;
/// `HTTP/1.1 200`.
const STATUS_BYTES: usize = 12;

/// A response.
#[derive(Debug)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its status line and headers, as text.
    pub head: String,
    /// Its body, if it was read.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("not JSON: {}", self.text()))
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// The JSON of a response that must have this status; `null` of an empty body.
pub fn json_of(response: &Response, status: u16) -> Result<Value> {
    ensure!(response.status == status, "{} instead of {status}: {}", response.status, response.text());
    if response.body.is_empty() { Ok(Value::Null) } else { response.json() }
}

/// The error in a response that must have this status. Every error has the same fields.
pub fn error_of(response: &Response, status: u16) -> Result<Value> {
    let error = json_of(response, status)?["error"].clone();
    for field in ["code", "message", "hint", "request_id"] {
        ensure!(error[field].as_str().is_some_and(|text| !text.is_empty()), "no {field}: {error}");
    }
    ensure!(response.header("x-request-id") == error["request_id"].as_str(), "{}", response.head);
    Ok(error)
}

/// The code of the error in a response that must have this status.
pub fn error_code(response: &Response, status: u16) -> Result<String> {
    Ok(text(&error_of(response, status)?["code"]))
}

/// A JSON string; empty if it is something else.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// This field of all items of a list.
pub fn texts(list: &Value, field: &str) -> Vec<String> {
    list["items"].as_array().into_iter().flatten().map(|item| text(&item[field])).collect()
}

/// Sends a request and reads the whole response.
pub async fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response> {
    let mut stream = send(address, method, path, headers, body).await?;
    read(&mut stream, method != "HEAD").await
}

/// Sends a request and reads only the head of the response: for streams that do not end.
pub async fn head(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response> {
    let mut stream = send(address, method, path, headers, body).await?;
    read(&mut stream, false).await
}

/// Sends a request; the caller reads the response. `Host` is the address unless it is among the headers.
pub async fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    write(&mut stream, address, method, path, headers, body).await?;
    Ok(stream)
}

/// Writes a request to a connection.
pub(crate) async fn write(
    stream: &mut TcpStream,
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<()> {
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
    stream.set_nodelay(true)?;
    stream.write_all(text.as_bytes()).await?;
    // A server that refuses the head may not read the body.
    let _ = stream.write_all(body).await;
    Ok(())
}

/// The status of a response that has begun, without reading anything of it.
pub async fn peek_status(stream: &TcpStream) -> Result<u16> {
    let mut head = [0; STATUS_BYTES];
    eventually("a response begins", async || stream.peek(&mut head).await.is_ok_and(|n| n == STATUS_BYTES))
        .await?;
    Ok(std::str::from_utf8(&head[9..])?.parse()?)
}

/// Reads a response, with or without its body.
pub async fn read(stream: &mut TcpStream, with_body: bool) -> Result<Response> {
    timeout(PATIENCE, read_response(stream, with_body)).await.context("no response in time")?
}

async fn read_response(stream: &mut TcpStream, with_body: bool) -> Result<Response> {
    let mut got = Vec::new();
    let end = loop {
        if let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if got.len() > HEAD_BYTES || stream.read_buf(&mut got).await? == 0 {
            bail!("no complete head: {}", String::from_utf8_lossy(&got));
        }
    };
    let head = String::from_utf8_lossy(&got[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    let mut response = Response { status, head, body: got[end + 4..].to_vec() };
    if !with_body || status == 204 || status == 304 {
        return Ok(response);
    }
    if let Some(length) = response.header("content-length").and_then(|length| length.parse().ok()) {
        while response.body.len() < length {
            if stream.read_buf(&mut response.body).await? == 0 {
                bail!("{} of {length} bytes arrived", response.body.len());
            }
        }
        return Ok(response);
    }
    let mut raw = std::mem::take(&mut response.body);
    while !take_chunks(&mut raw, &mut response.body)? {
        ensure!(stream.read_buf(&mut raw).await? > 0, "a chunked body is cut after {}", response.body.len());
    }
    Ok(response)
}

/// Moves the complete chunks at the beginning of `raw` to `body`. Returns true at the end of the body.
pub(crate) fn take_chunks(raw: &mut Vec<u8>, body: &mut Vec<u8>) -> Result<bool> {
    let (mut at, mut ended) = (0, false);
    while let Some(line) = raw[at..].windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&raw[at..at + line])?.trim(), 16)?;
        let begin = at + line + 2;
        let Some(chunk) = raw.get(begin..begin + size + 2) else { break };
        body.extend_from_slice(&chunk[..size]);
        at = begin + size + 2;
        ended |= size == 0;
    }
    raw.drain(..at);
    Ok(ended)
}
