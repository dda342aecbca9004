//! Unused terminals end.

use anyhow::Result;
use headwater_contract::v1;
use headwater_protocol::{Reason, StartSpec, TtySize};
use headwater_tests::host::PATIENCE;
use headwater_tests::host::eventually;
use headwater_tests::{Options, ServerOptions, TestServer, TestWorker};
use serde_json::json;

use crate::screen::named;
use crate::viewer::{Viewer, terminals};

#[tokio::test]
async fn a_terminal_that_nobody_watches_and_nobody_types_into_ends_and_no_other() -> Result<()> {
    let config = Some("[terminals]\nidle_timeout = \"10s\"\n".into());
    let worker = TestWorker::with(Options { pool: Some(1), config, ..Options::default() }).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let start = async |spec: StartSpec| worker.begin_in(session, &spec).await;
    let watched = start(named(StartSpec::shell("sleep 1000"), "watched")).await?;
    let request = v1::FollowMarksRequest { execution_id: watched.to_string(), ..Default::default() };
    let viewer = client.terminals().follow_marks(request).await?;
    let idle = start(named(StartSpec::shell("sleep 1000"), "idle")).await?;
    let mut plain = StartSpec::shell("sleep 1000");
    plain.tty = Some(TtySize::default());
    let plain = start(plain).await?;
    let ended = client.wait(idle, PATIENCE, true).await?;
    assert_eq!(ended.state.verdict().map(|verdict| verdict.reason), Some(Reason::Cancelled));
    for other in [watched, plain] {
        assert!(client.execution(other).await?.state.verdict().is_none());
    }
    drop(viewer);
    let ended = client.wait(watched, PATIENCE, true).await?;
    assert!(ended.state.verdict().is_some(), "nobody watches it any more");
    assert!(client.execution(plain).await?.state.verdict().is_none(), "it is no terminal");
    Ok(())
}

#[tokio::test]
async fn to_list_the_terminals_keeps_none_of_them_alive() -> Result<()> {
    let config = Some("[terminals]\nidle_timeout = \"2s\"\n".into());
    let server = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    for name in ["watched", "idle"] {
        api.post_ok(&format!("/v1/sessions/{session}/terminals"), &json!({"name": name})).await?;
    }
    let mut viewer = Viewer::open(&api, &session, "name=watched").await?;
    viewer.hears("prompt").await?;
    // Far more often than the timeout.
    eventually("the terminal that is only listed has ended", async || {
        let listed = terminals(&api, &session).await.unwrap_or_default();
        listed.iter().any(|one| one["name"] == "idle" && one["running"] == false)
    })
    .await?;
    viewer.command("echo still-$((1 + 1))").await?;
    viewer.shows("still-2").await
}
