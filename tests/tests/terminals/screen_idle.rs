//! Unused terminals end.

use anyhow::Result;
use headwater_protocol::{Reason, StartSpec, TtySize};
use headwater_tests::host::PATIENCE;
use headwater_tests::{Options, TestWorker};

use crate::screen::named;

#[tokio::test]
async fn a_terminal_that_nobody_watches_and_nobody_types_into_ends_and_no_other() -> Result<()> {
    let config = Some("[terminals]\nidle_timeout = \"10s\"\n".into());
    let worker = TestWorker::with(Options { pool: Some(1), config, ..Options::default() }).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let start = async |spec: StartSpec| worker.begin_in(session, &spec).await;
    let watched = start(named(StartSpec::shell("sleep 1000"), "watched")).await?;
    let request =
        headwater_contract::v1::FollowMarksRequest { execution_id: watched.to_string(), after_seq: 0 };
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
