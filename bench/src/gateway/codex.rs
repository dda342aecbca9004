//! Comparison with the exec-server of Codex, from npm: it starts programs for an agent, as our tools do.
//!
//! Its server leaves Nagle's algorithm on, so that an ordinary client sees the output of a short program late. Each
//! latency is therefore also measured with a client that acknowledges at once, and only this one counts for the goals.

mod exec_server;
mod ours;
pub mod output;
pub mod patch;
mod program;
pub mod sandbox;
pub mod start;

use std::time::Duration;

use anyhow::{Context, Result};

use self::exec_server::{Connection, ExecServer};
use self::program::Codex;
use crate::report::Report;

/// How long the exec-server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running exec-server, with two connections.
#[derive(Debug)]
struct Peer {
    codex: Codex,
    server: ExecServer,
    /// An ordinary client.
    plain: Connection,
    /// A client that acknowledges at once.
    quick: Connection,
}

/// Starts the exec-server and notes its version; `None`, and a note, if Codex is not installed.
async fn peer(report: &mut Report) -> Result<Option<Peer>> {
    let Some(codex) = Codex::find()? else {
        report.note("Codex: not installed; `scripts/setup.sh bench` does it");
        return Ok(None);
    };
    report.note(format!("{} (`codex exec-server`)", codex.version));
    let started = tokio::time::timeout(START_TIMEOUT, async {
        let server = ExecServer::start(&codex.program).await?;
        let (plain, mut quick) = (server.connect().await?, server.connect().await?);
        quick.acknowledge_at_once();
        Ok::<_, anyhow::Error>((server, plain, quick))
    });
    let (server, plain, quick) = started.await.context("the exec-server does not answer")??;
    Ok(Some(Peer { codex, server, plain, quick }))
}
