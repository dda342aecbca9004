//! pip, for real, through the mirror.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use headwater_protocol::{Network, SessionId};
use headwater_tests::{TestWorker, host};
use serde_json::json;

use crate::outlet::{run, say, session, status, succeed, worker};
use crate::registry::Registry;
use crate::sample_packages::{sha256, wheel};

const JSON: &str = "application/vnd.pypi.simple.v1+json";
const FILE: &str = "tiny-1.0-py3-none-any.whl";
const INSTALL: &str = "env/bin/pip install --quiet --disable-pip-version-check --no-cache-dir tiny 2>&1";
const SHOW: &str = "env/bin/python -c 'import tiny; print(tiny.version)'";

fn put_json(registry: &Registry, wheel: &[u8]) {
    let page = json!({ "meta": { "api-version": "1.1" }, "name": "tiny", "versions": ["1.0"], "files": [
        { "filename": FILE, "url": format!("../../files/{FILE}"), "hashes": { "sha256": sha256(wheel) }, "size": wheel.len() },
    ]});
    registry.put("/simple/tiny/", JSON, page.to_string());
}

fn put_file(registry: &Registry, bytes: &[u8]) {
    registry.put(&format!("/files/{FILE}"), "application/octet-stream", bytes);
}

/// A session with a virtual environment.
async fn with_environment(worker: &TestWorker) -> Result<SessionId> {
    let id = session(worker, Network::Packages).await?;
    succeed(worker, id, "python3 -m venv env").await?;
    Ok(id)
}

fn kept(worker: &TestWorker, folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(worker.data().join("packages").join(folder));
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Makes what is kept look as if it had been there for an hour.
fn age(paths: &[PathBuf]) -> Result<()> {
    let old = SystemTime::now() - Duration::from_hours(1);
    let set = |path: &Path| fs::File::options().append(true).open(path)?.set_modified(old);
    Ok(paths.iter().try_for_each(|path| set(path))?)
}

#[tokio::test]
async fn a_package_is_installed_and_then_for_another_session_without_its_registry() -> Result<()> {
    let registry = Registry::new().await?;
    let wheel = wheel("tiny", "1.0")?;
    put_json(&registry, &wheel);
    put_file(&registry, &wheel);
    let mut worker = worker(&registry).await?;
    let first = with_environment(&worker).await?;
    succeed(&worker, first, INSTALL).await?;
    assert_eq!(succeed(&worker, first, SHOW).await?, "1.0\n");
    assert_eq!((registry.count("/simple/tiny/"), registry.count(&format!("/files/{FILE}"))), (1, 1));
    let file = worker.data().join("packages/files").join(format!("sha256-{}", sha256(&wheel)));
    assert_eq!(fs::read(&file)?, wheel, "kept as it is, by its checksum");
    // Long after, with no registry and another worker.
    registry.stop().await;
    age(&kept(&worker, "pages"))?;
    worker.kill();
    worker.start_again().await?;
    let second = with_environment(&worker).await?;
    succeed(&worker, second, INSTALL).await?;
    assert_eq!(succeed(&worker, second, SHOW).await?, "1.0\n");
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_not_what_the_index_says_reaches_nobody_and_is_not_kept() -> Result<()> {
    let registry = Registry::new().await?;
    let wheel = wheel("tiny", "1.0")?;
    let mut other = crate::sample_packages::wheel("tiny", "6.6")?;
    other.resize(wheel.len(), 0);
    put_json(&registry, &wheel);
    put_file(&registry, &other);
    let worker = worker(&registry).await?;
    let id = with_environment(&worker).await?;
    let seen = run(&worker, id, INSTALL).await?;
    assert_ne!(seen.verdict().code, Some(0), "{}", seen.text());
    let ask = format!("GET /pypi/files/tiny/{FILE} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let answer = say(&worker, id, &ask, None).await?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    assert!(body.len() < wheel.len(), "not even its bytes: {} of {}", body.len(), wheel.len());
    assert!(kept(&worker, "files").is_empty());
    // The answer ends before the rest is cleared away.
    host::eventually("the draft is removed, and the log says why", async || {
        kept(&worker, "new").is_empty() && worker.log().contains("the checksum of the file differs")
    })
    .await?;
    // When the registry has the right file, the same session gets it.
    put_file(&registry, &wheel);
    succeed(&worker, id, INSTALL).await?;
    assert_eq!(succeed(&worker, id, SHOW).await?, "1.0\n");
    Ok(())
}

#[tokio::test]
async fn an_index_of_the_older_form_does_as_well_and_pages_are_asked_for_again_by_their_tag() -> Result<()> {
    let registry = Registry::new().await?;
    let wheel = wheel("tiny", "1.0")?;
    let page = format!("<html><a href=\"/files/{FILE}#sha256={}\">{FILE}</a></html>", sha256(&wheel));
    registry.put("/simple/tiny/", "text/html", page);
    put_file(&registry, &wheel);
    let worker = worker(&registry).await?;
    let id = with_environment(&worker).await?;
    succeed(&worker, id, INSTALL).await?;
    assert_eq!(succeed(&worker, id, SHOW).await?, "1.0\n");
    // A client that requests the older form gets it, with the mirror's addresses.
    let ask = "GET /pypi/simple/Tiny/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = say(&worker, id, ask, None).await?;
    let link = format!("<a href=\"http://127.0.0.1:41080/pypi/files/tiny/{FILE}#sha256={}\"", sha256(&wheel));
    assert!(answer.contains(&link), "{answer}");
    age(&kept(&worker, "pages"))?;
    say(&worker, id, ask, None).await?;
    let asked = registry.asked();
    assert!(
        asked.last().is_some_and(|head| head.to_lowercase().contains("if-none-match: \"one\"")),
        "{asked:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_session_cannot_say_what_a_package_is_or_where_it_comes_from() -> Result<()> {
    let registry = Registry::new().await?;
    let wheel = wheel("tiny", "1.0")?;
    put_json(&registry, &wheel);
    registry.put("/secret", "text/plain", "secret");
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    for (request, wanted) in [
        ("GET /pypi/files/tiny/other.whl", 404),
        ("GET /pypi/files/tiny/..%2f..%2fsecret", 404),
        ("GET /pypi/files/tiny/../../secret", 404),
        ("GET /pypi/simple/..%2fsecret/", 404),
        ("GET /pypi/simple/../secret/", 404),
        ("GET /npm/..%2fsecret", 404),
        ("GET /npm/@a%2f..%2f..%2fsecret", 404),
        ("GET /pypi/simple/missing/", 404),
        ("POST /pypi/simple/tiny/", 405),
        ("PUT /npm/tiny", 405),
        ("DELETE /pypi/files/tiny/tiny-1.0-py3-none-any.whl", 405),
    ] {
        let request =
            format!("{request} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let answer = say(&worker, id, &request, None).await?;
        assert_eq!(status(&answer)?, wanted, "{request}: {answer}");
    }
    assert_eq!(registry.count("/secret"), 0);
    // The cache is not visible inside.
    let data = worker.data().display().to_string();
    let seen = run(
        &worker,
        id,
        &format!(
            // `/usr` and `/proc` are left out: the host decides how long they take to search.
            "ls -d {data}/packages /packages /workspace/../packages; \
             find / \\( -path /usr -o -path /proc \\) -prune -o -name 'sha256-*' -print 2>/dev/null"
        ),
    )
    .await?;
    assert_eq!(seen.text(), "");
    Ok(())
}

#[tokio::test]
async fn pip_and_npm_show_why_a_registry_cannot_be_reached() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    registry.stop().await;
    let id = with_environment(&worker).await?;
    for line in [INSTALL, "npm install --no-fund --fetch-retries 0 --cache /tmp/npm tiny 2>&1"] {
        let seen = run(&worker, id, line).await?;
        assert_ne!(seen.verdict().code, Some(0), "{}", seen.text());
        let text = seen.text();
        assert!(
            text.contains("the registry does not answer") && text.contains("network.upstream_proxy"),
            "{text}"
        );
    }
    Ok(())
}
