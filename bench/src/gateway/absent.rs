//! Clients that attach and then never read: half of them follow events, half have a WebSocket.

use std::net::TcpStream;

use anyhow::Result;

use super::site::Site;

/// Their connections, which are open as long as this lives. Nobody looks at them.
#[derive(Debug)]
pub struct Absent(#[allow(dead_code, reason = "they are held, not used")] Vec<TcpStream>);

impl Absent {
    /// Attaches so many to an execution.
    pub async fn gather(site: &Site, id: &str, count: usize) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for at in 0..count {
            connections.push(if at % 2 == 0 { listen(site, id).await? } else { attach(site, id).await? });
        }
        Ok(Self(connections))
    }

    /// Lets so many follow the events of an execution.
    pub async fn listening(site: &Site, id: &str, count: usize) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(listen(site, id).await?);
        }
        Ok(Self(connections))
    }
}

async fn listen(site: &Site, id: &str) -> Result<TcpStream> {
    let mut http = site.http().await?;
    http.stream("GET", &format!("/v1/executions/{id}/events?batch_ms=0"), "", "").await?;
    http.until("\nevent: started\n").await?; // it is attached
    http.into_wire().abandon()
}

async fn attach(site: &Site, id: &str) -> Result<TcpStream> {
    let mut socket = site.attach(id).await?;
    socket.message().await?; // `started`
    socket.abandon()
}
