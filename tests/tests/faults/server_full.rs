//! A whole server on a full disk: reading, listing and deleting work, new things are refused with the reason, and it starts.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, TestServer, host};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::disk_full::Disk;

const DISK_BYTES: u64 = 96 << 20;
const DISK_INODES: u64 = 4000;

/// A server on a small disk.
struct Scene {
    server: TestServer,
    disk: Disk,
}

impl Scene {
    async fn new() -> Result<Self> {
        let disk = Disk::with_inodes(DISK_BYTES, DISK_INODES)?;
        let options = ServerOptions {
            data: Some(disk.path().join("data")),
            config: Some("pool = 1\n".into()),
            ..ServerOptions::default()
        };
        Ok(Self { server: TestServer::with(options).await?, disk })
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Raw> {
        let bearer = format!("Bearer {}", self.server.token());
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        raw::request(self.server.address(), method, path, &headers, body.as_bytes()).await
    }

    async fn get(&self, path: &str) -> Result<Raw> {
        let answer = self.ask("GET", path, &Value::Null).await?;
        ensure!(answer.status == 200, "GET {path}: {} {}", answer.status, answer.text());
        Ok(answer)
    }

    async fn delete(&self, path: &str) -> Result<()> {
        let answer = self.ask("DELETE", path, &Value::Null).await?;
        ensure!((200..300).contains(&answer.status), "DELETE {path}: {} {}", answer.status, answer.text());
        Ok(())
    }

    /// The id of something new.
    async fn make(&self, path: &str, body: &Value) -> Result<String> {
        let answer = self.ask("POST", path, body).await?;
        ensure!(answer.status == 201, "POST {path}: {} {}", answer.status, answer.text());
        Ok(answer.json()?["id"].as_str().context("no id")?.to_owned())
    }

    async fn session(&self) -> Result<String> {
        self.make("/v1/sessions", &json!({})).await
    }

    /// Runs a shell line in a session to its end.
    async fn run(&self, session: &str, shell: &str) -> Result<String> {
        let id = self.make(&format!("/v1/sessions/{session}/executions"), &json!({ "shell": shell })).await?;
        let told = self.get(&format!("/v1/executions/{id}?wait=60s&until=closed")).await?.json()?;
        ensure!(told["state"] == "closed", "{told}");
        Ok(id)
    }

    /// New things are refused, and everything that is there can be read.
    async fn is_full_and_readable(&self, session: &str, execution: &str, inodes: bool) -> Result<()> {
        for (path, body) in [
            ("/v1/sessions".to_owned(), json!({})),
            (format!("/v1/sessions/{session}/executions"), json!({ "shell": "echo no" })),
        ] {
            // What was prepared before, a folder for the next execution, may still be used up.
            let mut answer = self.ask("POST", &path, &body).await?;
            for _ in 0..5 {
                if answer.status == 507 {
                    break;
                }
                self.full(inodes)?;
                answer = self.ask("POST", &path, &body).await?;
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
        let ready = self.get("/readyz").await?.text();
        ensure!(ready.contains("disk") && ready.contains("data folder"), "{ready}");
        Ok(())
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
        let scene = Scene::new().await?;
        let (first, second) = (scene.session().await?, scene.session().await?);
        let execution =
            scene.run(&first, "echo printed; echo kept > file; head -c 2M /dev/zero > large").await?;
        ensure!(scene.get("/readyz").await?.text() == "ready\n", "the control");
        scene.full(inodes)?;
        scene
            .is_full_and_readable(&first, &execution, inodes)
            .await
            .with_context(|| format!("inodes: {inodes}"))?;
        // The one whose workspace is empty first: that makes no room.
        scene.delete(&format!("/v1/sessions/{second}")).await?;
        scene.full(inodes)?;
        scene.delete(&format!("/v1/executions/{execution}")).await?;
        scene.full(inodes)?;
        scene.delete(&format!("/v1/sessions/{first}/files?path=file")).await?;
        let ballast = scene.full(inodes)?;
        scene.delete(&format!("/v1/sessions/{first}")).await?;
        ensure!(scene.ask("GET", &format!("/v1/sessions/{first}"), &Value::Null).await?.status == 404);
        free(&ballast)?;
        host::eventually("new things are made again", async || match scene.session().await {
            Ok(session) => scene.run(&session, "echo on").await.is_ok(),
            Err(_) => false,
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_server_starts_on_a_full_disk_and_says_so() -> Result<()> {
    for inodes in [false, true] {
        let mut scene = Scene::new().await?;
        let session = scene.session().await?;
        let execution = scene.run(&session, "echo printed; echo kept > file").await?;
        let worker = scene.server.worker_pid().await?;
        scene.server.terminate()?;
        host::signal(i32::try_from(worker)?, Signal::KILL)?;
        let ballast = scene.full(inodes)?;
        scene.server.start_again().await.with_context(|| format!("inodes: {inodes}"))?;
        scene.full(inodes)?;
        scene
            .is_full_and_readable(&session, &execution, inodes)
            .await
            .with_context(|| format!("inodes: {inodes}"))?;
        ensure!(scene.server.log().contains("disk of the data folder"), "{}", scene.server.log());
        scene.delete(&format!("/v1/sessions/{session}")).await?;
        free(&ballast)?;
        host::eventually("new things are made again", async || scene.session().await.is_ok()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn readiness_is_answered_while_the_worker_is_stopped() -> Result<()> {
    let server =
        TestServer::with(ServerOptions { config: Some("pool = 1\n".into()), ..ServerOptions::default() })
            .await?;
    let ready = || raw::request(server.address(), "GET", "/readyz", &[], b"");
    assert_eq!(ready().await?.status, 200, "the control");
    let worker = i32::try_from(server.worker_pid().await?)?;
    host::stop(worker).await?;
    // Two seconds are promised; the rest is for a machine that is busy. Without a bound it never answers.
    let answer = tokio::time::timeout(Duration::from_secs(30), ready()).await;
    host::signal(worker, Signal::CONT)?;
    let answer = answer.context("no answer")??;
    assert_eq!(answer.status, 503);
    let error = answer.json()?["error"].clone();
    ensure!(error["message"].as_str().is_some_and(|text| text.contains("worker")), "{error}");
    host::eventually("it is ready again", async || ready().await.is_ok_and(|answer| answer.status == 200))
        .await
}
