//! Limits above the maximum are refused, and the error names the maximum.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use serde_json::{Value, json};

fn shown(server: &TestServer) -> Result<Value> {
    let info = server.command().arg("config").output()?;
    Ok(serde_json::from_slice(&info.stdout)?)
}

#[tokio::test]
async fn absurd_limits_are_refused_with_the_maximum_wherever_they_are_asked_for() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let most = shown(&server)?["worker"]["max_limits"].clone();
    let id = api.session(&json!({"limits": {"memory_bytes": 64 << 20}})).await.context("a valid limit")?;
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
        let limits = json!({ name: value });
        for (method, path, body) in [
            ("POST", "/v1/sessions", json!({ "limits": limits })),
            ("PATCH", one.as_str(), json!({ "limits": limits })),
            ("POST", runs.as_str(), json!({ "shell": "true", "limits": limits })),
            ("POST", "/v1/executions", json!({ "shell": "true", "limits": limits })),
        ] {
            let answer = api.send(method, path, &[], &body).await?;
            ensure!(answer.status == 400, "{method} {path} {limits}: {} {}", answer.status, answer.text());
            let message = answer.json()?["error"]["message"].as_str().unwrap_or_default().to_owned();
            ensure!(message.contains(name) && message.contains("at most"), "{message}");
            if let Some(most) = most[name].as_u64() {
                ensure!(message.contains(&most.to_string()), "{message} does not say {most}");
            }
        }
    }
    let run = json!({"shell": "true", "limits": {"memory_bytes": 32 << 20}});
    api.start(&id, &run).await.context("a valid limit of an execution")?;
    Ok(())
}

#[tokio::test]
async fn the_machine_bounds_what_the_operator_does_not() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
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
    let usage = api.json("/v1/usage").await?;
    ensure!(usage.to_string().contains(&everybody["sessions"].to_string()), "{usage}");
    Ok(())
}
