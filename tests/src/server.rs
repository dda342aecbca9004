//! A real server (supervisor, gateway and worker) in a temporary data folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};
use headwater_client::Client;
use headwater_protocol::ExecutionId;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::process::{Process, Setup};
use crate::{Api, host, http};

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// More arguments of `headwater serve`.
    pub args: Vec<String>,
    /// The text of its configuration file.
    pub config: Option<String>,
    /// The data folder; a new one by default.
    pub data: Option<PathBuf>,
    /// A command that ends by executing its arguments, to start the server through (`prlimit`, for example).
    pub before: Vec<String>,
}

/// A server. When it is dropped, its worker and its sessions end and its folder is removed.
#[derive(Debug)]
pub struct TestServer {
    args: Vec<String>,
    /// The supervisor.
    process: Process,
    gateway: Gateway,
}

/// A gateway as it announces itself in the data folder.
#[derive(Debug, Clone, Default)]
struct Gateway {
    pid: u32,
    address: String,
    token: String,
}

impl TestServer {
    /// A server with the default settings.
    pub async fn start() -> Result<Self> {
        Self::with(ServerOptions::default()).await
    }

    /// A server that prepares no more sessions than most tests need.
    pub async fn small() -> Result<Self> {
        Self::configured("").await
    }

    /// The same with more lines of configuration.
    pub async fn configured(config: &str) -> Result<Self> {
        let config = Some(format!("pool = 1\n{config}"));
        Self::with(ServerOptions { config, ..ServerOptions::default() }).await
    }

    /// A server with these options, on a free port. It answers when this returns.
    pub async fn with(options: ServerOptions) -> Result<Self> {
        let ServerOptions { args, config, data, before } = options;
        let setup = Setup { uid: None, config, data, before };
        let process = Process::start("server", setup, &serve(&own_address(), &args))?;
        let mut server = Self { args, process, gateway: Gateway::default() };
        server.wait_until_it_answers().await?;
        Ok(server)
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        self.process.data()
    }

    /// A folder beside the data folder for files of the test; it is removed with the server.
    pub fn scratch(&self) -> &Path {
        self.process.scratch()
    }

    /// Where it listens: an address of this machine, and a port.
    pub fn address(&self) -> &str {
        &self.gateway.address
    }

    /// The same as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The first token.
    pub fn token(&self) -> &str {
        &self.gateway.token
    }

    /// HTTP access with the first token.
    pub fn api(&self) -> Api {
        self.api_with(self.token())
    }

    /// HTTP access with this token.
    pub fn api_with(&self, token: &str) -> Api {
        Api::new(self.address(), token)
    }

    /// HTTP access without a token.
    pub fn anonymous(&self) -> Api {
        self.api_with("")
    }

    /// HTTP access as this user, with a new token of this role.
    pub fn user(&self, name: &str, role: &str) -> Result<Api> {
        Ok(self.api_with(&self.make_token(&["--user", name, "--role", role])?))
    }

    /// A typed client with the first token.
    pub fn client(&self) -> Result<Client> {
        self.client_with(self.token())
    }

    /// A typed client with another token.
    pub fn client_with(&self, token: &str) -> Result<Client> {
        Ok(Client::new(&self.url(), token)?)
    }

    /// Creates a token with the command line: `--user ann --role member`, for example.
    pub fn make_token(&self, args: &[&str]) -> Result<String> {
        let made = self.command().args(["token", "create"]).args(args).output()?;
        ensure!(made.status.success(), "token create: {}", String::from_utf8_lossy(&made.stderr));
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    }

    /// The gateway's process id.
    pub fn pid(&self) -> u32 {
        self.gateway.pid
    }

    /// The supervisor's process id.
    pub fn supervisor_pid(&self) -> u32 {
        self.process.pid()
    }

    /// A connection to the worker.
    pub async fn worker(&self) -> Result<headwater_contract::Client> {
        Ok(headwater_contract::connect(&self.data().join("worker.sock")).await?)
    }

    /// The worker's process id. A worker that is being started is waited for.
    pub async fn worker_pid(&self) -> Result<u32> {
        let mut pid = None;
        host::eventually("the worker answers", async || {
            if let Ok(worker) = self.worker().await {
                pid = worker.info().await.ok().map(|info| info.pid);
            }
            pid.is_some()
        })
        .await?;
        pid.context("no worker")
    }

    /// kill -9 of the supervisor and its gateway. Returns when both are gone.
    pub fn kill(&mut self) {
        let gateway = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let gateway = gateway.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.process.kill();
        // The gateway dies with its supervisor, and holds its files until it has.
        if let Some(gateway) = gateway {
            let _ = poll(&mut [PollFd::new(&gateway, PollFlags::IN)], None);
        }
    }

    /// kill -9 of the gateway alone: its supervisor starts it again. Returns when the next one answers.
    pub async fn kill_gateway(&mut self) -> Result<()> {
        let killed = self.pid();
        host::signal(i32::try_from(killed)?, Signal::KILL)?;
        self.wait_for_another(killed).await
    }

    /// Waits until another gateway than this one answers.
    pub async fn wait_for_another(&mut self, pid: u32) -> Result<()> {
        let (data, supervisor) = (self.data().to_owned(), self.supervisor_pid());
        host::eventually("another gateway runs", async || {
            announced(&data, supervisor).is_some_and(|gateway| gateway.pid != pid)
        })
        .await?;
        self.wait_until_it_answers().await
    }

    /// kill -9 of the worker. Returns when it is gone; the gateway starts the next one.
    pub async fn kill_worker(&self) -> Result<()> {
        host::kill(i32::try_from(self.worker_pid().await?)?).await
    }

    /// Sends SIGTERM to the supervisor and waits until it has ended. The worker and its programs run on.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        self.process.terminate()
    }

    /// Waits until the supervisor has ended.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        self.process.wait()
    }

    /// Starts the server again on the same address.
    pub async fn start_again(&mut self) -> Result<()> {
        self.process.start_again(&serve(&self.gateway.address, &self.args))?;
        self.wait_until_it_answers().await
    }

    /// Everything the supervisor and the gateway have logged.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// A `headwater` command on this server's folder.
    pub fn command(&self) -> Command {
        self.process.command()
    }

    async fn wait_until_it_answers(&mut self) -> Result<()> {
        let (data, supervisor) = (self.data().to_owned(), self.supervisor_pid());
        let mut found = Gateway::default();
        let answers = async || {
            let Some(gateway) = announced(&data, supervisor) else { return false };
            found = gateway;
            let answer = http::request(&found.address, "GET", "/readyz", &[], b"").await;
            answer.is_ok_and(|answer| answer.status == 200)
        };
        self.process.wait_until(answers).await?;
        self.gateway = found;
        Ok(())
    }
}

/// The arguments of a server that listens there.
fn serve(listen: &str, more: &[String]) -> Vec<String> {
    let args = ["serve", "--listen", listen].map(str::to_owned);
    args.into_iter().chain(more.iter().cloned()).collect()
}

/// The gateway of this supervisor, if it has announced itself. A killed gateway leaves its file.
fn announced(data: &Path, supervisor: u32) -> Option<Gateway> {
    let text = fs::read(data.join("server.json")).ok()?;
    let file: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let pid = u32::try_from(file["pid"].as_u64()?).ok()?;
    let parent: u32 = host::status(i32::try_from(pid).ok()?, "PPid")?.parse().ok()?;
    if parent != supervisor {
        return None;
    }
    let token = fs::read_to_string(data.join("token")).ok()?.trim().to_owned();
    Some(Gateway { pid, address: file["address"].as_str()?.to_owned(), token })
}

/// An address of this machine that nothing else uses. Connections come from 127.0.0.1: while a server there is down, one of
/// them may take its port, or a client that tries the port may connect to itself.
fn own_address() -> String {
    let [a, b, c, ..] = ExecutionId::random().bits().to_le_bytes();
    format!("127.{}.{b}.{}:0", a.max(1), c.clamp(1, 254))
}
