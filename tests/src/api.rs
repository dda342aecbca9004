//! A user's HTTP access to a server: requests with a token, and the calls that most tests make.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};

use crate::host::eventually;
use crate::http::{self, Response, json_of, text};
use crate::{Socket, SseStream};

/// Receive buffer of a client that does not read: what it does not take stays with the server.
const SMALL_BUFFER: u32 = 16 << 10;

/// A user's access to a server. It stays valid over restarts of the server.
#[derive(Debug, Clone)]
pub struct Api {
    address: String,
    /// Empty: requests carry no token.
    token: String,
}

impl Api {
    /// Access to the server at this address with this token; without a token if it is empty.
    pub fn new(address: &str, token: &str) -> Self {
        Self { address: address.to_owned(), token: token.to_owned() }
    }

    /// The server's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Sends any request and reads the whole response.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response> {
        let bearer = self.bearer();
        http::request(&self.address, method, path, &with_token(&bearer, headers), body).await
    }

    /// Sends any request and reads only the head of the response: for streams that do not end.
    pub async fn request_head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response> {
        let bearer = self.bearer();
        http::head(&self.address, method, path, &with_token(&bearer, headers), body).await
    }

    /// Sends a request with a JSON body, or without one if it is `null`.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Response> {
        let (headers, body) = with_json(headers, body);
        self.request(method, path, &headers, body.as_bytes()).await
    }

    /// The same, reading only the head of the response: for streams that do not end.
    pub async fn head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Response> {
        let mut stream = self.open(method, path, headers, body).await?;
        http::read(&mut stream, false).await
    }

    /// The same; the caller reads the response.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<TcpStream> {
        let bearer = self.bearer();
        let (headers, body) = with_json(headers, body);
        http::send(&self.address, method, path, &with_token(&bearer, &headers), body.as_bytes()).await
    }

    /// Sends a request whose response is not read, with a small buffer on this side.
    pub async fn open_unread(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(SMALL_BUFFER)?;
        let mut stream = socket.connect(self.address.parse()?).await?;
        let bearer = self.bearer();
        let (headers, body) = with_json(headers, body);
        let headers = with_token(&bearer, &headers);
        http::write(&mut stream, &self.address, method, path, &headers, body.as_bytes()).await?;
        Ok(stream)
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Result<Response> {
        self.request("GET", path, &[], b"").await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Result<Response> {
        self.request("DELETE", path, &[], b"").await
    }

    /// POST of JSON; without a body if it is `null`.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Response> {
        self.send("POST", path, &[], body).await
    }

    /// PUT of JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Response> {
        self.send("PUT", path, &[], body).await
    }

    /// PATCH of JSON.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<Response> {
        self.send("PATCH", path, &[], body).await
    }

    /// The JSON of a GET that must succeed.
    pub async fn json(&self, path: &str) -> Result<Value> {
        json_of(&self.get(path).await?, 200)
    }

    /// The JSON of a POST that must succeed.
    pub async fn post_ok(&self, path: &str, body: &Value) -> Result<Value> {
        let response = self.post(path, body).await?;
        ensure!((200..300).contains(&response.status), "{path}: {} {}", response.status, response.text());
        json_of(&response, response.status)
    }

    /// Creates a session; its id.
    pub async fn session(&self, body: &Value) -> Result<String> {
        Ok(text(&json_of(&self.post("/v1/sessions", body).await?, 201)?["id"]))
    }

    /// Starts an execution in a session; its id.
    pub async fn start(&self, session: &str, body: &Value) -> Result<String> {
        let path = format!("/v1/sessions/{session}/executions");
        Ok(text(&json_of(&self.post(&path, body).await?, 201)?["id"]))
    }

    /// Starts a one-shot execution; its id.
    pub async fn one_shot(&self, body: &Value) -> Result<String> {
        Ok(text(&json_of(&self.post("/v1/executions", body).await?, 201)?["id"]))
    }

    /// An execution.
    pub async fn execution(&self, id: &str) -> Result<Value> {
        self.json(&format!("/v1/executions/{id}")).await
    }

    /// Waits until the log of an execution is closed; the execution.
    pub async fn closed(&self, id: &str) -> Result<Value> {
        let mut execution = Value::Null;
        for _ in 0..3 {
            execution = self.json(&format!("/v1/executions/{id}?wait=60s&until=closed")).await?;
            if execution["state"] == "closed" {
                return Ok(execution);
            }
        }
        anyhow::bail!("it does not end: {execution}")
    }

    /// What an execution has printed so far on a stream: `stdout`, `stderr`, or `merged`.
    pub async fn output(&self, id: &str, stream: &str) -> Result<String> {
        Ok(self.get(&format!("/v1/executions/{id}/output?stream={stream}")).await?.text())
    }

    /// Waits until an execution is closed; its standard output.
    pub async fn stdout(&self, id: &str) -> Result<String> {
        self.closed(id).await?;
        self.output(id, "stdout").await
    }

    /// Waits until an execution has printed this to its standard output.
    pub async fn until_printed(&self, id: &str, wanted: &str) -> Result<()> {
        let printed = async || self.output(id, "stdout").await.is_ok_and(|output| output.contains(wanted));
        eventually(&format!("`{id}` prints `{wanted}`"), printed).await
    }

    /// Runs a shell line in a session, which must exit with 0; everything it printed.
    pub async fn run_in(&self, session: &str, shell: &str) -> Result<String> {
        let id = self.start(session, &json!({ "shell": shell })).await?;
        let ended = self.closed(&id).await?;
        let output = self.output(&id, "merged").await?;
        ensure!(ended["exit"]["code"] == 0, "{shell}: {ended}\n{output}");
        Ok(output)
    }

    /// Writes to the input of an execution.
    pub async fn write_input(&self, id: &str, bytes: &[u8]) -> Result<()> {
        let path = format!("/v1/executions/{id}/stdin");
        json_of(&self.request("POST", &path, &[], bytes).await?, 204).map(drop)
    }

    /// Writes to the input of an execution and ends it.
    pub async fn end_input(&self, id: &str, bytes: &[u8]) -> Result<()> {
        let path = format!("/v1/executions/{id}/stdin?eof=true");
        json_of(&self.request("POST", &path, &[], bytes).await?, 204).map(drop)
    }

    /// Kills an execution without a grace period.
    pub async fn cancel(&self, id: &str) -> Result<()> {
        let path = format!("/v1/executions/{id}/cancel");
        json_of(&self.post(&path, &json!({ "grace_ms": 0 })).await?, 204).map(drop)
    }

    /// Opens a stream of server-sent events.
    pub async fn stream(&self, path: &str) -> Result<SseStream> {
        SseStream::open(self, "GET", path, &[], &Value::Null).await
    }

    /// Resumes a stream of server-sent events after this id.
    pub async fn resume(&self, path: &str, last_event_id: &str) -> Result<SseStream> {
        SseStream::open(self, "GET", path, &[("Last-Event-ID", last_event_id)], &Value::Null).await
    }

    /// Opens the stream of events that answers a POST.
    pub async fn post_stream(&self, path: &str, body: &Value) -> Result<SseStream> {
        SseStream::open(self, "POST", path, &[], body).await
    }

    /// Follows the events of an execution.
    pub async fn follow(&self, id: &str, query: &str) -> Result<SseStream> {
        self.stream(&format!("/v1/executions/{id}/events?{query}")).await
    }

    /// Opens a WebSocket.
    pub async fn socket(&self, path: &str) -> Result<Socket> {
        Socket::open(self, path).await
    }

    fn bearer(&self) -> String {
        if self.token.is_empty() { String::new() } else { format!("Bearer {}", self.token) }
    }
}

fn with_token<'a>(bearer: &'a str, headers: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let token = (!bearer.is_empty()).then_some(("Authorization", bearer));
    token.into_iter().chain(headers.iter().copied()).collect()
}

fn with_json<'a>(headers: &[(&'a str, &'a str)], body: &Value) -> (Vec<(&'a str, &'a str)>, String) {
    if body.is_null() {
        return (headers.to_vec(), String::new());
    }
    let json = [("Content-Type", "application/json")];
    (json.into_iter().chain(headers.iter().copied()).collect(), body.to_string())
}
