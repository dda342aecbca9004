//! Builds over kills of the worker and of the gateway, and a cache that is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use headwater_tests::Fixture;
use serde_json::{Value, json};

use crate::calls::{Builds, one};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() { found.extend(entries(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

#[tokio::test]
async fn the_cache_survives_a_kill_and_a_damaged_entry_is_made_again() -> Result<()> {
    let mut fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    fixture.built(&one(&session, &[])).await?;
    let bytes = fixture.read(&session, "build/main")?;
    fixture.server.kill_worker().await?;
    fixture.server.kill();
    fixture.server.start_again().await?;
    let again = fixture.built(&one(&session, &[])).await?;
    assert_eq!(again["cached"], true, "{again}");
    for path in entries(&fixture.server.data().join("build-cache")) {
        let mut bad = fs::read(&path)?;
        let middle = bad.len() / 2;
        bad[middle] ^= 0xff;
        fs::write(&path, bad)?;
    }
    let again = fixture.built(&one(&session, &[])).await?;
    assert_eq!((&again["cached"], &again["cached_objects"]), (&json!(false), &json!(0)), "{again}");
    assert_eq!(fixture.read(&session, "build/main")?, bytes);
    assert_eq!(fixture.built(&one(&session, &[])).await?["cached"], true);
    Ok(())
}

/// Waits for a file that only the test makes: a compile that lasts as long as the test wants.
const WAITS: &str = "#include <cstdio>\nint main() { std::puts(\"made\"); }\n";

#[tokio::test]
async fn a_build_continues_over_kills_of_worker_and_gateway() -> Result<()> {
    let mut fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    // Slow enough to be killed in the middle, on any machine.
    let slow = format!(
        "template <int N, int M> struct F {{ static constexpr long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; }};\n\
         template <int M> struct F<0, M> {{ static constexpr long v = M; }};\nstatic_assert(F<14, 0>::v > 0);\n{WAITS}"
    );
    fixture.write(&session, "main.cpp", &slow)?;
    let mut request = one(&session, &[]);
    request["wait"] = json!(false);
    let begun = fixture.build(&request).await?;
    let path = format!("/v1/builds/{}?wait=50s", begun["build_id"].as_str().context("no id")?);
    fixture.server.kill_worker().await?;
    fixture.server.kill();
    fixture.server.start_again().await?;
    let mut info = Value::Null;
    for _ in 0..3 {
        info = fixture.get(&path).await?.json()?;
        if info["status"] != "running" {
            break;
        }
    }
    assert_eq!(info["status"], "success", "{info}");
    assert_eq!(fixture.run_in(&session, "./build/main").await?, "made\n");
    assert_eq!(fixture.built(&one(&session, &[])).await?["cached"], true);
    Ok(())
}

#[tokio::test]
async fn a_build_whose_session_is_deleted_has_a_clear_end() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let slow = "template <int N, int M> struct F { static constexpr long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };\n\
                template <int M> struct F<0, M> { static constexpr long v = M; };\nint main() { return F<14, 0>::v; }\n";
    fixture.write(&session, "main.cpp", slow)?;
    let mut request = one(&session, &[]);
    request["wait"] = json!(false);
    let begun = fixture.build(&request).await?;
    let execution = begun["execution_id"].as_str().context("no execution")?.to_owned();
    assert!(fixture.delete(&format!("/v1/sessions/{session}")).await?.status < 300);
    // The compile ends by itself, and with it its session: nothing hangs.
    let own = format!("/v1/sessions/{}", execution.replace("exe_", "ses_"));
    headwater_tests::host::eventually("the build's own session ends", async || {
        let info = fixture.get(&own).await;
        info.is_ok_and(|info| info.status == 404 || info.json().is_ok_and(|info| info["state"] == "ended"))
    })
    .await
}
