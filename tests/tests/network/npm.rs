//! npm, for real, through the mirror.

use anyhow::Result;
use headwater_protocol::Network;
use serde_json::json;

use crate::outlet::{run, session, succeed, worker};
use crate::registry::Registry;
use crate::sample_packages::{integrity, tarball};

const INSTALL: &str = "npm install --no-fund --cache /tmp/npm tiny @scope/small 2>&1";
const SHOW: &str = "node -p 'require(\"tiny\") + \" \" + require(\"@scope/small\")'";

fn put(registry: &Registry, name: &str, tarball: &[u8], info: &[u8]) {
    let file = format!("{}-1.0.0.tgz", name.rsplit('/').next().unwrap());
    let path = format!("/npm/{name}/-/{file}");
    let page = json!({ "name": name, "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": {
        "name": name, "version": "1.0.0",
        "dist": { "tarball": registry.url(&path), "integrity": integrity(info) },
    }}});
    registry.put(&format!("/npm/{}", name.replace('/', "%2f")), "application/json", page.to_string());
    registry.put(&path, "application/octet-stream", tarball);
}

#[tokio::test]
async fn npm_installs_through_the_mirror_and_from_what_is_kept() -> Result<()> {
    let registry = Registry::new().await?;
    for name in ["tiny", "@scope/small"] {
        let tarball = tarball(name, "1.0.0")?;
        put(&registry, name, &tarball, &tarball);
    }
    let worker = worker(&registry).await?;
    let first = session(&worker, Network::Packages).await?;
    succeed(&worker, first, INSTALL).await?;
    assert_eq!(succeed(&worker, first, SHOW).await?, "1.0.0 1.0.0\n");
    // A lock file is valid elsewhere, too.
    let lock = succeed(&worker, first, "cat package-lock.json").await?;
    assert!(lock.contains("sha512-") && !lock.contains("127.0.0.1"), "{lock}");
    registry.stop().await;
    let second = session(&worker, Network::Packages).await?;
    succeed(&worker, second, INSTALL).await?;
    assert_eq!(succeed(&worker, second, SHOW).await?, "1.0.0 1.0.0\n");
    Ok(())
}

#[tokio::test]
async fn npm_gets_nothing_that_is_not_what_the_registry_says() -> Result<()> {
    let registry = Registry::new().await?;
    put(&registry, "tiny", &tarball("tiny", "6.6.6")?, &tarball("tiny", "1.0.0")?);
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let seen = run(
        &worker,
        id,
        "npm install --no-fund --fetch-retries 0 --cache /tmp/npm tiny 2>&1; ls node_modules/tiny",
    )
    .await?;
    assert_ne!(seen.verdict().code, Some(0), "{}", seen.text());
    assert!(!worker.workspace(id).join("node_modules/tiny").exists());
    let kept = std::fs::read_dir(worker.data().join("packages/files"))?.count();
    assert_eq!(kept, 0);
    Ok(())
}
