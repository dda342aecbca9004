//! A whole server on a full disk: reading, listing and deleting work, new things are refused with the reason, and it starts.

use std::fs;

use anyhow::{Context, Result, ensure};
use headwater_tests::http::Response;
use headwater_tests::{Api, ServerOptions, TestServer, host};
use rustix::process::Signal;
use serde_json::json;

use crate::disk_full::Disk;

const DISK_BYTES: u64 = 96 << 20;
const DISK_INODES: u64 = 4000;

/// A server on a small disk.
struct SmallDisk {
    server: TestServer,
    api: Api,
    disk: Disk,
}

impl SmallDisk {
    async fn new() -> Result<Self> {
        let disk = Disk::with_inodes(DISK_BYTES, DISK_INODES)?;
        let data = Some(disk.path().join("data"));
        let options = ServerOptions { data, config: Some("pool = 1\n".into()), ..ServerOptions::default() };
        let server = TestServer::with(options).await?;
        Ok(Self { api: server.api(), server, disk })
    }

    async fn get(&self, path: &str) -> Result<Response> {
        let response = self.api.get(path).await?;
        ensure!(response.status == 200, "GET {path}: {} {}", response.status, response.text());
        Ok(response)
    }

    async fn delete(&self, path: &str) -> Result<()> {
        let response = self.api.delete(path).await?;
        ensure!(
            (200..300).contains(&response.status),
            "DELETE {path}: {} {}",
            response.status,
            response.text()
        );
        Ok(())
    }

    async fn session(&self) -> Result<String> {
        self.api.session(&json!({})).await
    }

    /// Runs a shell line in a session to its end; its id.
    async fn run(&self, session: &str, shell: &str) -> Result<String> {
        let id = self.api.start(session, &json!({ "shell": shell })).await?;
        self.api.closed(&id).await?;
        Ok(id)
    }

    /// New sessions and executions are refused, and everything that exists can be read.
    async fn is_full_and_readable(&self, session: &str, execution: &str, inodes: bool) -> Result<()> {
        for (path, body) in [
            ("/v1/sessions".to_owned(), json!({})),
            (format!("/v1/sessions/{session}/executions"), json!({ "shell": "echo no" })),
        ] {
            // A folder that was prepared for the next execution may still be used.
            let mut answer = self.api.post(&path, &body).await?;
            for _ in 0..5 {
                if answer.status == 507 {
                    break;
                }
                self.full(inodes)?;
                answer = self.api.post(&path, &body).await?;
            }
            ensure!(answer.status == 507, "POST {path}: {} {}", answer.status, answer.text());
            let error = answer.json()?["error"].clone();
            ensure!(error["code"] == "disk_full" && error["hint"].is_string(), "{error}");
        }
        for path in [
            "/v1/sessions".to_owned(),
            "/v1/executions".to_owned(),
            format!("/v1/sessions/{session}"),
            format!("/v1/executions/{execution}"),
            format!("/v1/sessions/{session}/files?path=/"),
            format!("/v1/sessions/{session}/files/content?path=file"),
        ] {
            self.get(&path).await?;
        }
        let output = self.get(&format!("/v1/executions/{execution}/output")).await?.text();
        ensure!(output == "printed\n", "{output}");
        let ready = self.ready().await?;
        ensure!(ready.contains("disk") && ready.contains("data folder"), "{ready}");
        Ok(())
    }

    /// What `/readyz` says when the server is ready: on a busy machine the worker may take longer than it is given.
    async fn ready(&self) -> Result<String> {
        let mut text = String::new();
        host::eventually("the server is ready", async || {
            let ready = self.get("/readyz").await;
            ready.map(|ready| text = ready.text()).is_ok()
        })
        .await?;
        Ok(text)
    }

    fn full(&self, inodes: bool) -> Result<std::path::PathBuf> {
        if inodes { self.disk.fill_inodes() } else { self.disk.fill(0) }
    }
}

fn free(ballast: &std::path::Path) -> Result<()> {
    if ballast.is_dir() {
        fs::remove_dir_all(ballast)?;
    } else {
        fs::remove_file(ballast)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_server_on_a_full_disk_reads_lists_and_deletes_and_refuses_new_things() -> Result<()> {
    for inodes in [false, true] {
        let full = SmallDisk::new().await?;
        let (first, second) = (full.session().await?, full.session().await?);
        let execution =
            full.run(&first, "echo printed; echo kept > file; head -c 2M /dev/zero > large").await?;
        ensure!(full.ready().await? == "ready\n", "the control");
        full.full(inodes)?;
        full.is_full_and_readable(&first, &execution, inodes)
            .await
            .with_context(|| format!("inodes: {inodes}"))?;
        // The session with an empty workspace first: removing it frees no space.
        full.delete(&format!("/v1/sessions/{second}")).await?;
        full.full(inodes)?;
        full.delete(&format!("/v1/executions/{execution}")).await?;
        full.full(inodes)?;
        full.delete(&format!("/v1/sessions/{first}/files?path=file")).await?;
        let ballast = full.full(inodes)?;
        full.delete(&format!("/v1/sessions/{first}")).await?;
        ensure!(full.api.get(&format!("/v1/sessions/{first}")).await?.status == 404);
        free(&ballast)?;
        host::eventually("new things are made again", async || match full.session().await {
            Ok(session) => full.run(&session, "echo on").await.is_ok(),
            Err(_) => false,
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_server_starts_on_a_full_disk_and_says_so() -> Result<()> {
    for inodes in [false, true] {
        let mut full = SmallDisk::new().await?;
        let session = full.session().await?;
        let execution = full.run(&session, "echo printed; echo kept > file").await?;
        let worker = full.server.worker_pid().await?;
        full.server.terminate()?;
        host::kill(i32::try_from(worker)?).await?;
        let ballast = full.full(inodes)?;
        full.server.start_again().await.with_context(|| format!("inodes: {inodes}"))?;
        full.full(inodes)?;
        full.is_full_and_readable(&session, &execution, inodes)
            .await
            .with_context(|| format!("inodes: {inodes}"))?;
        ensure!(full.server.log().contains("disk of the data folder"), "{}", full.server.log());
        full.delete(&format!("/v1/sessions/{session}")).await?;
        free(&ballast)?;
        host::eventually("new things are made again", async || full.session().await.is_ok()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn readiness_is_answered_while_the_worker_is_stopped() -> Result<()> {
    let server = TestServer::small().await?;
    let anonymous = server.anonymous();
    let ready = || anonymous.get("/readyz");
    let is_ready = async || ready().await.is_ok_and(|answer| answer.status == 200);
    host::eventually("the control: it is ready", is_ready).await?;
    let worker = i32::try_from(server.worker_pid().await?)?;
    host::stop(worker).await?;
    // Without a bound it never answers.
    let answer = tokio::time::timeout(host::PATIENCE, ready()).await;
    host::signal(worker, Signal::CONT)?;
    let answer = answer.context("no answer")??;
    assert_eq!(answer.status, 503);
    let error = answer.json()?["error"].clone();
    ensure!(error["message"].as_str().is_some_and(|text| text.contains("worker")), "{error}");
    host::eventually("it is ready again", is_ready).await
}
