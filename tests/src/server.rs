//! A real server (gateway and worker) in a folder of its own, which leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use headwater_client::Client;
use headwater_protocol::ExecutionId;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tempfile::TempDir;

use crate::binary;

/// How long a server may take to answer, on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// More arguments of `headwater serve`.
    pub args: Vec<String>,
    /// The text of its configuration file.
    pub config: Option<String>,
    /// The data folder, if it is to be in a certain place; else a new one.
    pub data: Option<PathBuf>,
    /// A command that ends by executing its arguments, to start the server through (`prlimit`, for one).
    pub before: Vec<String>,
}

/// A server. When it is dropped its worker and its sessions end and its folder goes.
#[derive(Debug)]
pub struct TestServer {
    options: ServerOptions,
    folder: TempDir,
    data: PathBuf,
    /// The supervisor.
    child: Child,
    /// The process id of the gateway.
    server: u32,
    address: String,
    token: String,
}

impl TestServer {
    /// A server with defaults.
    pub async fn start() -> Result<Self> {
        Self::with(ServerOptions::default()).await
    }

    /// A server as told, on a free port. It answers when this returns.
    pub async fn with(options: ServerOptions) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw-").tempdir()?;
        let data = options.data.clone().unwrap_or_else(|| folder.path().join("data"));
        fs::create_dir_all(&data)?;
        if let Some(config) = &options.config {
            fs::write(data.join("headwater.toml"), config)?;
        }
        let child = spawn(&options, &data, &own_address())?;
        let (address, token) = (String::new(), String::new());
        let mut server = Self { options, folder, data, child, server: 0, address, token };
        server.wait_until_it_answers().await?;
        Ok(server)
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// A folder beside it for the test's own files; goes with the server.
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// Where it listens: an address of this machine, and a port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The same as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The first token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A client with the first token.
    pub fn client(&self) -> Result<Client> {
        Ok(Client::new(&self.url(), &self.token)?)
    }

    /// A client with another token.
    pub fn client_with(&self, token: &str) -> Result<Client> {
        Ok(Client::new(&self.url(), token)?)
    }

    /// Makes a token by the command line: `--user ann --role member`, for one.
    pub fn make_token(&self, args: &[&str]) -> Result<String> {
        let made = self.command().args(["token", "create"]).args(args).output()?;
        ensure!(made.status.success(), "token create: {}", String::from_utf8_lossy(&made.stderr));
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    }

    /// The gateway's process id.
    pub fn pid(&self) -> u32 {
        self.server
    }

    /// The process id of its supervisor.
    pub fn supervisor_pid(&self) -> u32 {
        self.child.id()
    }

    /// The worker's process id.
    pub async fn worker_pid(&self) -> Result<u32> {
        let client = headwater_contract::connect(&self.data.join("worker.sock")).await?;
        Ok(client.info().await?.pid)
    }

    /// kill -9 of the gateway and its supervisor.
    pub fn kill(&mut self) {
        let gateway = i32::try_from(self.server).ok().and_then(Pid::from_raw);
        let gateway = gateway.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let _ = self.child.kill();
        let _ = self.child.wait();
        // It dies with its supervisor, and holds its files until it has.
        if let Some(gateway) = gateway {
            let _ = poll(&mut [PollFd::new(&gateway, PollFlags::IN)], None);
        }
    }

    /// kill -9 of the gateway alone: its supervisor starts it again. Answers when the next one does.
    pub async fn kill_gateway(&mut self) -> Result<()> {
        let killed = self.server;
        crate::host::signal(i32::try_from(killed)?, Signal::KILL)?;
        self.wait_for_another(killed).await
    }

    /// Waits until another gateway than this answers.
    pub async fn wait_for_another(&mut self, pid: u32) -> Result<()> {
        crate::host::eventually("another gateway is there", async || {
            self.announced().is_some_and(|(new, ..)| new != pid)
        })
        .await?;
        self.wait_until_it_answers().await
    }

    /// kill -9 of the worker, if one runs; the gateway brings the next.
    pub async fn kill_worker(&self) -> Result<()> {
        let pid = self.worker_pid().await?;
        crate::host::signal(i32::try_from(pid)?, Signal::KILL)
    }

    /// SIGTERM to the gateway, and waits until it has ended. The worker and its programs run on.
    pub fn terminate(&mut self) -> Result<std::process::ExitStatus> {
        crate::host::signal(i32::try_from(self.supervisor_pid())?, Signal::TERM)?;
        Ok(self.child.wait()?)
    }

    /// Waits until the supervisor has ended.
    pub fn wait(&mut self) -> Result<std::process::ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// Starts the gateway again on the same address.
    pub async fn start_again(&mut self) -> Result<()> {
        self.child = spawn(&self.options, &self.data, &self.address)?;
        self.wait_until_it_answers().await
    }

    /// What the gateway has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.data.join("test-server.log")).unwrap_or_default()
    }

    /// A `headwater` command on this server's folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.env("HEADWATER_DATA", &self.data).stdin(Stdio::null());
        command
    }

    async fn wait_until_it_answers(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some((pid, address, token)) = self.announced() {
                (self.server, self.address, self.token) = (pid, address, token);
                let answer = crate::raw::request(&self.address, "GET", "/readyz", &[], b"").await;
                if answer.is_ok_and(|answer| answer.status == 200) {
                    return Ok(());
                }
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}:\n{}", self.log());
            }
            ensure!(Instant::now() < deadline, "the server does not answer:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The gateway of this very supervisor, and where it listens; a killed one leaves its file.
    fn announced(&self) -> Option<(u32, String, String)> {
        let text = fs::read(self.data.join("server.json")).ok()?;
        let said: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let pid = u32::try_from(said["pid"].as_u64()?).ok()?;
        if parent(pid)? != self.child.id() {
            return None;
        }
        let token = fs::read_to_string(self.data.join("token")).ok()?;
        Some((pid, said["address"].as_str()?.to_owned(), token.trim().to_owned()))
    }
}

/// The parent of a process.
fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// An address of this machine that nobody else uses. Connections come from 127.0.0.1: a server there whose port is free
/// while it is away may find it taken by one of them, or by a client that looks for it and has reached itself.
fn own_address() -> String {
    let [a, b, c, ..] = ExecutionId::random().bits().to_le_bytes();
    format!("127.{}.{b}.{}:0", a.max(1), c.clamp(1, 254))
}

fn spawn(options: &ServerOptions, data: &Path, listen: &str) -> Result<Child> {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.join("test-server.log"))?;
    let mut words = options.before.iter().map(PathBuf::from).chain([binary()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args(["serve", "--listen", listen, "--data"]).arg(data).args(&options.args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().context("starting the server")
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // Also ends what a killed gateway or worker left.
        let _ = self
            .command()
            .args(["stop", "--end-sessions", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<_> = log.lines().rev().take(30).collect();
            eprintln!("the server's last words:");
            tail.iter().rev().for_each(|line| eprintln!("  {line}"));
        }
    }
}
