//! `headwater config` names the origin of every value.

use anyhow::{Context, Result, ensure};
use headwater_tests::binary;
use serde_json::{Value, json};

#[test]
fn the_origin_of_a_value_is_the_default_the_file_a_variable_or_a_flag() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = "pool = 7\n[server]\nheartbeat = \"5s\"\nlisten = \"127.0.0.1:1\"\n";
    std::fs::write(folder.path().join("headwater.toml"), file)?;
    let output = std::process::Command::new(binary())
        .args(["config", "--json", "--log-format", "json"])
        .env("HEADWATER_DATA", folder.path())
        .env("HEADWATER_LISTEN", "127.0.0.1:2")
        .env("HEADWATER_LOG_FORMAT", "text")
        .env("SESSION_MAX_MEMORY", "64Mi")
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let settings = lines.collect::<Result<Vec<_>, _>>()?;
    for (key, value, source, name) in [
        ("pool", json!(7), "file", Value::Null),
        ("server.heartbeat", json!("5s"), "file", Value::Null),
        ("server.listen", json!("127.0.0.1:2"), "environment", json!("HEADWATER_LISTEN")),
        ("server.log_format", json!("json"), "flag", json!("--log-format")),
        ("limits.memory", json!("64Mi"), "environment", json!("SESSION_MAX_MEMORY")),
        ("server.allow_remote", json!(false), "default", Value::Null),
        ("sandbox", json!("full"), "default", Value::Null),
    ] {
        let found = settings.iter().find(|one| one["key"] == key).with_context(|| format!("no {key}"))?;
        ensure!(found["value"] == value && found["source"] == source && found["name"] == name, "{found}");
        ensure!(!found["default"].is_null(), "{found}");
    }
    Ok(())
}
