//! An exec-server in temporary folders, and connections to it: JSON-RPC over a WebSocket.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::gateway::http::Http;
use crate::gateway::socket::Socket;

/// Notifications about a process.
pub const OUTPUT: &str = "process/output";
pub const EXITED: &str = "process/exited";
pub const CLOSED: &str = "process/closed";

/// The bytes before the output in a notification.
const BEFORE_CHUNK: &[u8] = b"\"chunk\":\"";

/// A running exec-server.
#[derive(Debug)]
pub struct ExecServer {
    _child: Child,
    _stdout: Lines<BufReader<ChildStdout>>,
    address: String,
    folder: TempDir,
}

impl ExecServer {
    /// Starts a server, and waits until it listens.
    pub async fn start(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(program);
        command.args(["exec-server", "--listen", "ws://127.0.0.1:0"]).env("CODEX_HOME", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().context("starting the exec-server")?;
        let mut lines = BufReader::new(child.stdout.take().context("no pipe")?).lines();
        loop {
            let line = lines.next_line().await?.context("the exec-server ended")?;
            if let Some(address) = line.trim().strip_prefix("ws://") {
                let address = address.trim_end_matches('/').to_owned();
                return Ok(Self { _child: child, _stdout: lines, address, folder });
            }
        }
    }

    /// A folder for its programs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Opens a connection, whose programs run in the folder.
    pub async fn connect(&self) -> Result<Connection> {
        let http = Http::connect(&self.address, "none").await?;
        let folder = format!("file://{}", self.folder.path().display());
        let mut connection = Connection { socket: Socket::open(http, "/").await?, folder, sent: 0 };
        connection.call("initialize", &json!({ "clientName": "headwater-bench" })).await?;
        connection.socket.text(r#"{"method":"initialized","params":{}}"#).await?;
        Ok(connection)
    }
}

/// A connection to the server.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    /// The working directory of programs, as a URL.
    folder: String,
    sent: u64,
}

impl Connection {
    /// Acknowledges everything at once from now on.
    pub const fn acknowledge_at_once(&mut self) {
        self.socket.acknowledge_at_once();
    }

    async fn send(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.sent += 1;
        self.socket.text(&json!({ "id": self.sent, "method": method, "params": params }).to_string()).await?;
        Ok(self.sent)
    }

    async fn message(&mut self) -> Result<Vec<u8>> {
        self.socket.message().await?.context("the exec-server closed the connection")
    }

    async fn value(&mut self) -> Result<Value> {
        let message: Value = serde_json::from_slice(&self.message().await?)?;
        match message.get("error") {
            Some(error) => bail!("the exec-server refuses: {error}"),
            None => Ok(message),
        }
    }

    /// Calls a method; returns its result.
    pub async fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        loop {
            let mut message = self.value().await?;
            if message["id"] == id {
                return Ok(message["result"].take());
            }
        }
    }

    /// Requests the start of a program, with its sandbox or without; returns the name of the process.
    pub async fn start(&mut self, argv: &[&str], is_sandboxed: bool) -> Result<String> {
        let process = format!("bench-{}", self.sent);
        let sandbox = is_sandboxed.then(|| sandbox(&self.folder));
        let params = json!({
            "processId": process, "argv": argv, "cwd": self.folder, "tty": false, "pipeStdin": false, "arg0": null,
            "env": { "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.folder.trim_start_matches("file://") },
            "sandbox": sandbox,
        });
        self.send("process/start", &params).await?;
        Ok(process)
    }

    /// Reads until a process has sent this notification; returns its content.
    pub async fn until(&mut self, process: &str, method: &str) -> Result<Value> {
        loop {
            let mut message = self.value().await?;
            if message["method"] == method && message["params"]["processId"] == process {
                return Ok(message["params"].take());
            }
        }
    }

    /// Runs a program to its end; returns the time from the request to this notification.
    pub async fn time(&mut self, argv: &[&str], is_sandboxed: bool, until: &str) -> Result<Duration> {
        let begun = Instant::now();
        let process = self.start(argv, is_sandboxed).await?;
        let params = self.until(&process, until).await?;
        let took = begun.elapsed();
        ensure!(until != EXITED || params["exitCode"] == 0, "`{argv:?}` ended with {params}");
        self.until(&process, CLOSED).await?;
        Ok(took)
    }

    /// Runs a program to its end; returns the number of bytes that it printed.
    pub async fn count(&mut self, argv: &[&str]) -> Result<u64> {
        self.start(argv, false).await?;
        let mut bytes = 0;
        loop {
            let message = self.message().await?;
            if memmem::find(&message, OUTPUT.as_bytes()).is_some() {
                bytes += chunk_bytes(&message)?;
            } else if memmem::find(&message, CLOSED.as_bytes()).is_some() {
                return Ok(bytes);
            }
        }
    }
}

/// The bytes of output in a notification, without decoding them.
fn chunk_bytes(message: &[u8]) -> Result<u64> {
    let start =
        memmem::find(message, BEFORE_CHUNK).context("an output without a chunk")? + BEFORE_CHUNK.len();
    let length = memchr::memchr(b'"', &message[start..]).context("an output without an end")?;
    let padding = message[start..start + length].iter().rev().take_while(|byte| **byte == b'=').count();
    Ok((length / 4 * 3 - padding) as u64)
}

/// Its profile that is closest to the walls of a session: everything can be read, only the folder can be written, and
/// there is no network.
fn sandbox(folder: &str) -> Value {
    let entry = |kind: &str, access: &str| json!({ "path": { "type": "special", "value": { "kind": kind } }, "access": access });
    let entries = [entry("root", "read"), entry("project_roots", "write")];
    json!({
        "permissions": {
            "type": "managed", "network": "restricted", "file_system": { "type": "restricted", "entries": entries },
        },
        "cwd": folder, "workspaceRoots": [folder], "windowsSandboxLevel": "disabled",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_without_decoding() {
        for (chunk, bytes) in [("", 0), ("aA==", 1), ("aGU=", 2), ("aGVs", 3), ("aGVsbG8K", 6)] {
            let message =
                format!(r#"{{"method":"process/output","params":{{"seq":1,"chunk":"{chunk}","x":1}}}}"#);
            assert_eq!(chunk_bytes(message.as_bytes()).unwrap(), bytes, "{chunk}");
        }
    }
}
