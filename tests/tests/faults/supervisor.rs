//! The supervisor of the server: it keeps the listening socket, starts a killed server again, reloads the configuration,
//! and speaks systemd's protocols.

use std::fs;
use std::os::unix::net::UnixDatagram;

use anyhow::{Context, Result, ensure};
use headwater_client::FollowOptions;
use headwater_protocol::api::{SessionRequest, StartRequest};
use headwater_tests::host::{PATIENCE, eventually, kill, signal};
use headwater_tests::{Collected, ServerOptions, TestServer};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::lines::{Lines, To};

/// Binds a socket as systemd does, and becomes its arguments.
const ACTIVATE: &str = r#"
import os, socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), NOTIFY_SOCKET=sys.argv[1])
os.execvp(sys.argv[2], sys.argv[2:])
"#;

async fn status(server: &TestServer, method: &str, path: &str, host: &str, body: &Value) -> Result<u16> {
    Ok(server.api().send(method, path, &[("Host", host)], body).await?.status)
}

#[tokio::test]
async fn connections_wait_while_the_server_is_dead_and_the_next_one_answers_them() -> Result<()> {
    let mut server = TestServer::start().await?;
    for _ in 0..5 {
        let killed = server.pid();
        kill(i32::try_from(killed)?).await?;
        // Once it is dead no connection reaches it: this one waits for the next server. Not for `/readyz`, which gives the
        // worker two seconds to respond.
        ensure!(server.anonymous().get("/healthz").await?.status == 200);
        server.wait_for_another(killed).await?;
    }
    ensure!(server.log().matches("was killed by SIGKILL").count() == 5, "{}", server.log());
    Ok(())
}

#[tokio::test]
async fn a_follower_loses_nothing_over_servers_that_the_supervisor_starts_again() -> Result<()> {
    let mut server = TestServer::start().await?;
    let client = server.client()?;
    let session = client.create_session(&SessionRequest::default(), None).await?;
    let lines = Lines { salt: 77, count: 400, rest_ms: 20, to: To::Pipes };
    let started = client.start(Some(session.id), &StartRequest::from(lines.spec()), None).await?;
    let options = FollowOptions { until_closed: true, ..FollowOptions::default() };
    let mut follower = client.follow(started.id, options).await?;
    let mut seen = Collected::default();
    for events in 0.. {
        let Some(event) = follower.next().await? else { break };
        seen.take(event)?;
        if [5, 20, 40].contains(&events) {
            server.kill_gateway().await?;
        }
    }
    lines.check(&seen)
}

#[tokio::test]
async fn a_server_that_no_longer_starts_is_given_up_with_a_clear_message() -> Result<()> {
    let mut server = TestServer::start().await?;
    fs::write(server.data().join("headwater.toml"), "[server]\nlisten = 7\n")?;
    signal(i32::try_from(server.pid())?, Signal::KILL)?;
    let status = server.wait()?;
    ensure!(status.code() == Some(4), "{status}");
    let log = server.log();
    ensure!(log.contains("the server failed to start 5 times in a row"), "{log}");
    ensure!(log.contains("listen"), "the cause is not named: {log}");
    Ok(())
}

#[tokio::test]
async fn a_hangup_reloads_the_configuration_and_programs_run_on() -> Result<()> {
    let mut server = TestServer::with(ServerOptions {
        config: Some("[server]\nhosts = [\"one.example\"]\n".to_owned()),
        ..ServerOptions::default()
    })
    .await?;
    let client = server.client()?;
    let session = client.create_session(&SessionRequest::default(), None).await?;
    let lines = Lines { salt: 78, count: 300, rest_ms: 20, to: To::Pipes };
    let started = client.start(Some(session.id), &StartRequest::from(lines.spec()), None).await?;
    let large = json!({ "limits": { "output_bytes": 2 << 20 } });
    ensure!(status(&server, "POST", "/v1/sessions", "one.example", &large).await? == 201);
    ensure!(status(&server, "GET", "/v1/info", "two.example", &Value::Null).await? >= 400);
    // An invalid file changes nothing.
    let (first, worker) = (server.pid(), server.worker_pid().await?);
    fs::write(server.data().join("headwater.toml"), "[server]\nlisten = 7\n")?;
    signal(i32::try_from(server.supervisor_pid())?, Signal::HUP)?;
    eventually("the error is logged", async || {
        server.log().contains("the configuration is invalid and was not reloaded")
    })
    .await?;
    ensure!(status(&server, "GET", "/v1/info", "one.example", &Value::Null).await? == 200);
    // A valid configuration applies to the server and to the worker.
    let config =
        "[server]\nhosts = [\"two.example\"]\n[max_limits]\noutput = \"1Mi\"\n[limits]\noutput = \"1Mi\"\n";
    fs::write(server.data().join("headwater.toml"), config)?;
    signal(i32::try_from(server.supervisor_pid())?, Signal::HUP)?;
    server.wait_for_another(first).await?;
    ensure!(status(&server, "GET", "/v1/info", "two.example", &Value::Null).await? == 200);
    ensure!(status(&server, "GET", "/v1/info", "one.example", &Value::Null).await? >= 400);
    ensure!(status(&server, "POST", "/v1/sessions", "two.example", &large).await? == 400);
    ensure!(server.worker_pid().await? != worker);
    // The program noticed nothing.
    let options = FollowOptions { until_closed: true, ..FollowOptions::default() };
    let mut follower = server.client()?.follow(started.id, options).await?;
    let mut seen = Collected::default();
    while let Some(event) = follower.next().await? {
        seen.take(event)?;
    }
    lines.check(&seen)?;
    // Without a change of its settings the worker stays.
    let (second, worker) = (server.pid(), server.worker_pid().await?);
    signal(i32::try_from(server.supervisor_pid())?, Signal::HUP)?;
    server.wait_for_another(second).await?;
    ensure!(server.worker_pid().await? == worker);
    Ok(())
}

#[tokio::test]
async fn systemd_passes_the_socket_and_is_notified() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("notify");
    let notified = UnixDatagram::bind(&path)?;
    notified.set_read_timeout(Some(PATIENCE))?;
    let path = path.to_str().context("a path of text")?;
    let before = ["python3", "-c", ACTIVATE, path].map(str::to_owned).to_vec();
    let mut server = TestServer::with(ServerOptions { before, ..ServerOptions::default() }).await?;
    // Not the address that the command line names: that of the socket.
    ensure!(server.address().starts_with("127.0.0.1:"), "{}", server.address());
    let next = || -> Result<String> {
        let mut text = [0; 256];
        let length = notified.recv(&mut text)?;
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    };
    ensure!(next()?.contains("READY=1"));
    let first = server.pid();
    signal(i32::try_from(server.supervisor_pid())?, Signal::HUP)?;
    let reloading = next()?;
    ensure!(reloading.contains("RELOADING=1") && reloading.contains("MONOTONIC_USEC="), "{reloading}");
    ensure!(next()?.contains("READY=1"));
    server.wait_for_another(first).await?;
    ensure!(server.terminate()?.success());
    ensure!(next()?.contains("STOPPING=1"));
    Ok(())
}

#[tokio::test]
async fn stop_ends_a_server_whose_process_was_just_killed() -> Result<()> {
    let mut server = TestServer::start().await?;
    signal(i32::try_from(server.pid())?, Signal::KILL)?;
    let stopped = server.command().arg("stop").output()?;
    ensure!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    ensure!(server.wait()?.success());
    ensure!(server.anonymous().get("/readyz").await.is_err());
    Ok(())
}
