//! cargo, for real, through the mirror.

use std::process::Command;

use anyhow::Result;
use headwater_protocol::Network;
use headwater_tests::{Options, TestWorker};
use serde_json::json;

use crate::outlet::{config, run, session, succeed};
use crate::registry::Registry;
use crate::sample_packages::{crate_file, sha256};

const FETCH: &str = "export PATH=$PATH:/rust/bin && rm -rf app && cargo init --quiet --vcs none app && cd app && \
                     echo 'tiny = \"1\"' >> Cargo.toml && cargo fetch 2>&1";

/// A worker whose sessions see the toolchain of this machine.
async fn worker(registry: &Registry) -> Result<TestWorker> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8(sysroot.stdout)?;
    let config = format!(
        "{}cargo_index = \"sparse+{}\"\n[[binds]]\nhost = \"{}\"\ninside = \"/rust\"\n",
        config(registry),
        registry.url("/index/"),
        sysroot.trim()
    );
    TestWorker::with(Options { pool: Some(0), config: Some(config), ..Options::default() }).await
}

fn put(registry: &Registry, file: &[u8], info: &[u8]) {
    registry.put("/index/config.json", "application/json", json!({ "dl": registry.url("/dl") }).to_string());
    let line = json!({ "name": "tiny", "vers": "1.0.0", "deps": [], "cksum": sha256(info), "features": {}, "yanked": false });
    registry.put("/index/ti/ny/tiny", "text/plain", format!("{line}\n"));
    registry.put("/dl/tiny/1.0.0/download", "application/octet-stream", file);
}

#[tokio::test]
async fn cargo_fetches_through_the_mirror_and_from_what_is_kept() -> Result<()> {
    let registry = Registry::new().await?;
    let file = crate_file("tiny", "1.0.0")?;
    put(&registry, &file, &file);
    let worker = worker(&registry).await?;
    let first = session(&worker, Network::Packages).await?;
    succeed(&worker, first, FETCH).await?;
    let lock = succeed(&worker, first, "cat app/Cargo.lock").await?;
    assert!(lock.contains("github.com/rust-lang/crates.io-index") && !lock.contains("127.0.0.1"), "{lock}");
    let kept = worker.data().join("packages/files").join(format!("sha256-{}", sha256(&file)));
    assert_eq!(std::fs::read(kept)?, file);
    registry.stop().await;
    let second = session(&worker, Network::Packages).await?;
    succeed(&worker, second, FETCH).await?;
    Ok(())
}

#[tokio::test]
async fn cargo_gets_nothing_that_is_not_what_the_index_says() -> Result<()> {
    let registry = Registry::new().await?;
    put(&registry, &crate_file("tiny", "6.6.6")?, &crate_file("tiny", "1.0.0")?);
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let seen = run(&worker, id, FETCH).await?;
    assert_ne!(seen.verdict().code, Some(0), "{}", seen.text());
    assert_eq!(std::fs::read_dir(worker.data().join("packages/files"))?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn cargo_shows_why_a_registry_cannot_be_reached() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    registry.stop().await;
    let id = session(&worker, Network::Packages).await?;
    let seen = run(&worker, id, &format!("export CARGO_NET_RETRY=0; {FETCH}")).await?;
    let text = seen.text();
    assert!(
        text.contains("the registry does not answer") && text.contains("network.upstream_proxy"),
        "{text}"
    );
    Ok(())
}
