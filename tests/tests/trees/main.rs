//! Whole trees of a workspace, end to end: watching, searching, archives, differences, snapshots, forks.

mod archives;
mod hostile;
mod search;
mod snapshots;
mod sparse;
mod watch;
mod workspace;

use anyhow::{Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::http::Response;
use serde_json::{Value, json};

/// A server with a session.
async fn new() -> Result<Fixture> {
    with(&json!({})).await
}

/// A server with a session that is created with this request.
async fn with(session: &Value) -> Result<Fixture> {
    // On a busy machine 10 s, the default, may pass between two parts of a body: only the tests decide when one stops.
    Fixture::with("[server]\nheader_timeout = \"10m\"\n", session).await
}

/// How many files and folders are in the staging folder.
fn staged(fixture: &Fixture) -> usize {
    std::fs::read_dir(fixture.folder().join("staging")).map_or(0, Iterator::count)
}

async fn upload(fixture: &Fixture, query: &str, archive: &[u8]) -> Result<Response> {
    fixture.request("PUT", &fixture.path(&format!("files/archive?{query}")), &[], archive).await
}

async fn download(fixture: &Fixture, query: &str) -> Result<Vec<u8>> {
    let response = fixture.get(&fixture.path(&format!("files/archive?{query}"))).await?;
    ensure!(response.status == 200, "{} {}", response.status, response.text());
    Ok(response.body)
}
