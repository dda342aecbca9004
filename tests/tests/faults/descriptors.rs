//! Descriptors that run out, in the worker and in the gateway: new work is refused with a reason, existing work goes
//! on, and nothing multiplies: not the descriptors, not the log, not the memory.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_contract::{Client, ContractError, FaultKind};
use headwater_protocol::{SessionId, StartSpec, Stdin};
use headwater_tests::host::{eventually, memory};
use headwater_tests::http::{Response, json_of, text};
use headwater_tests::{Api, Options, ServerOptions, TestServer, TestWorker};
use serde_json::{Value, json};
use tokio::net::{TcpStream, UnixStream};

const MIB: u64 = 1 << 20;
/// The limit of open files that servers are started with here.
const LIMIT: usize = 512;
/// More starts than there can be descriptors for.
const MANY: usize = 200;

fn open_descriptors(pid: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// The descriptors that a process has open all the time. Others are open for a moment: to prepare a session, to count.
async fn steady_descriptors(pid: u32) -> Result<usize> {
    let mut least = open_descriptors(pid)?;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        least = least.min(open_descriptors(pid)?);
    }
    Ok(least)
}

fn limited(limit: usize) -> Vec<String> {
    vec!["prlimit".into(), format!("--nofile={limit}:{limit}")]
}

/// Changes the soft limit of a process that runs.
fn limit_to(pid: u32, limit: usize) -> Result<()> {
    let limit = format!("--nofile={limit}:");
    let status = Command::new("prlimit").args(["--pid", &pid.to_string(), &limit]).status()?;
    ensure!(status.success(), "prlimit: {status}");
    Ok(())
}

fn log_bytes(data: &Path) -> u64 {
    let size = |name| fs::metadata(data.join(name)).map_or(0, |file| file.len());
    size("worker.log") + size("test-server.log") + size("test-worker.log")
}

/// Starts programs that wait for input until one is refused; their ids and the refusal.
async fn start_until_refused(api: &Api, session: &str) -> Result<(Vec<String>, Value)> {
    let mut ids = Vec::new();
    for _ in 0..MANY {
        let response = start(api, session, "sleep 300").await?;
        let body = response.json()?;
        if response.status == 429 {
            return Ok((ids, body["error"].clone()));
        }
        ensure!(response.status == 201, "{}: {body}", response.status);
        ids.push(text(&body["id"]));
    }
    anyhow::bail!("{MANY} programs were started with {LIMIT} descriptors");
}

async fn start(api: &Api, session: &str, line: &str) -> Result<Response> {
    let path = format!("/v1/sessions/{session}/executions");
    api.post(&path, &json!({"shell": line, "stdin": "open"})).await
}

fn is_refusal(error: &Value) -> Result<()> {
    ensure!(error["code"] == "exhausted", "{error}");
    ensure!(error["hint"].as_str().is_some_and(|hint| hint.contains("end")), "{error}");
    Ok(())
}

#[tokio::test]
async fn starts_are_refused_before_descriptors_run_out_and_everything_else_goes_on() -> Result<()> {
    let config = Some("pool = 1\n".into());
    let options = ServerOptions { config, before: limited(LIMIT), ..ServerOptions::default() };
    let server = TestServer::with(options).await?;
    let worker = server.worker_pid().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let eve = server.user("eve", "member")?;
    let none = json!({});
    let (anns, bobs, eves) =
        (ann.session(&none).await?, bob.session(&none).await?, eve.session(&none).await?);
    let echo = text(&json_of(&start(&ann, &anns, "cat").await?, 201)?["id"]);
    let eves_own = text(&json_of(&start(&eve, &eves, "echo before; exit").await?, 201)?["id"]);

    // One owner is refused first, and leaves descriptors to others ...
    let (anns_all, refusal) = start_until_refused(&ann, &anns).await?;
    is_refusal(&refusal)?;
    ensure!(refusal["message"].to_string().contains("of this owner"), "{refusal}");
    ensure!(anns_all.len() >= 10, "only {} were started", anns_all.len());
    // ... and all together are refused before there is no descriptor left.
    let (bobs_all, refusal) = start_until_refused(&bob, &bobs).await?;
    is_refusal(&refusal)?;
    ensure!(bobs_all.len() >= 10, "only {} were started", bobs_all.len());
    let open = open_descriptors(worker)?;
    ensure!(open < LIMIT - 50, "{open} of {LIMIT} descriptors are open");
    let refused = start(&eve, &eves, "true").await?;
    ensure!(refused.status == 429 || refused.status == 201, "{}", refused.status);

    // Existing executions go on: input, output, lists, files, earlier logs.
    ann.end_input(&echo, b"still here\n").await?;
    let output = ann.get(&format!("/v1/executions/{echo}/output?follow=true")).await?;
    ensure!(output.text().contains("still here"), "{}", output.text());
    ensure!(eve.output(&eves_own, "stdout").await?.contains("before"));
    eve.json("/v1/sessions").await?;
    eve.json(&format!("/v1/sessions/{eves}/files")).await?;

    // Nothing multiplied.
    ensure!(log_bytes(server.data()) < MIB, "{} bytes of log", log_bytes(server.data()));
    ensure!(memory(worker, "VmRSS")? < 300 * MIB, "the worker holds too much memory");

    // Ended executions free descriptors.
    for id in anns_all.iter().take(3) {
        ann.cancel(id).await?;
        ann.closed(id).await?;
    }
    // Descriptors are released a moment after the log is closed.
    eventually("a program is started again", async || {
        start(&ann, &anns, "true").await.is_ok_and(|response| response.status == 201)
    })
    .await?;
    json_of(&bob.delete(&format!("/v1/sessions/{bobs}")).await?, 204)?;
    Ok(())
}

fn waiting() -> StartSpec {
    StartSpec { stdin: Stdin::Open, ..StartSpec::shell("sleep 300") }
}

async fn start_many(client: &Client, session: SessionId, count: usize) -> Result<()> {
    for _ in 0..count {
        client.start(session, None, &waiting()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn messages_of_init_that_are_lost_for_lack_of_descriptors_do_not_multiply() -> Result<()> {
    // Nothing is prepared: the number of descriptors changes only by what is done here.
    let worker = TestWorker::with(Options { pool: Some(0), ..Options::default() }).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    start_many(&client, session, 30).await?;
    let lost =
        |text: String| text.lines().filter(|line| line.contains("messages from init are lost")).count();
    ensure!(lost(worker.log()) == 0, "nothing is lost yet");
    // Fewer than it counts with: the log's index can be opened, and what init sends for a start cannot.
    let limit = fs::read_to_string(format!("/proc/{}/limits", worker.pid()))?;
    let limit = limit.lines().find(|line| line.starts_with("Max open files")).context("a limit")?.to_owned();
    let limit: usize = limit.split_whitespace().nth(4).context("a limit")?.parse()?;
    limit_to(worker.pid(), steady_descriptors(worker.pid()).await? + 3)?;
    let (starting, other) = (worker.client().await, client.clone());
    let (seen, was_seen) = tokio::sync::watch::channel(false);
    let started = tokio::spawn(async move {
        let client = starting.unwrap_or(other);
        // The worker opens and closes descriptors for work of its own, so a start may meet one more or one less: it is
        // then refused or succeeds, and the next one meets the limit.
        loop {
            let started = client.start(session, None, &waiting()).await;
            if *was_seen.borrow() {
                return started;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    // A question for each lost message would be thousands by the third; it is one at a time.
    eventually("messages were lost three times", async || lost(worker.log()) >= 3).await?;
    ensure!(lost(worker.log()) < 40, "{} questions", lost(worker.log()));
    ensure!(log_bytes(worker.data()) < MIB, "{} bytes of log", log_bytes(worker.data()));
    ensure!(memory(worker.pid(), "VmRSS")? < 300 * MIB, "the worker holds too much memory");
    // With descriptors again, the program whose start was lost is taken up.
    seen.send_replace(true);
    limit_to(worker.pid(), limit)?;
    let id = started.await??.id;
    eventually("the program is known to run", async || {
        client.execution(id).await.is_ok_and(|info| info.state.verdict().is_none() && info.last_seq.0 > 0)
    })
    .await?;
    client.cancel(id, Some(Duration::ZERO)).await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_that_can_take_no_connection_waits_and_takes_those_that_came_later() -> Result<()> {
    let worker =
        TestWorker::with(Options { pool: Some(0), before: limited(256), ..Options::default() }).await?;
    let client = worker.client().await?;
    let mut held = Vec::new();
    for _ in 0..400 {
        held.push(UnixStream::connect(worker.data().join("worker.sock")).await?);
    }
    let refused =
        |text: String| text.lines().filter(|line| line.contains("cannot accept a connection")).count();
    eventually("a connection cannot be accepted", async || refused(worker.log()) >= 2).await?;
    // An open connection is served, and the error says why nothing can be started.
    client.info().await?;
    let error = client.create_session(None, &headwater_protocol::SessionSpec::default()).await;
    let Err(ContractError::Fault(fault)) = error else { anyhow::bail!("a session was made: {error:?}") };
    ensure!(matches!(fault.kind, FaultKind::Exhausted | FaultKind::Unavailable), "{fault:?}");
    ensure!(refused(worker.log()) < 40, "{} lines", refused(worker.log()));
    drop(held);
    eventually("new connections are taken", async || {
        let client = worker.client().await;
        match client {
            Ok(client) => client.info().await.is_ok(),
            Err(_) => false,
        }
    })
    .await?;
    // Open descriptors are counted every two seconds.
    eventually("a program runs", async || {
        let seen = worker.run(&StartSpec::shell("echo again")).await;
        seen.is_ok_and(|seen| seen.text().contains("again"))
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_gateway_that_can_take_no_connection_waits_and_takes_those_that_came_later() -> Result<()> {
    let server = TestServer::start().await?;
    limit_to(server.pid(), open_descriptors(server.pid())? + 4)?;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(TcpStream::connect(server.address()).await?);
    }
    let refused = || server.log().lines().filter(|line| line.contains("cannot accept a connection")).count();
    eventually("a connection cannot be accepted", async || refused() >= 2).await?;
    ensure!(refused() < 40, "{} lines", refused());
    drop(held);
    eventually("requests are answered", async || {
        let answer = server.anonymous().get("/healthz").await;
        answer.is_ok_and(|answer| answer.status == 200)
    })
    .await?;
    Ok(())
}
