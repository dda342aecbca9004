//! What the tests of the terminals' door share: a session, viewers of its terminals, and waiting for what they show.

use anyhow::{Context, Result, bail, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{Received, Socket, TestServer};
use serde_json::{Value, json};

/// What a shell prints when it has made the terminal its own to read a line: what is typed before is read as text.
pub(crate) const READS_KEYS: &str = "\u{1b}[?2004h";
pub(crate) const KEYS: u8 = 0x10;
pub(crate) const RESIZE: u8 = 0x12;
pub(crate) const CREDIT: u8 = 0x14;

/// Asks with this token.
pub(crate) async fn ask_as(
    server: &TestServer,
    token: &str,
    method: &str,
    path: &str,
    body: &str,
) -> Result<Raw> {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("Authorization", bearer.as_str())];
    if !body.is_empty() {
        headers.push(("Content-Type", "application/json"));
    }
    raw::request(server.address(), method, path, &headers, body.as_bytes()).await
}

/// Asks with the first token.
pub(crate) async fn ask(server: &TestServer, method: &str, path: &str, body: &str) -> Result<Raw> {
    ask_as(server, server.token(), method, path, body).await
}

/// Makes a session; its id.
pub(crate) async fn session(server: &TestServer) -> Result<String> {
    let made = ask(server, "POST", "/v1/sessions", "{}").await?;
    ensure!(made.status == 201, "{}", made.text());
    Ok(made.json()?["id"].as_str().context("no id")?.to_owned())
}

pub(crate) fn path(session: &str, query: &str) -> String {
    format!("/v1/sessions/{session}/terminal?{query}")
}

/// The terminals of a session.
pub(crate) async fn terminals(server: &TestServer, session: &str) -> Result<Vec<Value>> {
    let told = ask(server, "GET", &format!("/v1/sessions/{session}/terminals"), "").await?;
    ensure!(told.status == 200, "{}", told.text());
    Ok(told.json()?["terminals"].as_array().context("no list")?.clone())
}

/// A viewer: what it was shown, and where it stands.
pub(crate) struct Viewer {
    pub(crate) socket: Socket,
    /// All output so far, a screen's included.
    pub(crate) shown: Vec<u8>,
    /// How many bytes of output came in all.
    pub(crate) bytes: usize,
    /// What is no output.
    pub(crate) told: Vec<Value>,
    /// The last event.
    pub(crate) seq: u64,
    /// Where in `shown` the next wait begins.
    looked: usize,
}

impl Viewer {
    /// Opens one with the first token.
    pub(crate) async fn open(server: &TestServer, session: &str, query: &str) -> Result<Self> {
        Self::open_as(server, session, query, server.token()).await
    }

    pub(crate) async fn open_as(
        server: &TestServer,
        session: &str,
        query: &str,
        token: &str,
    ) -> Result<Self> {
        let socket = Socket::open_with(server, &path(session, query), token).await?;
        Ok(Self { socket, shown: Vec::new(), bytes: 0, told: Vec::new(), seq: 0, looked: 0 })
    }

    /// Has seen what another one saw.
    pub(crate) fn goes_on_from(&mut self, other: Self) {
        (self.shown, self.looked, self.seq) = (other.shown, other.looked, other.seq);
    }

    /// Takes the next frame; false when the server has closed.
    pub(crate) async fn take(&mut self) -> Result<bool> {
        match self.socket.next().await? {
            Received::Output(_, seq, bytes) => {
                self.bytes += bytes.len();
                self.shown.extend(bytes);
                self.seq = self.seq.max(seq);
            }
            Received::Text(message) if message["type"] == "output" => {
                self.shown.extend(message["content"].as_str().context("no content")?.bytes());
                self.seq = self.seq.max(message["seq"].as_u64().context("no seq")?);
            }
            Received::Text(other) | Received::Event(other) => {
                if other["type"] == "snapshot" {
                    // The screen stands in for all that was shown before.
                    (self.shown, self.looked) = (Vec::new(), 0);
                } else {
                    self.seq = self.seq.max(other["seq"].as_u64().unwrap_or(0));
                }
                self.told.push(other);
            }
            Received::Close(code, reason) => {
                self.told.push(json!({ "type": "close", "code": code, "reason": reason }));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until this is shown, after all that was waited for before.
    pub(crate) async fn shows(&mut self, wanted: &str) -> Result<()> {
        loop {
            let new = &self.shown[self.looked..];
            if let Some(at) = new.windows(wanted.len()).position(|part| part == wanted.as_bytes()) {
                self.looked += at + wanted.len();
                return Ok(());
            }
            let taken = self.take().await;
            let taken = taken.with_context(|| format!("waiting for {wanted:?} in {:?}", self.text()))?;
            if !taken {
                bail!("closed before {wanted:?}: {:?}", self.text());
            }
        }
    }

    /// Waits until something of this type is told, and takes it.
    pub(crate) async fn hears(&mut self, kind: &str) -> Result<Value> {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["type"] == kind) {
                return Ok(self.told.remove(at));
            }
            let taken = self.take().await;
            if !taken.with_context(|| format!("waiting for `{kind}` after {:?}", self.text()))?
                && kind != "close"
            {
                bail!("closed before `{kind}`: {:?}", self.told);
            }
        }
    }

    /// Types keys, in a binary frame.
    pub(crate) async fn keys(&mut self, keys: &[u8]) -> Result<()> {
        self.socket.send(KEYS, keys).await
    }

    /// Sends a JSON message.
    pub(crate) async fn say(&mut self, message: &Value) -> Result<()> {
        self.socket.say(&message.to_string()).await
    }

    /// Runs a line, as JSON clients do.
    pub(crate) async fn command(&mut self, line: &str) -> Result<()> {
        self.say(&json!({ "type": "command", "command": line })).await
    }

    /// All that was shown, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }
}
