//! The outlet and a worker that is killed.

use anyhow::Result;
use headwater_protocol::{Network, StartSpec};

use crate::outlet::{OUTLET, plain, say, session, worker};
use crate::registry::Registry;

/// Connects when the file exists, and prints the answer; its connection waits in the socket while no worker runs.
const WAITING: &str = "
import os, socket, time
print('up', flush=True)
while not os.path.exists('go'): time.sleep(0.01)
s = socket.create_connection(('127.0.0.1', OUTLET), 60)
s.sendall(b'GET /npm/-/ping HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n')
print('asked', flush=True)
print(s.recv(12).decode(), flush=True)
";

#[tokio::test]
async fn an_outlet_outlives_its_worker_and_the_next_one_answers_pending_connections() -> Result<()> {
    let registry = Registry::new().await?;
    registry.put("/", "text/plain", "reached");
    let mut worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let code = WAITING.replace("OUTLET", &OUTLET.to_string());
    let waiting = worker.begin_in(id, &StartSpec::argv(["python3", "-c", &code])).await?;
    worker.watch(waiting).await?.until_printed("up").await?;
    worker.kill();
    std::fs::write(worker.workspace(id).join("go"), "")?;
    worker.start_again().await?;
    let mut watcher = worker.watch(waiting).await?;
    watcher.until_printed("HTTP/1.1 200").await?;
    // And so it goes on, as often as it has to.
    for _ in 0..3 {
        worker.kill();
        worker.start_again().await?;
        let answer = say(&worker, id, &plain(&registry.url("/")), None).await?;
        assert!(answer.ends_with("reached"), "{answer}");
    }
    Ok(())
}

#[tokio::test]
async fn a_tunnel_ends_with_its_session() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let code = format!(
        "import socket, time\ns = socket.create_connection(('127.0.0.1', {OUTLET}))\n\
         s.sendall(b'CONNECT registry.test:{} HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n')\nprint(s.recv(12).decode(), flush=True)\ntime.sleep(1000)",
        registry.port
    );
    let talking = worker.begin_in(id, &StartSpec::argv(["python3", "-c", &code])).await?;
    worker.watch(talking).await?.until_printed("HTTP/1.1 200").await?;
    let sockets = || std::fs::read_to_string(format!("/proc/{}/net/tcp", worker.pid())).unwrap_or_default();
    let remote = format!("0100007F:{:04X} 01", registry.port);
    assert!(sockets().contains(&remote), "the control: the worker is connected");
    worker.client().await?.end_session(id, false).await?;
    headwater_tests::host::eventually("the end of the tunnel", async || !sockets().contains(&remote)).await
}

#[tokio::test]
async fn a_session_that_wakes_reaches_what_it_reached() -> Result<()> {
    let registry = Registry::new().await?;
    registry.put("/", "text/plain", "reached");
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    worker.client().await?.hibernate_session(id).await?;
    let answer = say(&worker, id, &plain(&registry.url("/")), None).await?;
    assert!(answer.ends_with("reached"), "{answer}");
    Ok(())
}
