//! What `headwater` must survive: kill -9 of the engine behind it, while it prints, types and follows.

use std::io::Write;
use std::thread;

use anyhow::Result;

use crate::command::{Engine, objects, start};

/// An engine that can be killed.
pub(crate) trait Killable: Engine {
    /// kill -9. Returns when it is gone.
    async fn kill(&mut self) -> Result<()>;

    /// Starts it again, unless `headwater` does.
    async fn start_again(&mut self) -> Result<()>;

    /// kill -9, and a new one.
    async fn restart(&mut self) -> Result<()> {
        self.kill().await?;
        self.start_again().await
    }
}

/// Prints lines on both streams over three kills.
pub(crate) async fn every_line_arrives_once(engine: &mut impl Killable) -> Result<()> {
    let line = "i=0; while [ $i -lt 400 ]; do echo line $i; echo error $i >&2; i=$((i + 1)); sleep 0.004; done; exit 9";
    let mut running = start(engine, &["run", "--shell", line])?;
    for seen in ["line 20\n", "line 150\n", "line 300\n"] {
        running.stdout.until_printed(seen)?;
        engine.restart().await?;
    }
    let done = running.finish()?;
    let lines = |word: &str| (0..400).map(|i| format!("{word} {i}\n")).collect::<String>();
    assert_eq!(done.text(), lines("line"));
    assert_eq!(done.errors(), lines("error"));
    assert_eq!(done.code, Some(9));
    Ok(())
}

/// Pipes input through `cat` over three kills.
pub(crate) async fn every_byte_of_the_input_arrives_once(engine: &mut impl Killable) -> Result<()> {
    let sent: Vec<u8> = (0..400_000).map(|n| format!("{n:09}\n")).collect::<String>().into_bytes();
    let mut running = start(engine, &["run", "--", "cat"])?;
    let mut input = running.take_stdin()?;
    // A part follows after each kill, so that the program cannot end before the last one.
    let (next, parts) = std::sync::mpsc::channel::<Vec<u8>>();
    let writer = thread::spawn(move || parts.iter().try_for_each(|part| input.write_all(&part)));
    let mut rest = sent.chunks(1_000_000).map(<[u8]>::to_vec);
    let mut expected = 0;
    for part in rest.by_ref().take(3) {
        expected += part.len();
        next.send(part)?;
        running.stdout.until(|bytes| bytes.len() >= expected - 500_000)?;
        engine.restart().await?;
    }
    rest.try_for_each(|part| next.send(part))?;
    drop(next);
    let done = running.finish()?;
    writer.join().expect("the writer does not panic")?;
    assert_eq!((done.code, done.errors().as_str()), (Some(0), ""));
    assert!(done.stdout == sent, "{} bytes of {} came back, or others", done.stdout.len(), sent.len());
    Ok(())
}

/// Types into a program and follows it over two kills.
pub(crate) async fn a_dialogue_goes_on(engine: &mut impl Killable) -> Result<()> {
    let line = "echo ready; while read word; do echo you said $word; done; exit 6";
    let mut running = start(engine, &["run", "--shell", line])?;
    running.stdout.until_printed("ready")?;
    let listed = objects(engine, &["ps", "--json"])?;
    let mut following = start(engine, &["logs", "-f", listed[0]["id"].as_str().unwrap_or_default()])?;
    following.stdout.until_printed("ready")?;
    engine.restart().await?;
    running.write(b"one\n")?;
    running.stdout.until_printed("you said one")?;
    engine.kill().await?;
    // Typed while no engine runs.
    running.write(b"two\n")?;
    engine.start_again().await?;
    following.stdout.until_printed("you said two")?;
    let (run, followed) = (running.finish()?, following.finish()?);
    let expected = "ready\nyou said one\nyou said two\n";
    assert_eq!((run.code, run.text().as_str()), (Some(6), expected));
    assert_eq!((followed.code, followed.text().as_str()), (Some(0), expected));
    Ok(())
}
