//! Questions that programs ask their terminal: answered by the worker, once.

use anyhow::Result;
use headwater_protocol::StartSpec;

use crate::screen::{Terminal, snapshot, worker};

/// Asks where the cursor is, reads what comes within a second, and says what it was; again for each line.
const ASK: &str = r#"
import os, select, sys, termios, tty
tty.setraw(0)
def ask():
    os.write(1, b"\r\nab\x1b[6n")
    answer = b""
    while select.select([0], [], [], 20 if not answer else 1)[0]:
        answer += os.read(0, 100)
    os.write(1, b" answer %r." % answer)
ask()
while True:
    if os.read(0, 1) == b"!":
        ask()
"#;

#[tokio::test]
async fn a_query_is_answered_once_with_and_without_viewers() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let mut asker = Terminal::start(&worker, StartSpec::code("python", ASK)).await?;
    asker.watcher.until_printed("answer b'\\x1b[2;3R'.").await?;
    let _viewers = (worker.watch(asker.id).await?, worker.watch(asker.id).await?);
    snapshot(&client, asker.id).await?;
    asker.types("!").await?;
    asker.watcher.until_printed("answer b'\\x1b[3;3R'.").await?;
    Ok(())
}

#[tokio::test]
async fn a_query_answered_before_a_kill_of_the_worker_is_not_answered_again() -> Result<()> {
    let mut worker = worker().await?;
    let mut asker = Terminal::start(&worker, StartSpec::code("python", ASK)).await?;
    asker.watcher.until_printed("answer b'\\x1b[2;3R'.").await?;
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    asker.shows(&client, "answer").await?;
    // A second answer to the first question would be read as one to the second.
    let mut watcher = worker.watch(asker.id).await?;
    let mut keys = client.stdin(asker.id).await?;
    keys.write("!".into()).await?;
    watcher.until_printed("answer b'\\x1b[3;3R'.").await?;
    Ok(())
}

#[tokio::test]
async fn a_program_that_never_reads_its_answers_is_still_shown() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let line = "stty raw -echo; for i in $(seq 3000); do printf '\\033[6n\\033[c'; done; printf '\\r\\nstill here'; sleep 1000";
    let deaf = Terminal::start(&worker, StartSpec::code("bash", line)).await?;
    deaf.shows(&client, "still here").await
}
