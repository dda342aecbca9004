//! Builds over kills of the worker and of the gateway, and a cache that is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::scene::{Scene, one};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() { found.extend(entries(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

#[tokio::test]
async fn the_cache_survives_a_kill_and_a_damaged_entry_is_made_again() -> Result<()> {
    let mut scene = Scene::new().await?;
    let session = scene.session().await?;
    scene.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    scene.good(&one(&session, &[])).await?;
    let bytes = scene.read(&session, "build/main")?;
    scene.server.kill_worker().await?;
    scene.server.kill();
    scene.server.start_again().await?;
    let again = scene.good(&one(&session, &[])).await?;
    assert_eq!(again["cached"], true, "{again}");
    for path in entries(&scene.server.data().join("build-cache")) {
        let mut bad = fs::read(&path)?;
        let middle = bad.len() / 2;
        bad[middle] ^= 0xff;
        fs::write(&path, bad)?;
    }
    let again = scene.good(&one(&session, &[])).await?;
    assert_eq!((&again["cached"], &again["cached_objects"]), (&json!(false), &json!(0)), "{again}");
    assert_eq!(scene.read(&session, "build/main")?, bytes);
    assert_eq!(scene.good(&one(&session, &[])).await?["cached"], true);
    Ok(())
}

/// Waits for a file that only the test makes: a compile that lasts as long as the test wants.
const WAITS: &str = "#include <cstdio>\nint main() { std::puts(\"made\"); }\n";

#[tokio::test]
async fn a_build_continues_over_kills_of_worker_and_gateway() -> Result<()> {
    let mut scene = Scene::new().await?;
    let session = scene.session().await?;
    // Slow enough to be killed in the middle, on any machine.
    let slow = format!(
        "template <int N, int M> struct F {{ static constexpr long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; }};\n\
         template <int M> struct F<0, M> {{ static constexpr long v = M; }};\nstatic_assert(F<14, 0>::v > 0);\n{WAITS}"
    );
    scene.write(&session, "main.cpp", &slow)?;
    let mut request = one(&session, &[]);
    request["wait"] = json!(false);
    let begun = scene.build(&request).await?;
    let path = format!("/v1/builds/{}?wait=50s", begun["build_id"].as_str().context("no id")?);
    scene.server.kill_worker().await?;
    scene.server.kill();
    scene.server.start_again().await?;
    let mut told = Value::Null;
    for _ in 0..3 {
        told = scene.ask("GET", &path, &Value::Null).await?.json()?;
        if told["status"] != "running" {
            break;
        }
    }
    assert_eq!(told["status"], "success", "{told}");
    assert_eq!(scene.run(&session, "./build/main").await?, "made\n");
    assert_eq!(scene.good(&one(&session, &[])).await?["cached"], true);
    Ok(())
}

#[tokio::test]
async fn a_build_whose_session_is_deleted_has_a_clear_end() -> Result<()> {
    let scene = Scene::new().await?;
    let session = scene.session().await?;
    let slow = "template <int N, int M> struct F { static constexpr long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };\n\
                template <int M> struct F<0, M> { static constexpr long v = M; };\nint main() { return F<14, 0>::v; }\n";
    scene.write(&session, "main.cpp", slow)?;
    let mut request = one(&session, &[]);
    request["wait"] = json!(false);
    let begun = scene.build(&request).await?;
    let execution = begun["execution_id"].as_str().context("no execution")?.to_owned();
    assert!(scene.ask("DELETE", &format!("/v1/sessions/{session}"), &Value::Null).await?.status < 300);
    // The compile ends by itself, and with it its session: nothing hangs.
    let own = format!("/v1/sessions/{}", execution.replace("exe_", "ses_"));
    headwater_tests::host::eventually("the build's own session ends", async || {
        let told = scene.ask("GET", &own, &Value::Null).await;
        told.is_ok_and(|told| told.status == 404 || told.json().is_ok_and(|told| told["state"] == "ended"))
    })
    .await
}
