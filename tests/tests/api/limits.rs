//! Limits above the maximum are refused, and the error names the maximum.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use headwater_protocol::units::parse_bytes;
use headwater_tests::TestServer;
use serde_json::{Value, json};

/// The settings of a server by their keys in the file.
fn settings(server: &TestServer) -> Result<BTreeMap<String, Value>> {
    let output = server.command().args(["config", "--json"]).output()?;
    let lines = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    let key = |line: &Value| line["key"].as_str().unwrap_or_default().to_owned();
    Ok(lines.into_iter().map(|line| (key(&line), line["value"].clone())).collect())
}

/// A size or a number.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| parse_bytes(value.as_str()?).ok())
}

#[tokio::test]
async fn absurd_limits_are_refused_with_the_maximum_wherever_they_are_asked_for() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let settings = settings(&server)?;
    let id = api.session(&json!({"limits": {"memory_bytes": 64 << 20}})).await.context("a valid limit")?;
    let (one, runs) = (format!("/v1/sessions/{id}"), format!("/v1/sessions/{id}/executions"));
    for (name, key) in [
        ("memory_bytes", "memory"),
        ("pids", "pids"),
        ("open_files", "open_files"),
        ("file_bytes", "file"),
        ("disk_bytes", "disk"),
        ("inodes", "inodes"),
        ("output_bytes", "output"),
        ("wall_ms", "wall"),
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
            if let Some(most) = settings.get(&format!("max_limits.{key}")).and_then(number) {
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
    let settings = settings(&server)?;
    for name in ["memory", "pids", "open_files", "disk", "inodes", "output"] {
        let find = |table| settings.get(&format!("{table}.{name}")).and_then(number).context(name);
        let (most, usual) = (find("max_limits")?, find("limits")?);
        ensure!(usual <= most, "{name}: {usual} and {most}");
    }
    ensure!(settings["max_limits.cpus"].as_f64().is_some_and(|cpus| cpus >= 1.0), "{settings:?}");
    ensure!(number(&settings["quotas.sessions"]).is_some_and(|most| most >= 100), "{settings:?}");
    ensure!(number(&settings["quotas.disk"]).is_some_and(|most| most >= 4 << 30), "{settings:?}");
    let usage = api.json("/v1/usage").await?;
    ensure!(usage.to_string().contains(&settings["quotas.sessions"].to_string()), "{usage}");
    Ok(())
}
