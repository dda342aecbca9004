//! kill -9 of the server while `headwater` watches: when it is back, nothing is missing and nothing comes twice.

use anyhow::Result;
use headwater_tests::TestServer;
use rustix::process::Signal;

use crate::command::{objects, start};
use crate::surviving::{self, Killable};
use crate::worker;

impl Killable for TestServer {
    async fn kill(&mut self) -> Result<()> {
        self.kill();
        Ok(())
    }

    async fn start_again(&mut self) -> Result<()> {
        self.start_again().await
    }
}

#[tokio::test]
async fn no_line_is_missing_or_twice_and_the_exit_code_is_right() -> Result<()> {
    let mut server = worker().await?;
    surviving::every_line_arrives_once(&mut server).await?;
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
    surviving::every_byte_of_the_input_arrives_once(&mut worker().await?).await
}

#[tokio::test]
async fn typing_and_following_go_on() -> Result<()> {
    surviving::a_dialogue_goes_on(&mut worker().await?).await
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
    // The reader's place is kept for longer than a busy machine needs to start the next server and to come back.
    let mut server = TestServer::configured("lossless_grace = \"5m\"\n").await?;
    let child = crate::lossless::held(&server).await?;
    server.restart().await?;
    server.kill_worker().await?;
    let (bytes, said, code) = tokio::task::spawn_blocking(|| crate::lossless::finish(child)).await??;
    assert!(bytes == crate::lossless::numbers(), "{} bytes came: {said}", bytes.len());
    assert_eq!(code, Some(7), "{said}");
    Ok(())
}
