//! A viewer of a terminal over a WebSocket.

use anyhow::{Context, Result, bail};
use headwater_tests::{Api, Received, Socket};
use serde_json::{Value, json};

/// Printed by a shell when it begins to read single keys: earlier keys are read as a line of text.
pub(crate) const READS_KEYS: &str = "\u{1b}[?2004h";
pub(crate) const KEYS: u8 = 0x10;
pub(crate) const RESIZE: u8 = 0x12;
pub(crate) const CREDIT: u8 = 0x14;

pub(crate) fn path(session: &str, query: &str) -> String {
    format!("/v1/sessions/{session}/terminal?{query}")
}

/// The terminals of a session.
pub(crate) async fn terminals(api: &Api, session: &str) -> Result<Vec<Value>> {
    let list = api.json(&format!("/v1/sessions/{session}/terminals")).await?;
    Ok(list["terminals"].as_array().context("no list")?.clone())
}

/// The output in a message of an editor, or in the JSON of an event.
fn content(message: &Value) -> Option<&str> {
    message["content"].as_str().or_else(|| message["text"].as_str())
}

/// A viewer: what it was shown, and where it stands.
pub(crate) struct Viewer {
    pub(crate) socket: Socket,
    /// All output so far, a screen's included.
    pub(crate) shown: Vec<u8>,
    /// How many bytes of output came in all.
    pub(crate) bytes: usize,
    /// All messages that are not output.
    pub(crate) info: Vec<Value>,
    /// The last event.
    pub(crate) seq: u64,
    /// Where in `shown` the next wait begins.
    looked: usize,
}

impl Viewer {
    /// Connects to a terminal of a session.
    pub(crate) async fn open(api: &Api, session: &str, query: &str) -> Result<Self> {
        let socket = api.socket(&path(session, query)).await?;
        Ok(Self { socket, shown: Vec::new(), bytes: 0, info: Vec::new(), seq: 0, looked: 0 })
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
            // Output of an execution is a message of its own, and `seq` is the terminal's in all of them.
            Received::Text(message) if message["type"] == "output" && message["execution_id"].is_null() => {
                self.shown.extend(content(&message).context("no content")?.bytes());
                self.seq = self.seq.max(message["seq"].as_u64().context("no seq")?);
            }
            Received::Text(other) | Received::Event(other) => {
                if other["type"] == "snapshot" {
                    // The screen stands in for all that was shown before.
                    (self.shown, self.looked) = (Vec::new(), 0);
                } else {
                    self.seq = self.seq.max(other["seq"].as_u64().unwrap_or(0));
                }
                self.info.push(other);
            }
            Received::Close(code, reason) => {
                self.info.push(json!({ "type": "close", "code": code, "reason": reason }));
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

    /// Waits for a message of this type, and takes it.
    pub(crate) async fn hears(&mut self, kind: &str) -> Result<Value> {
        loop {
            if let Some(at) = self.info.iter().position(|info| info["type"] == kind) {
                return Ok(self.info.remove(at));
            }
            let taken = self.take().await;
            if !taken.with_context(|| format!("waiting for `{kind}` after {:?}", self.text()))?
                && kind != "close"
            {
                bail!("closed before `{kind}`: {:?}", self.info);
            }
        }
    }

    /// Types keys, in a binary frame.
    pub(crate) async fn keys(&mut self, keys: &[u8]) -> Result<()> {
        self.socket.send(KEYS, keys).await
    }

    /// Types keys, in a text frame.
    pub(crate) async fn keys_as_text(&mut self, keys: &str) -> Result<()> {
        self.say(&json!({ "type": "input", "data": keys })).await
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
