//! Clients that attach and then never read: half of them follow events, half use a WebSocket.

use std::net::TcpStream;

use anyhow::Result;

use super::bench_server::BenchServer;

/// Their connections, which stay open until this is dropped.
#[derive(Debug)]
pub struct StalledClients(#[allow(dead_code, reason = "they are held, not used")] Vec<TcpStream>);

impl StalledClients {
    /// Attaches this many clients to an execution.
    pub async fn gather(site: &BenchServer, id: &str, count: usize) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for at in 0..count {
            connections.push(if at % 2 == 0 { listen(site, id).await? } else { attach(site, id).await? });
        }
        Ok(Self(connections))
    }

    /// Opens this many event streams of an execution.
    pub async fn listening(site: &BenchServer, id: &str, count: usize) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(listen(site, id).await?);
        }
        Ok(Self(connections))
    }
}

async fn listen(site: &BenchServer, id: &str) -> Result<TcpStream> {
    let mut http = site.http().await?;
    http.stream("GET", &format!("/v1/executions/{id}/events?batch_ms=0"), "", "").await?;
    http.until("\nevent: started\n").await?; // it is attached
    http.into_wire().abandon()
}

async fn attach(site: &BenchServer, id: &str) -> Result<TcpStream> {
    let mut socket = site.attach(id).await?;
    socket.message().await?; // `started`
    socket.abandon()
}
