//! Limits that nobody can have are refused, and say what can be had.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::raw::{self, Raw};
use serde_json::Value;

async fn ask(server: &TestServer, method: &str, path: &str, body: &str) -> Result<Raw> {
    let bearer = format!("Bearer {}", server.token());
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    raw::request(server.address(), method, path, &headers, body.as_bytes()).await
}

fn shown(server: &TestServer) -> Result<Value> {
    let told = server.command().arg("config").output()?;
    Ok(serde_json::from_slice(&told.stdout)?)
}

#[tokio::test]
async fn absurd_limits_are_refused_with_the_maximum_wherever_they_are_asked_for() -> Result<()> {
    let server = TestServer::start().await?;
    let most = shown(&server)?["worker"]["max_limits"].clone();
    let session = ask(&server, "POST", "/v1/sessions", r#"{"limits":{"memory_bytes":67108864}}"#).await?;
    ensure!(session.status == 201, "a sensible limit is refused: {}", session.text());
    let id = session.json()?["id"].as_str().context("no id")?.to_owned();
    let (one, runs) = (format!("/v1/sessions/{id}"), format!("/v1/sessions/{id}/executions"));
    for name in [
        "memory_bytes",
        "pids",
        "open_files",
        "file_bytes",
        "disk_bytes",
        "inodes",
        "output_bytes",
        "wall_ms",
    ] {
        let value = if name == "pids" { 4_194_304 } else { u64::MAX };
        let limits = format!("{{\"{name}\":{value}}}");
        for (method, path, body) in [
            ("POST", "/v1/sessions", format!("{{\"limits\":{limits}}}")),
            ("PATCH", one.as_str(), format!("{{\"limits\":{limits}}}")),
            ("POST", runs.as_str(), format!("{{\"shell\":\"true\",\"limits\":{limits}}}")),
            ("POST", "/v1/executions", format!("{{\"shell\":\"true\",\"limits\":{limits}}}")),
        ] {
            let answer = ask(&server, method, path, &body).await?;
            ensure!(answer.status == 400, "{method} {path} {limits}: {} {}", answer.status, answer.text());
            let message = answer.json()?["error"]["message"].as_str().unwrap_or_default().to_owned();
            ensure!(message.contains(name) && message.contains("at most"), "{message}");
            if let Some(most) = most[name].as_u64() {
                ensure!(message.contains(&most.to_string()), "{message} does not say {most}");
            }
        }
    }
    let run = ask(&server, "POST", &runs, r#"{"shell":"true","limits":{"memory_bytes":33554432}}"#).await?;
    ensure!(run.status == 201, "a sensible limit of an execution is refused: {}", run.text());
    Ok(())
}

#[tokio::test]
async fn the_machine_bounds_what_the_operator_does_not() -> Result<()> {
    let server = TestServer::start().await?;
    let config = shown(&server)?;
    let (most, usual) = (&config["worker"]["max_limits"], &config["worker"]["limits"]);
    for name in ["memory_bytes", "pids", "open_files", "disk_bytes", "inodes", "output_bytes"] {
        let (most, usual) = (most[name].as_u64().context(name)?, usual[name].as_u64().context(name)?);
        ensure!(usual <= most, "{name}: {usual} and {most}");
    }
    ensure!(most["cpus"].as_f64().is_some_and(|cpus| cpus >= 1.0), "{most}");
    let everybody = &config["quotas"]["everybody"];
    ensure!(everybody["sessions"].as_u64().is_some_and(|most| most >= 100), "{everybody}");
    ensure!(everybody["disk_bytes"].as_u64().is_some_and(|most| most >= 4 << 30), "{everybody}");
    let usage = ask(&server, "GET", "/v1/usage", "").await?.json()?;
    ensure!(usage.to_string().contains(&everybody["sessions"].to_string()), "{usage}");
    Ok(())
}
