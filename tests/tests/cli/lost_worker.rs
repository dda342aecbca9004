//! kill -9 of the worker while `headwater` watches: it is brought back, and nothing is missing.

use anyhow::Result;
use headwater_tests::TestWorker;
use headwater_tests::host::{self, eventually};
use rustix::process::Signal;

use crate::command::start;
use crate::starting::workers;
use crate::surviving::{self, Killable};
use crate::worker;

impl Killable for TestWorker {
    /// Of any worker of the folder, ours or one that `headwater` has started.
    async fn kill(&mut self) -> Result<()> {
        let (own, data) = (i32::try_from(self.pid())?, self.data().to_owned());
        eventually("a worker runs", async || !workers(&data).is_empty()).await?;
        for pid in workers(&data) {
            if pid == own {
                self.kill();
            } else if let Err(error) = host::kill(pid).await {
                // One that came second may have ended by itself.
                anyhow::ensure!(!host::is_alive(pid), "{error}");
            }
        }
        Ok(())
    }

    async fn start_again(&mut self) -> Result<()> {
        Ok(()) // `headwater` does
    }
}

#[tokio::test]
async fn no_line_is_missing_or_twice_and_the_exit_code_is_right() -> Result<()> {
    surviving::every_line_arrives_once(&mut worker().await?).await
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
async fn ctrl_c_works_while_no_worker_runs() -> Result<()> {
    let mut worker = worker().await?;
    let mut running = start(&worker, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
    running.stdout.until_printed("ready")?;
    Killable::kill(&mut worker).await?;
    running.signal(Signal::INT)?;
    let done = running.finish()?;
    assert_eq!(done.code, Some(130));
    assert!(done.errors().contains("cancelled"), "{}", done.errors());
    Ok(())
}
