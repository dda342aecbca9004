//! Registries whose files the mirror passes on: Go modules, Maven, Debian.

use anyhow::Result;
use headwater_protocol::Network;
use headwater_tests::{Options, TestWorker};

use crate::outlet::{config, run, say, session, status, succeed};
use crate::registry::Registry;

async fn worker(registry: &Registry) -> Result<TestWorker> {
    let more = format!(
        "go_proxy = \"{}\"\nmaven_repository = \"{}\"\ndebian_mirror = \"{}\"\n",
        registry.url("/goproxy"),
        registry.url("/maven2"),
        registry.url("/debian")
    );
    let config = Some(format!("{}{more}", config(registry)));
    TestWorker::with(Options { pool: Some(0), config, ..Options::default() }).await
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn files_are_passed_on_and_kept_and_indexes_are_used_when_the_registry_is_gone() -> Result<()> {
    let registry = Registry::new().await?;
    let paths = [
        ("/goproxy/a.test/!b/@v/v1.0.0.zip", "/go/a.test/!b/@v/v1.0.0.zip"),
        ("/goproxy/a.test/!b/@v/list", "/go/a.test/!b/@v/list"),
        ("/maven2/org/a/1.0/a-1.0.jar", "/maven/org/a/1.0/a-1.0.jar"),
        ("/maven2/org/a/maven-metadata.xml", "/maven/org/a/maven-metadata.xml"),
        ("/debian/pool/main/j/jq/jq_1.6_amd64.deb", "/debian/pool/main/j/jq/jq_1.6_amd64.deb"),
        ("/debian/dists/stable/InRelease", "/debian/dists/stable/InRelease"),
    ];
    for (path, _) in paths {
        registry.put(path, "application/octet-stream", path);
    }
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    for (path, asked) in paths {
        let answer = say(&worker, id, &get(asked), None).await?;
        assert!(status(&answer)? == 200 && answer.ends_with(&format!("\r\n\r\n{path}")), "{answer}");
        say(&worker, id, &get(asked), None).await?;
        assert_eq!(registry.count(path), 1, "{path}");
    }
    // What does not exist does not exist, and no path leaves the registry.
    for path in [
        "/go/a.test/other/@v/list",
        "/maven/org/a/2.0/a-2.0.jar",
        "/go/../maven2/org/a/1.0/a-1.0.jar",
        "/go/%2e%2e/maven2/org/a/1.0/a-1.0.jar",
        "/debian/",
    ] {
        assert_eq!(status(&say(&worker, id, &get(path), None).await?)?, 404, "{path}");
    }
    registry.stop().await;
    for (path, asked) in paths {
        let answer = say(&worker, id, &get(asked), None).await?;
        assert!(status(&answer)? == 200 && answer.ends_with(path), "{answer}");
    }
    let answer = say(&worker, id, &get("/maven/org/b/1.0/b-1.0.jar"), None).await?;
    assert!(status(&answer)? == 502 && answer.contains("the registry does not answer"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn go_and_maven_find_the_mirror_by_themselves() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    assert_eq!(succeed(&worker, id, "echo $GOPROXY").await?, "http://127.0.0.1:41080/go\n");
    // It needs a plugin for everything, so it asks at once.
    run(&worker, id, "mvn --batch-mode --quiet help:effective-settings").await?;
    let asked = registry.asked();
    assert!(asked.iter().any(|head| head.starts_with("GET /maven2/org/apache/maven/plugins/")), "{asked:?}");
    // A session without the mirror is not led to it.
    let none = session(&worker, Network::None).await?;
    assert_eq!(succeed(&worker, none, "echo $GOPROXY$MAVEN_OPTS").await?, "\n");
    Ok(())
}
