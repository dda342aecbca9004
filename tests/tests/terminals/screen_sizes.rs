//! Sizes: listed in their order, and applied at the right position.

use anyhow::Result;
use headwater_protocol::{StartSpec, TtySize};

use crate::screen::{Terminal, agrees_with_its_log, sizes, snapshot, worker};

/// Not by a trap: bash loses a signal that comes while the trap for an earlier one is running.
const DRAWS: &str = "last=$(stty size); seq -s + 60; echo ready; while :; do now=$(stty size); \
                     if [ \"$now\" != \"$last\" ]; then last=$now; printf '\\033[2J\\033[Hnow %s ' \"$now\"; \
                     seq -s - 40; fi; sleep 0.02; done";

#[tokio::test]
async fn sizes_are_listed_and_the_screen_has_the_last_one() -> Result<()> {
    let mut worker = worker().await?;
    let mut client = worker.client().await?;
    let terminal = Terminal::start(&worker, StartSpec::code("bash", DRAWS)).await?;
    terminal.shows(&client, "ready").await?;
    client.resize(terminal.id, TtySize { rows: 10, cols: 40 }).await?;
    terminal.shows(&client, "now 10 40").await?;
    client.resize(terminal.id, TtySize { rows: 30, cols: 100 }).await?;
    terminal.shows(&client, "now 30 100").await?;
    agrees_with_its_log(&client, terminal.id).await?;
    for _ in 0..2 {
        let info = snapshot(&client, terminal.id).await?;
        assert_eq!((info.rows, info.cols), (30, 100));
        let all: Vec<_> =
            sizes(&client, terminal.id).await?.iter().map(|size| (size.rows, size.cols)).collect();
        assert_eq!(all, [(24, 80), (10, 40), (30, 100)]);
        agrees_with_its_log(&client, terminal.id).await?;
        worker.kill();
        worker.start_again().await?;
        client = worker.client().await?;
    }
    Ok(())
}

#[tokio::test]
async fn any_execution_on_a_terminal_has_sizes_and_a_screen_even_after_its_end() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let mut spec = StartSpec::shell("read x; printf 'one\\r\\n\\033[31mtwo'");
    spec.tty = Some(TtySize { rows: 5, cols: 20 });
    let id = worker.begin(&spec).await?;
    client.resize(id, TtySize { rows: 6, cols: 30 }).await?;
    client.stdin(id).await?.write("\n".into()).await?;
    worker.read(id).await?;
    let all: Vec<_> = sizes(&client, id).await?.iter().map(|size| (size.rows, size.cols)).collect();
    assert_eq!(all, [(5, 20), (6, 30)]);
    let lines = agrees_with_its_log(&client, id).await?;
    assert_eq!(&lines[1..3], ["one", "two"]);
    assert_eq!(lines.len(), 6);
    Ok(())
}

#[tokio::test]
async fn an_execution_without_a_terminal_has_no_screen() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&StartSpec::shell("sleep 100")).await?;
    let request = headwater_contract::v1::ListSizesRequest { execution_id: id.to_string() };
    let refused = worker.client().await?.terminals().list_sizes(request).await.unwrap_err();
    assert!(refused.message().contains("has no terminal"), "{refused}");
    Ok(())
}
