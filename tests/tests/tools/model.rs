//! A model endpoint that answers by a script.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server with the route `/v1/chat/completions`. It answers with the next reply of its script.
pub(crate) struct Model {
    address: String,
    requests: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<Result<()>>,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Model {
    /// A model with these replies.
    pub(crate) async fn start(replies: Vec<Value>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let requests = Arc::<Mutex<Vec<Value>>>::default();
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await?;
                let request = read(&mut stream).await?;
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                let body = json!({"choices": [{"index": 0, "message": reply}]}).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).await?;
                stream.shutdown().await?;
            }
            Ok(())
        });
        Ok(Self { address, requests, task })
    }

    /// The address for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads a request; its body.
async fn read(stream: &mut TcpStream) -> Result<Value> {
    let mut bytes = Vec::new();
    loop {
        ensure!(stream.read_buf(&mut bytes).await? > 0, "the request ends early");
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        ensure!(head.starts_with("post /v1/chat/completions "), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.context("no length")?.trim().parse()?;
        if bytes.len() >= end + 4 + length {
            return Ok(serde_json::from_slice(&bytes[end + 4..])?);
        }
    }
}

/// A reply that calls tools: `(id, tool, arguments)`.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}
