//! A Jupyter Server in temporary folders, and its kernels.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::gateway::http::Http;
use crate::gateway::socket::Socket;

const TOKEN: &str = "bench";

/// The path where `scripts/setup.sh bench` installs it.
pub fn program() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/jupyter");
    // The mark is created when the installation is complete.
    folder.join("ready").is_file().then(|| folder.join("bin/jupyter-server"))
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Server {
    /// Starts a server, and waits until it answers.
    pub async fn start(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(program);
        command.args([
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port_retries=0",
        ]);
        command.arg(format!("--ServerApp.port={port}")).arg(format!("--IdentityProvider.token={TOKEN}"));
        // Do not drop output that is too fast for a browser.
        command.arg("--ZMQChannelsWebsocketConnection.limit_rate=False");
        for name in ["HOME", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"] {
            command.env(name, folder.path());
        }
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("starting Jupyter Server")?;
        let mut server = Self { child, address: format!("127.0.0.1:{port}"), _folder: folder };
        while !server.answers().await {
            if let Some(status) = server.child.try_wait()? {
                anyhow::bail!("Jupyter Server ended with {status}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(server)
    }

    async fn http(&self) -> Result<Http> {
        Http::connect(&self.address, &format!("token {TOKEN}")).await
    }

    async fn answers(&self) -> bool {
        match self.http().await {
            Ok(mut http) => http.call("GET", "/api/status", "", 200).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Starts a kernel.
    pub async fn kernel(&self) -> Result<Kernel> {
        let answer = self.http().await?.call("POST", "/api/kernels", r#"{"name":"python3"}"#, 201).await?;
        let id = answer["id"].as_str().context("a kernel without an id")?.to_owned();
        let path = format!("/api/kernels/{id}/channels?session_id=bench");
        Ok(Kernel { id, socket: Socket::open(self.http().await?, &path).await?, asked: 0 })
    }

    /// Ends a kernel.
    pub async fn end(&self, kernel: Kernel) -> Result<()> {
        self.http().await?.call("DELETE", &format!("/api/kernels/{}", kernel.id), "", 204).await.map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGTERM makes it end its kernels, too.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// A kernel, and its WebSocket.
#[derive(Debug)]
pub struct Kernel {
    id: String,
    socket: Socket,
    asked: u32,
}

impl Kernel {
    /// Acknowledges everything at once from now on.
    pub const fn acknowledge_at_once(&mut self) {
        self.socket.acknowledge_at_once();
    }

    /// Requests that code is run; returns the id of the request.
    pub async fn execute(&mut self, code: &str) -> Result<String> {
        self.asked += 1;
        let id = format!("bench-{}", self.asked);
        let header = json!({
            "msg_id": id, "msg_type": "execute_request", "username": "", "session": "bench",
            "date": "2026-01-01T00:00:00Z", "version": "5.3",
        });
        let content = json!({
            "code": code, "silent": false, "store_history": false, "user_expressions": {},
            "allow_stdin": false, "stop_on_error": true,
        });
        let message = json!({
            "channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content,
            "buffers": [],
        });
        self.socket.text(&message.to_string()).await?;
        Ok(id)
    }

    /// The next message.
    pub async fn message(&mut self) -> Result<Vec<u8>> {
        self.socket.message().await?.context("the kernel's socket was closed")
    }

    /// Runs code until its first output. The rest of its messages is not read here; the next call skips them.
    pub async fn first_output(&mut self, code: &str) -> Result<()> {
        let id = self.execute(code).await?;
        loop {
            let message: Value = serde_json::from_slice(&self.message().await?)?;
            let is_ours = message["parent_header"]["msg_id"] == id.as_str();
            if is_ours && message["header"]["msg_type"] == "stream" {
                return Ok(());
            }
        }
    }
}
