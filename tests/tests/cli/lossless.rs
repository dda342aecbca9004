//! A foreground `run` shows every byte, however slow its reader; where output is missing, the exit code says so.

use std::io::Read;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;

use crate::command::{Engine, headwater, objects, run, wait};
use crate::worker;

/// About 31 MB, more than the log and all buffers on the way hold.
const LINES: u64 = 4_000_000;

pub(crate) fn numbers() -> Vec<u8> {
    (1..=LINES).map(|i| format!("{i}\n")).collect::<String>().into_bytes()
}

/// Runs a program that prints much more than its log keeps, and reads nothing until the program is held.
pub(crate) async fn held(engine: &impl Engine) -> Result<Child> {
    let line = format!("seq {LINES}; exit 7");
    let mut command = headwater(engine, &["run", "--output-limit", "64Ki", "--shell", &line]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    eventually("the program is held", async || {
        let listed = objects(engine, &["ps", "--all", "--json"]).unwrap_or_default();
        listed.first().is_some_and(|one| one["stdout_bytes"].as_u64() > Some(1 << 20))
    })
    .await?;
    Ok(child)
}

/// Reads everything; the bytes, what was said, and the exit code.
pub(crate) fn finish(mut child: Child) -> Result<(Vec<u8>, String, Option<i32>)> {
    let (mut bytes, mut said) = (Vec::new(), String::new());
    child.stdout.take().context("no output")?.read_to_end(&mut bytes)?;
    child.stderr.take().context("no errors")?.read_to_string(&mut said)?;
    Ok((bytes, said, wait(&mut child)?.code()))
}

#[tokio::test]
async fn a_run_whose_reader_is_slow_shows_every_byte_and_later_readers_get_a_gap() -> Result<()> {
    let worker = worker().await?;
    let child = held(&worker).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let listed = objects(&worker, &["ps", "--all", "--json"])?;
    ensure!(listed[0]["stdout_bytes"].as_u64() < Some(numbers().len() as u64), "the program waits");
    let (bytes, said, code) = finish(child)?;
    ensure!(bytes == numbers(), "{} bytes came: {said}", bytes.len());
    ensure!(code == Some(7) && said.is_empty(), "{code:?}: {said}");
    // The log has kept only a part of it.
    let id = listed[0]["id"].as_str().context("no id")?;
    for words in [&["logs", id][..], &["logs", "--json", id]] {
        let logs = run(&worker, words)?;
        ensure!(logs.code == Some(123), "{:?}: {}", logs.code, logs.errors());
        ensure!(logs.errors().contains("bytes of the output are missing"), "{}", logs.errors());
    }
    let shown = run(&worker, &["logs", id])?;
    let missing = numbers().len() - shown.stdout.len();
    ensure!(shown.errors().contains(&format!("{missing} bytes")), "{missing}: {}", shown.errors());
    let tail = run(&worker, &["logs", "--tail", "1000", id])?;
    ensure!(tail.code == Some(0), "a tail is what was asked for: {}", tail.errors());
    let beyond = run(&worker, &["logs", "--after", "99999999", id])?;
    ensure!(beyond.code == Some(2) && beyond.errors().contains("last event"), "{}", beyond.errors());
    Ok(())
}
