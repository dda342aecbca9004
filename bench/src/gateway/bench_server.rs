//! The server under test: gateway and worker in a folder on a real disk, and helpers for requests.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use headwater_contract::Client;
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;

use super::http::Http;
use super::socket::Socket;
use crate::bench_worker::{Effort, ROOMY};
use crate::process::{anonymous_mib, rss_mib};

/// The header that requests events.
pub const EVENTS: &str = "Accept: text/event-stream\r\n";
/// The text of large outputs: a log line of 80 bytes with its line end.
pub const LINE: &str = "2026-11-15T12:00:00.000Z INFO worker request handled status=200 duration=1.234m\n";
/// The file that large outputs repeat, in the workspace of a session.
const TEXT: &str = "/workspace/text";
const TEXT_BYTES: u64 = 16 << 20;

/// A server. It and its data are removed on drop.
#[derive(Debug)]
pub struct BenchServer {
    server: TestServer,
    /// A connection to its worker, for comparisons and to inspect the pool.
    pub worker: Client,
}

impl BenchServer {
    /// Starts a server with this many prepared sessions.
    pub async fn start(pool: u32) -> Result<Self> {
        Self::configured(pool, "").await
    }

    /// The same with further sections of the configuration.
    pub async fn configured(pool: u32, sections: &str) -> Result<Self> {
        let options = ServerOptions {
            args: ["--requests-per-second", "0"].map(str::to_owned).to_vec(),
            config: Some(format!("pool = {pool}\n{ROOMY}{sections}")),
            ..ServerOptions::default()
        };
        let server = TestServer::with(options).await?;
        let worker = headwater_contract::connect(&server.data().join("worker.sock")).await?;
        Ok(Self { server, worker })
    }

    /// Opens a connection.
    pub async fn http(&self) -> Result<Http> {
        Http::connect(self.server.address(), &format!("Bearer {}", self.server.token())).await
    }

    /// Attaches to an execution by WebSocket.
    pub async fn attach(&self, id: &str) -> Result<Socket> {
        Socket::open(self.http().await?, &format!("/v1/executions/{id}/attach")).await
    }

    /// The data folder.
    pub fn data(&self) -> &std::path::Path {
        self.server.data()
    }

    /// A folder on the same disk as the logs.
    pub fn scratch(&self) -> &std::path::Path {
        self.server.scratch()
    }

    /// The pids of gateway and worker.
    pub async fn pids(&self) -> Result<[u32; 2]> {
        Ok([self.server.pid(), self.worker.info().await?.pid])
    }

    /// A terminal of a session that runs this line, with a viewer that has received its first screen.
    pub async fn terminal(&self, http: &mut Http, session: &str, line: &str) -> Result<Socket> {
        let body = json!({ "name": "bench", "command": line }).to_string();
        http.call("POST", &format!("/v1/sessions/{session}/terminals"), &body, 201).await?;
        let path = format!("/v1/sessions/{session}/terminal?name=bench&frames=binary");
        let mut socket = Socket::open(self.http().await?, &path).await?;
        for kind in ["attached", "snapshot", "its screen"] {
            socket.message().await?.with_context(|| format!("the terminal ended before {kind}"))?;
        }
        Ok(socket)
    }

    /// The resident memory of gateway and worker, in MiB.
    pub async fn rss_mib(&self) -> Result<f64> {
        let [gateway, worker] = self.pids().await?;
        Ok(rss_mib(gateway)? + rss_mib(worker)?)
    }

    /// What gateway and worker have allocated, in MiB: no pages of files.
    pub async fn anonymous_mib(&self) -> Result<f64> {
        let [gateway, worker] = self.pids().await?;
        Ok(anonymous_mib(gateway)? + anonymous_mib(worker)?)
    }

    /// Waits until the pool has this many sessions.
    pub async fn pool_is_full(&self, size: u32) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.worker.info().await?.prepared < size {
            ensure!(Instant::now() < deadline, "the pool does not fill");
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Ok(())
    }

    /// Writes lines to a file beside the server's folder, for the peers.
    pub fn lines(&self, count: usize) -> Result<std::path::PathBuf> {
        let path = self.scratch().join("lines");
        fs::write(&path, LINE.repeat(count))?;
        Ok(path)
    }
}

/// Creates a session with defaults.
pub async fn session(http: &mut Http) -> Result<String> {
    id(&http.call("POST", "/v1/sessions", "{}", 201).await?)
}

/// Creates a session that keeps large outputs, with the file that they repeat.
pub async fn roomy_session(http: &mut Http) -> Result<String> {
    let limits = json!({ "output_bytes": 32_u64 << 30, "disk_bytes": 64_u64 << 30 });
    let session =
        id(&http.call("POST", "/v1/sessions", &json!({ "limits": limits }).to_string(), 201).await?)?;
    let line = LINE.trim_end();
    let make = json!({ "shell": format!("yes '{line}' | head -c {TEXT_BYTES} > {TEXT}") });
    run_to_exit(http, &session, &make.to_string()).await?;
    Ok(session)
}

/// A command that prints this much text.
pub fn print(bytes: u64) -> Result<String> {
    ensure!(bytes.is_multiple_of(TEXT_BYTES), "{bytes} is no multiple of the text");
    let times = usize::try_from(bytes / TEXT_BYTES)?;
    Ok(format!("cat{}", format!(" {TEXT}").repeat(times)))
}

/// The path that starts runs in a session, with a stream that ends with them.
pub fn runs(session: &str) -> String {
    format!("/v1/sessions/{session}/executions?until=exited")
}

/// Runs a command until it has exited successfully.
pub async fn run_to_exit(http: &mut Http, session: &str, body: &str) -> Result<()> {
    http.stream("POST", &runs(session), EVENTS, body).await?;
    let events = String::from_utf8(http.body().await?)?;
    let ended_well = events.contains("\nevent: exited\n") && events.contains("\"code\":0");
    ensure!(ended_well, "it did not end well: {events}");
    Ok(())
}

/// Starts an execution in a session; returns its id.
pub async fn start(http: &mut Http, session: &str, body: &str) -> Result<String> {
    id(&http.call("POST", &format!("/v1/sessions/{session}/executions"), body, 201).await?)
}

/// Sends a line to an execution.
pub async fn enter(http: &mut Http, id: &str) -> Result<()> {
    http.call("POST", &format!("/v1/executions/{id}/stdin"), "\n", 204).await.map(drop)
}

/// Waits until an execution is closed; returns its last event and the size of its standard output.
pub async fn closed(http: &mut Http, id: &str) -> Result<(u64, u64)> {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let answer = http.call("GET", &format!("/v1/executions/{id}?wait=5s"), "", 200).await?;
        if answer["state"] == "closed" {
            let number =
                |name: &str| answer[name].as_u64().with_context(|| format!("no `{name}` in {answer}"));
            return Ok((number("last_seq")?, number("stdout_bytes")?));
        }
        ensure!(Instant::now() < deadline, "it does not end: {answer}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Removes an execution that has ended, with its log.
pub async fn remove(http: &mut Http, id: &str) -> Result<()> {
    closed(http, id).await?;
    http.call("DELETE", &format!("/v1/executions/{id}"), "", 204).await.map(drop)
}

/// Cancels an execution.
pub async fn cancel(http: &mut Http, id: &str) -> Result<()> {
    http.call("POST", &format!("/v1/executions/{id}/cancel"), "", 204).await.map(drop)
}

fn id(answer: &serde_json::Value) -> Result<String> {
    Ok(answer["id"].as_str().with_context(|| format!("no `id` in {answer}"))?.to_owned())
}

/// The number of runs for warming up, which do not count.
pub fn warm_up(effort: Effort) -> usize {
    effort.pick(50, 20)
}
