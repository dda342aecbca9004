//! Ctrl+C: once cancels, twice kills.

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::Value;

use crate::command::{Engine, Running, headwater, objects, start};
use crate::worker;

/// Says when SIGTERM came, and stays.
const STUBBORN: &str = "trap 'echo asked to end' TERM; echo ready; while :; do sleep 0.02; done";

fn exit(worker: &impl Engine) -> Result<Value> {
    let all = objects(worker, &["ps", "--all", "--json"])?;
    anyhow::ensure!(all.len() == 1, "{all:?}");
    Ok(all[0]["exit"].clone())
}

#[tokio::test]
async fn the_first_ctrl_c_asks_the_program_to_end() -> Result<()> {
    let worker = worker().await?;
    let mut running = start(&worker, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
    running.stdout.until_printed("ready")?;
    running.signal(Signal::INT)?;
    let done = running.finish()?;
    assert_eq!(done.code, Some(130));
    assert!(done.errors().contains("headwater: cancelled"), "{}", done.errors());
    let exit = exit(&worker)?;
    assert_eq!((&exit["reason"], &exit["signal"]), (&"cancelled".into(), &15.into()));
    Ok(())
}

#[tokio::test]
async fn a_program_may_use_its_grace_to_end_in_its_own_way() -> Result<()> {
    let worker = worker().await?;
    let program = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    // Longer than a busy machine needs to let it act.
    let mut running = start(&worker, &["run", "--grace", "1h", "--", "sh", "-c", program])?;
    running.stdout.until_printed("ready")?;
    running.signal(Signal::TERM)?;
    let done = running.finish()?;
    assert_eq!((done.code, done.text().as_str()), (Some(130), "ready\ntidy\n"));
    Ok(())
}

#[tokio::test]
async fn the_second_ctrl_c_kills_at_once() -> Result<()> {
    let worker = worker().await?;
    // With such a grace only a second Ctrl+C can end it within the patience of this test.
    let words = ["run", "--grace", "1h", "--", "sh", "-c", STUBBORN];
    let mut running = Running::start(headwater(&worker, &words))?;
    running.stdout.until_printed("ready")?;
    running.signal(Signal::INT)?;
    running.stdout.until_printed("asked to end")?;
    running.signal(Signal::INT)?;
    assert_eq!(running.finish()?.code, Some(130));
    let exit = exit(&worker)?;
    assert_eq!((&exit["reason"], &exit["signal"]), (&"cancelled".into(), &9.into()));
    Ok(())
}

#[tokio::test]
async fn ctrl_c_leaves_what_is_only_watched() -> Result<()> {
    let worker = worker().await?;
    let mut running = start(&worker, &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"])?;
    running.stdout.until_printed("ready")?;
    let listed = objects(&worker, &["ps", "--json"])?;
    let id = listed[0]["id"].as_str().context("no id")?;
    for words in [&["attach", "--no-stdin"][..], &["logs", "-f"]] {
        let mut watching = start(&worker, &[words, &[id]].concat())?;
        watching.stdout.until_printed("ready")?;
        watching.signal(Signal::INT)?;
        watching.finish()?;
        assert_eq!(objects(&worker, &["ps", "--json"])?[0]["state"], "running", "{words:?}");
    }
    Ok(())
}
