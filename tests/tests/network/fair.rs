//! One owner's sessions do not use up the network of all: connections and downloads have a share for each owner.

use anyhow::Result;
use headwater_protocol::{ExecutionId, Network, SessionId, SessionSpec, StartSpec};
use headwater_tests::{Options, TestWorker, host};
use serde_json::json;

use crate::outlet::{OUTLET, config, connect, say, status, worker};
use crate::registry::{NAME, Registry, SLOW};
use crate::sample_packages::sha256;

/// A session of this owner, as the gateway makes it.
async fn session_of(worker: &TestWorker, owner: &str) -> Result<SessionId> {
    let metadata = [("headwater.owner".to_owned(), owner.to_owned())].into();
    let spec = SessionSpec { network: Network::Packages, metadata, ..SessionSpec::default() };
    Ok(worker.client().await?.create_session(None, &spec).await?.id)
}

/// Opens connections, says this to each, prints what each answers first, and keeps them open.
async fn keep_open(
    worker: &TestWorker,
    session: SessionId,
    count: usize,
    first: &str,
) -> Result<ExecutionId> {
    let code = format!(
        "import socket, signal\nkept = []\nfor at in range({count}):\n\
         \x20   s = socket.create_connection(('127.0.0.1', {OUTLET}), 60)\n    kept.append(s)\n\
         \x20   s.sendall({first:?}.replace('NUMBER', str(at)).encode())\n\
         for s in kept: print(s.recv(12).decode(), flush=True)\nprint('all of' + ' them', flush=True)\nsignal.pause()"
    );
    worker.begin_in(session, &StartSpec::argv(["python3", "-c", &code])).await
}

#[tokio::test]
async fn an_owner_at_its_connection_limit_is_refused_with_a_reason_and_others_are_not() -> Result<()> {
    let registry = Registry::new().await?;
    let config = config(&registry).replacen("[network]\n", "[network]\nmax_connections_of_owner = 5\n", 1);
    let worker = TestWorker::with(Options { config: Some(config), ..Options::default() }).await?;
    let target = format!("{NAME}:{}", registry.port);
    let first = session_of(&worker, "ann").await?;
    let kept = keep_open(&worker, first, 5, &connect(&target)).await?;
    let mut watcher = worker.watch(kept).await?;
    watcher.until_printed("all of them").await?;
    // Another session of the same owner finds nothing left; another owner does not notice.
    let second = session_of(&worker, "ann").await?;
    let ping = "GET /npm/-/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for request in [connect(&target), ping.to_owned()] {
        let answer = say(&worker, second, &request, None).await?;
        assert_eq!(status(&answer)?, 503, "{answer}");
        assert!(answer.contains("network.max_connections_of_owner"), "{answer}");
    }
    let other = session_of(&worker, "bob").await?;
    assert_eq!(status(&say(&worker, other, ping, None).await?)?, 200);
    // Released permits can be taken again.
    worker.client().await?.end_session(first, false).await?;
    host::eventually("the connections come back", async || {
        let answer = say(&worker, second, ping, None).await;
        answer.is_ok_and(|answer| status(&answer).is_ok_and(|status| status == 200))
    })
    .await
}

#[tokio::test]
async fn slow_downloads_of_one_owner_keep_no_other_owner_waiting() -> Result<()> {
    let registry = Registry::new().await?;
    let file = |at: usize| format!("tiny-{at}.tar.gz");
    let body = |at: usize| format!("the file number {at}").into_bytes();
    let mut files: Vec<_> = (0..20)
        .map(|at| {
            registry.put(&format!("{SLOW}{}", file(at)), "application/octet-stream", body(at));
            json!({ "filename": file(at), "url": format!("../..{SLOW}{}", file(at)), "hashes": { "sha256": sha256(&body(at)) } })
        })
        .collect();
    registry.put("/files/quick.tar.gz", "application/octet-stream", "quick");
    files.push(json!({ "filename": "quick.tar.gz", "url": "../../files/quick.tar.gz", "hashes": { "sha256": sha256(b"quick") } }));
    let page =
        json!({ "meta": { "api-version": "1.1" }, "name": "tiny", "versions": ["1.0"], "files": files });
    registry.put("/simple/tiny/", "application/vnd.pypi.simple.v1+json", page.to_string());
    let worker = worker(&registry).await?;
    let ann = session_of(&worker, "ann").await?;
    let ask = "GET /pypi/files/tiny/tiny-NUMBER.tar.gz HTTP/1.1\r\nHost: a\r\n\r\n";
    keep_open(&worker, ann, 20, ask).await?;
    let begun = || registry.asked().iter().filter(|head| head.starts_with("GET /slow/")).count();
    host::eventually("the slow downloads", async || begun() >= 4).await?;
    let bob = session_of(&worker, "bob").await?;
    let quick = "GET /pypi/files/tiny/quick.tar.gz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = say(&worker, bob, quick, None).await?;
    assert!(answer.ends_with("\r\n\r\nquick"), "{answer}");
    assert_eq!(begun(), 4, "an owner has at most four downloads at once, and the others wait");
    Ok(())
}
