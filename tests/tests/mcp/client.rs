//! A client of the Model Context Protocol that sees every message. Whatever it waits for has a limit.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::TestWorker;
use headwater_tests::host::{self, PATIENCE};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The version of the protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake, in this version.
    Handshake(&'static str),
    /// 2026-07-28, without one.
    Stateless,
    /// The same for a client that declares the extension for tasks.
    StatelessTasks,
}

/// Every kind of client.
pub(crate) const ERAS: [Era; 3] =
    [Era::Handshake("2025-06-18"), Era::Handshake("2025-11-25"), Era::Stateless];

/// A running `headwater mcp`.
pub(crate) struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: mpsc::Receiver<Value>,
    errors: mpsc::Receiver<String>,
    era: Era,
    next: i64,
    /// What the client declares.
    capabilities: Value,
    /// What came besides the answers that were waited for.
    pub(crate) others: Vec<Value>,
}

impl McpClient {
    /// Starts it on the worker's folder, with its handshake.
    pub(crate) fn start(worker: &TestWorker, era: Era) -> Result<Self> {
        Self::with(worker, era, &[])
    }

    /// The same with these arguments.
    pub(crate) fn with(worker: &TestWorker, era: Era, words: &[&str]) -> Result<Self> {
        let mut client = Self::of(command(worker, words)?, era)?;
        client.handshake()?;
        Ok(client)
    }

    /// Starts a command, without a handshake.
    pub(crate) fn of(mut command: Command, era: Era) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut stderr = child.stderr.take().context("no stderr")?;
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // Anything that is no message of the protocol must not be there.
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({"not a message": line}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let (sender, errors) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            let _ = sender.send(text);
        });
        let stdin = child.stdin.take();
        let capabilities = match era {
            Era::Handshake(_) | Era::Stateless => json!({}),
            Era::StatelessTasks => json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
        };
        Ok(Self { child, stdin, messages, errors, era, next: 0, capabilities, others: Vec::new() })
    }

    /// Starts it with these arguments, for a client that declares these capabilities.
    pub(crate) fn declaring(
        worker: &TestWorker,
        era: Era,
        words: &[&str],
        capabilities: Value,
    ) -> Result<Self> {
        let mut client = Self::of(command(worker, words)?, era)?;
        client.capabilities = capabilities;
        client.handshake()?;
        Ok(client)
    }

    /// The version that it speaks.
    pub(crate) const fn era(&self) -> Era {
        self.era
    }

    fn handshake(&mut self) -> Result<()> {
        let Era::Handshake(version) = self.era else { return Ok(()) };
        let answer = self.initialize(version)?;
        ensure!(answer["result"]["protocolVersion"] == version, "{answer}");
        Ok(())
    }

    /// Sends `initialize` and the notification after it; returns the answer.
    pub(crate) fn initialize(&mut self, version: &str) -> Result<Value> {
        let params = json!({
            "protocolVersion": version, "capabilities": self.capabilities,
            "clientInfo": {"name": "test-client", "version": "1"},
        });
        let answer = self.request("initialize", params)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(answer)
    }

    /// Sends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stdin.as_mut().context("closed")?.write_all(bytes)?)
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Value) -> Result<()> {
        self.write(format!("{message}\n").as_bytes())
    }

    /// The next message.
    pub(crate) fn read(&mut self) -> Result<Value> {
        self.messages.recv_timeout(PATIENCE).with_context(|| {
            let errors = self.errors.recv_timeout(Duration::from_millis(100)).unwrap_or_default();
            format!("no message came; standard error: {errors}")
        })
    }

    /// Sends a request; returns its id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> Result<i64> {
        self.next += 1;
        let meta = "io.modelcontextprotocol";
        if !matches!(self.era, Era::Handshake(_)) {
            params["_meta"][format!("{meta}/protocolVersion")] = json!("2026-07-28");
            params["_meta"][format!("{meta}/clientInfo")] = json!({"name": "test-client", "version": "1"});
            params["_meta"][format!("{meta}/clientCapabilities")] = self.capabilities.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))?;
        Ok(self.next)
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: i64) -> Result<Value> {
        if let Some(at) = self.others.iter().position(|message| is_answer(message, id)) {
            return Ok(self.others.remove(at));
        }
        loop {
            let message = self.read()?;
            if is_answer(&message, id) {
                return Ok(message);
            }
            self.others.push(message);
        }
    }

    /// Waits for a notification, which may have come before.
    pub(crate) fn notification(&mut self, method: &str) -> Result<Value> {
        if let Some(at) = self.others.iter().position(|message| message["method"] == method) {
            return Ok(self.others.remove(at));
        }
        loop {
            let message = self.read()?;
            if message["method"] == method {
                return Ok(message);
            }
            self.others.push(message);
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.begin(method, params)?;
        self.answer(id)
    }

    /// The result of a request that must succeed.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Result<Value> {
        let mut answer = self.request(method, params)?;
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].take())
    }

    /// The result of a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text of a tool that must succeed.
    pub(crate) fn text(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.call(tool, arguments)?;
        ensure!(result["isError"] != true, "{tool} {arguments}: {result}");
        Ok(text_of(&result))
    }

    /// Whether no message comes for a while.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.others.is_empty() && self.messages.recv_timeout(Duration::from_millis(300)).is_err()
    }

    /// Sends a signal to it.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        host::signal(i32::try_from(self.child.id())?, signal)
    }

    /// Closes its input and waits for its end; returns what it printed to standard error.
    pub(crate) fn close(mut self) -> Result<(ExitStatus, String)> {
        drop(self.stdin.take());
        self.end()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Result<(ExitStatus, String)> {
        // Standard error closes when the process is gone.
        let errors = self.errors.recv_timeout(PATIENCE).context("it does not end")?;
        Ok((self.child.wait()?, errors))
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder that is the workspace. It must not contain the data folder.
pub(crate) fn project(worker: &TestWorker) -> Result<PathBuf> {
    let folder = worker.scratch().canonicalize()?.join("project");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// `headwater mcp` in that folder, with these arguments.
pub(crate) fn command(worker: &TestWorker, words: &[&str]) -> Result<Command> {
    let mut command = worker.command();
    command.arg("mcp").args(words).current_dir(project(worker)?);
    Ok(command)
}

fn is_answer(message: &Value, id: i64) -> bool {
    message["id"] == id && message.get("method").is_none()
}

/// The text content of a result.
pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
