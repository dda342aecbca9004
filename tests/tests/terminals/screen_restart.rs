//! A worker that is killed with -9: what its emulators show is what they would have shown.

use anyhow::Result;
use headwater_protocol::StartSpec;

use crate::screen::{Terminal, agrees_with_its_log, lines, snapshot, worker};

#[tokio::test]
async fn after_a_kill_the_screen_is_that_of_an_uninterrupted_one() -> Result<()> {
    let mut worker = worker().await?;
    let line = "printf '\\033[?1049h\\033[2;5r\\033[1;33m'; i=0; while :; do i=$((i+1)); \
                printf '\\033[%d;%dHn%d\\n' $((i % 24 + 1)) $((i * 7 % 70 + 1)) $i; sleep 0.01; done";
    let mut terminal = Terminal::start(&worker, StartSpec::code("bash", line)).await?;
    for round in 1..=3 {
        let client = worker.client().await?;
        // Seen in the log: on the screen it may be overwritten before a snapshot shows it.
        terminal.watcher.until_printed(&format!("n{}\r\n", 40 * round)).await?;
        snapshot(&client, terminal.id).await?;
        worker.kill();
        worker.start_again().await?;
    }
    let client = worker.client().await?;
    client.signal(terminal.id, 19, true).await?; // it stands still to be looked at
    agrees_with_its_log(&client, terminal.id).await?;
    client.cancel(terminal.id, None).await?;
    worker.read(terminal.id).await?;
    // And once it is over, from what is kept alone.
    agrees_with_its_log(&client, terminal.id).await?;
    Ok(())
}

#[tokio::test]
async fn a_long_log_is_not_read_from_its_beginning_and_may_have_lost_it() -> Result<()> {
    let mut worker = worker().await?;
    // A title and colours from the beginning, which is trimmed away, and 5 MB of lines after them.
    let line = "printf '\\033]2;kept\\007\\033[32m'; seq 700000; printf 'end of it'; sleep 1000";
    let mut spec = StartSpec::shell(line);
    spec.limits.output_bytes = Some(256 << 10);
    let terminal = Terminal::start(&worker, spec).await?;
    let client = worker.client().await?;
    terminal.shows(&client, "end of it").await?;
    let before = snapshot(&client, terminal.id).await?;
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    terminal.shows(&client, "end of it").await?;
    let after = snapshot(&client, terminal.id).await?;
    assert_eq!((after.seq, &after.title), (before.seq, &before.title));
    assert_eq!(after.title, "kept");
    assert_eq!(lines(&after), lines(&before));
    assert!(after.data == before.data, "to the last colour");
    Ok(())
}

#[tokio::test]
async fn following_goes_on_after_a_snapshot_without_a_byte_twice_or_missing() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let terminal = Terminal::start(
        &worker,
        StartSpec::code("bash", "for i in $(seq 3000); do echo $i; done; exec sleep 1000"),
    )
    .await?;
    for _ in 0..20 {
        let info = snapshot(&client, terminal.id).await?;
        let mut viewer = crate::screen::drawn(&info);
        viewer.feed(&crate::screen::printed_after(&client, terminal.id, info.seq).await?);
        let lines = viewer.lines();
        let numbers: Vec<u64> = lines.iter().filter_map(|line| line.parse().ok()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{lines:?}");
    }
    Ok(())
}
