//! kill -9 of the worker while `headwater` watches: it is brought back, and nothing is missing.

use std::io::Write;
use std::thread;

use anyhow::Result;
use headwater_tests::TestWorker;
use headwater_tests::host::{self, eventually};
use rustix::process::Signal;

use crate::command::start;
use crate::starting::workers;
use crate::worker;

/// kill -9 of whatever worker the folder has now, be it ours or one that `headwater` started.
async fn kill_the_worker(worker: &mut TestWorker) -> Result<()> {
    let own = i32::try_from(worker.pid())?;
    let data = worker.data().to_owned();
    eventually("a worker", async || !workers(&data).is_empty()).await?;
    for pid in workers(&data) {
        if pid == own {
            worker.kill();
        } else {
            host::signal(pid, Signal::KILL)?;
            eventually("it is dead", async || !host::is_alive(pid)).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_line_is_missing_or_twice_and_the_exit_code_is_right() -> Result<()> {
    let mut worker = worker().await?;
    let line = "i=0; while [ $i -lt 400 ]; do echo line $i; echo error $i >&2; i=$((i + 1)); sleep 0.004; done; exit 9";
    let mut running = start(&worker, &["run", "--shell", line])?;
    for seen in ["line 20\n", "line 150\n", "line 300\n"] {
        running.stdout.until_printed(seen)?;
        kill_the_worker(&mut worker).await?;
    }
    let done = running.finish()?;
    let lines = |word: &str| (0..400).map(|i| format!("{word} {i}\n")).collect::<String>();
    assert_eq!(done.text(), lines("line"));
    assert_eq!(done.errors(), lines("error"));
    assert_eq!(done.code, Some(9));
    Ok(())
}

#[tokio::test]
async fn no_byte_of_the_input_is_missing_or_twice() -> Result<()> {
    let mut worker = worker().await?;
    let sent: Vec<u8> = (0..400_000).map(|n| format!("{n:09}\n")).collect::<String>().into_bytes();
    let mut running = start(&worker, &["run", "--", "cat"])?;
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
        kill_the_worker(&mut worker).await?;
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
    let mut worker = worker().await?;
    let line = "echo ready; while read word; do echo you said $word; done; exit 6";
    let mut running = start(&worker, &["run", "--shell", line])?;
    running.stdout.until_printed("ready")?;
    let listed = crate::command::objects(&worker, &["ps", "--json"])?;
    let mut following = start(&worker, &["logs", "-f", listed[0]["id"].as_str().unwrap_or_default()])?;
    following.stdout.until_printed("ready")?;
    kill_the_worker(&mut worker).await?;
    running.write(b"one\n")?;
    running.stdout.until_printed("you said one")?;
    kill_the_worker(&mut worker).await?;
    running.write(b"two\n")?;
    following.stdout.until_printed("you said two")?;
    let (run, followed) = (running.finish()?, following.finish()?);
    let expected = "ready\nyou said one\nyou said two\n";
    assert_eq!((run.code, run.text().as_str()), (Some(6), expected));
    assert_eq!((followed.code, followed.text().as_str()), (Some(0), expected));
    Ok(())
}

#[tokio::test]
async fn ctrl_c_works_while_no_worker_runs() -> Result<()> {
    let mut worker = worker().await?;
    let mut running = start(&worker, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
    running.stdout.until_printed("ready")?;
    kill_the_worker(&mut worker).await?;
    running.signal(Signal::INT)?;
    let done = running.finish()?;
    assert_eq!(done.code, Some(130));
    assert!(done.errors().contains("cancelled"), "{}", done.errors());
    Ok(())
}
