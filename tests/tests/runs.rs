//! Running things: what is printed is what is followed, and every end has its reason.

use anyhow::Result;
use headwater_protocol::{Reason, StartSpec};
use headwater_tests::TestWorker;

#[tokio::test]
async fn a_quick_command_prints_and_exits() -> Result<()> {
    let worker = TestWorker::start().await?;
    let seen = worker.run(&StartSpec::shell("echo Hello")).await?;
    assert_eq!(seen.text(), "Hello\n");
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Exited, Some(0)));
    assert!(seen.closed);
    Ok(())
}
