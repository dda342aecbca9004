//! Children that outlive their program: kept and visible, or ended with it.

use anyhow::Result;
use headwater_contract::FollowOptions;
use headwater_protocol::{Children, ExecutionState, StartSpec};
use headwater_tests::collect;
use headwater_tests::host::{Marker, eventually};

use crate::worker;

#[tokio::test]
async fn a_kept_child_is_listed_and_delays_closed_but_not_exited() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let spec =
        marker.on(StartSpec::shell("(while ! test -e go; do sleep 0.02; done; echo late) & echo early"));
    let session = worker.session().await?;
    let id = worker.begin_in(session, &spec).await?;
    let client = worker.client().await?;
    let seen = collect(client.follow(id, FollowOptions::default()).await?).await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("early\n", Some(0)));
    // The verdict is known, and the child still runs.
    assert!(matches!(client.execution(id).await?.state, ExecutionState::Exited { .. }));
    assert!(!client.processes(id).await?.is_empty());
    assert!(!marker.processes().is_empty());
    std::fs::write(worker.workspace(session).join("go"), "")?;
    let seen = worker.read(id).await?;
    assert_eq!(seen.text(), "early\nlate\n");
    assert_eq!(seen.verdict().stdout_bytes, 6, "what was printed when the program ended");
    marker.count_becomes(0).await
}

#[tokio::test]
async fn a_kept_child_without_the_pipes_is_listed_after_closed_and_ends_with_the_session() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let session = worker.session().await?;
    let spec = marker.on(StartSpec::shell("setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started"));
    let seen = worker.run_in(session, &spec).await?;
    assert!(seen.closed);
    marker.count_becomes(1).await?;
    let client = worker.client().await?;
    let id = client.executions(Some(session), false).await?[0].id;
    eventually("`sleep` alone in the list", async || {
        let processes = client.processes(id).await.unwrap_or_default();
        processes.iter().map(|process| process.name.as_str()).eq(["sleep"])
    })
    .await?;
    client.end_session(session, false).await?;
    marker.count_becomes(0).await
}

#[tokio::test]
async fn children_that_are_not_kept_end_with_the_program() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let line = "(trap '' TERM HUP; exec setsid sleep 1000) & sleep 1000 & echo started";
    let mut spec = marker.on(StartSpec::shell(line));
    spec.children = Children::Kill;
    let seen = worker.run(&spec).await?;
    assert_eq!((seen.text().as_str(), seen.closed), ("started\n", true));
    marker.count_becomes(0).await
}

#[tokio::test]
async fn an_exited_execution_whose_children_run_on_can_be_cancelled() -> Result<()> {
    let worker = worker().await?;
    let marker = Marker::new();
    let id = worker.begin(&marker.on(StartSpec::shell("sleep 1000 & exit 0"))).await?;
    let client = worker.client().await?;
    collect(client.follow(id, FollowOptions::default()).await?).await?;
    marker.count_becomes(1).await?;
    client.cancel(id, None).await?;
    let seen = worker.read(id).await?;
    assert_eq!((seen.verdict().code, seen.closed), (Some(0), true));
    marker.count_becomes(0).await
}
