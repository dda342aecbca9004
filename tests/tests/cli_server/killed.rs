//! kill -9 of the server while `headwater` watches: when it is back, nothing is missing and nothing is there twice.

use std::io::Write;
use std::thread;

use anyhow::Result;
use headwater_tests::TestServer;
use rustix::process::Signal;

use crate::command::{objects, start};
use crate::worker;

/// kill -9, and a new one on the same port.
async fn kill_and_start_again(server: &mut TestServer) -> Result<()> {
    server.kill();
    server.start_again().await
}

#[tokio::test]
async fn no_line_is_missing_or_twice_and_the_exit_code_is_right() -> Result<()> {
    let mut server = worker().await?;
    let line = "i=0; while [ $i -lt 400 ]; do echo line $i; echo error $i >&2; i=$((i + 1)); sleep 0.004; done; exit 9";
    let mut running = start(&server, &["run", "--shell", line])?;
    for seen in ["line 20\n", "line 150\n", "line 300\n"] {
        running.stdout.until_printed(seen)?;
        kill_and_start_again(&mut server).await?;
    }
    let done = running.finish()?;
    let lines = |word: &str| (0..400).map(|i| format!("{word} {i}\n")).collect::<String>();
    assert_eq!(done.text(), lines("line"));
    assert_eq!(done.errors(), lines("error"));
    assert_eq!(done.code, Some(9));
    assert_eq!(objects(&server, &["ps", "--all", "--json"])?.len(), 1, "it was started once");
    Ok(())
}

#[tokio::test]
async fn with_the_worker_killed_too_it_is_the_same() -> Result<()> {
    let mut server = worker().await?;
    let line = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i + 1)); sleep 0.004; done; exit 9";
    let mut running = start(&server, &["run", "--shell", line])?;
    running.stdout.until_printed("line 20\n")?;
    server.kill_worker().await?;
    running.stdout.until_printed("line 150\n")?;
    server.kill();
    server.kill_worker().await?;
    server.start_again().await?;
    let done = running.finish()?;
    let lines = (0..300).map(|i| format!("line {i}\n")).collect::<String>();
    assert_eq!((done.code, done.text(), done.errors().as_str()), (Some(9), lines, ""));
    Ok(())
}

#[tokio::test]
async fn following_goes_on_after_the_server_was_stopped_and_started_again() -> Result<()> {
    let mut server = worker().await?;
    let line = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i + 1)); sleep 0.004; done; exit 4";
    let mut running = start(&server, &["run", "--json", "--shell", line])?;
    running.stdout.until_printed("line 100\\n")?;
    server.terminate()?;
    server.start_again().await?;
    let done = running.finish()?;
    let events = crate::command::lines_of_json(&done.stdout)?;
    let text: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, (0..300).map(|i| format!("line {i}\n")).collect::<String>());
    assert_eq!(done.code, Some(4));
    Ok(())
}

#[tokio::test]
async fn no_byte_of_the_input_is_missing_or_twice() -> Result<()> {
    let mut server = worker().await?;
    let sent: Vec<u8> = (0..400_000).map(|n| format!("{n:09}\n")).collect::<String>().into_bytes();
    let mut running = start(&server, &["run", "--", "cat"])?;
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
        kill_and_start_again(&mut server).await?;
    }
    rest.try_for_each(|part| next.send(part))?;
    drop(next);
    let done = running.finish()?;
    writer.join().expect("the writer does not panic")?;
    assert_eq!((done.code, done.errors().as_str()), (Some(0), ""));
    assert!(done.stdout == sent, "{} bytes of {} came back, or others", done.stdout.len(), sent.len());
    Ok(())
}

#[tokio::test]
async fn typing_and_following_go_on() -> Result<()> {
    let mut server = worker().await?;
    let line = "echo ready; while read word; do echo you said $word; done; exit 6";
    let mut running = start(&server, &["run", "--shell", line])?;
    running.stdout.until_printed("ready")?;
    let listed = objects(&server, &["ps", "--json"])?;
    let mut following = start(&server, &["logs", "-f", listed[0]["id"].as_str().unwrap_or_default()])?;
    following.stdout.until_printed("ready")?;
    kill_and_start_again(&mut server).await?;
    running.write(b"one\n")?;
    running.stdout.until_printed("you said one")?;
    server.kill();
    // Typed while nobody is there.
    running.write(b"two\n")?;
    server.start_again().await?;
    following.stdout.until_printed("you said two")?;
    let (run, followed) = (running.finish()?, following.finish()?);
    let expected = "ready\nyou said one\nyou said two\n";
    assert_eq!((run.code, run.text().as_str()), (Some(6), expected));
    assert_eq!((followed.code, followed.text().as_str()), (Some(0), expected));
    Ok(())
}

#[tokio::test]
async fn ctrl_c_works_while_no_server_runs() -> Result<()> {
    let mut server = worker().await?;
    let mut running = start(&server, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
    running.stdout.until_printed("ready")?;
    server.kill();
    running.signal(Signal::INT)?;
    server.start_again().await?;
    let done = running.finish()?;
    assert_eq!(done.code, Some(130));
    assert!(done.errors().contains("cancelled"), "{}", done.errors());
    Ok(())
}

#[tokio::test]
async fn a_program_that_waits_for_its_reader_loses_nothing_when_server_and_worker_are_killed() -> Result<()> {
    let mut server = worker().await?;
    let child = crate::lossless::held(&server).await?;
    kill_and_start_again(&mut server).await?;
    server.kill_worker().await?;
    let (bytes, said, code) = tokio::task::spawn_blocking(|| crate::lossless::finish(child)).await??;
    assert!(bytes == crate::lossless::numbers(), "{} bytes came: {said}", bytes.len());
    assert_eq!(code, Some(7), "{said}");
    Ok(())
}
