//! Lossless readers: the program waits for them as for the reader of a pipe. Nothing that ends a program is held up.

use anyhow::{Context, Result, ensure};
use headwater_contract::{Client, ContractError, FaultKind, FollowOptions, Follower};
use headwater_protocol::{EventKind, ExecutionId, Limits, Reason, Seq, SessionId, StartSpec, Stream};
use headwater_tests::host::{PATIENCE, eventually};
use headwater_tests::{Options, TestWorker, collect, collect_until_closed};

/// The numbers up to this, each on a line: about 7 MB. More than the log and all buffers on the way hold.
const LINES: u64 = 1_000_000;
const OUTPUT_BYTES: u64 = 64 << 10;
/// A log with a small limit keeps about this much for a lossless reader before the program waits.
const HELD_BYTES: u64 = 1 << 20;

fn numbers() -> Vec<u8> {
    (1..=LINES).map(|i| format!("{i}\n")).collect::<String>().into_bytes()
}

fn program() -> StartSpec {
    let limits = Limits { output_bytes: Some(OUTPUT_BYTES), ..Limits::default() };
    StartSpec { limits, ..StartSpec::shell(format!("seq {LINES}")) }
}

async fn worker(config: &str) -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(1), config: Some(config.to_owned()), ..Options::default() }).await
}

fn lossless() -> FollowOptions {
    FollowOptions { lossless: true, ..collect_until_closed() }
}

/// Starts the program with a lossless reader that has read nothing yet, and waits until the program is held.
async fn held(client: &Client, session: SessionId) -> Result<(ExecutionId, Follower)> {
    let id = ExecutionId::random();
    let follower = client.run(session, id, &program(), lossless()).await?;
    eventually("the program is held", async || {
        client.execution(id).await.is_ok_and(|info| info.stdout_bytes > HELD_BYTES)
    })
    .await?;
    ensure!(client.execution(id).await?.state.verdict().is_none(), "the program waits");
    Ok((id, follower))
}

/// The bytes that a follower gets, and how many are missing.
async fn read(follower: &mut Follower) -> Result<(Vec<u8>, u64)> {
    let (mut all, mut missing) = (Vec::new(), 0);
    while let Some(event) = follower.next().await? {
        match event.kind {
            EventKind::Output { bytes, .. } => all.extend_from_slice(&bytes),
            EventKind::Gap { from_byte, to_byte, .. } => missing += to_byte - from_byte,
            _ => {}
        }
    }
    Ok((all, missing))
}

#[tokio::test]
async fn a_slow_lossless_reader_gets_every_byte_and_another_one_meets_a_gap() -> Result<()> {
    let worker = worker("").await?;
    let client = worker.client().await?;
    let (id, mut follower) = held(&client, worker.session().await?).await?;
    let (bytes, missing) = read(&mut follower).await?;
    ensure!(missing == 0 && bytes == numbers(), "{missing} bytes are missing, {} came", bytes.len());
    // The same log for a later reader, and the same program without a lossless reader.
    let other = worker.run(&program()).await?;
    let kept = collect(client.follow(id, collect_until_closed()).await?).await?;
    for seen in [other, kept] {
        ensure!(!seen.gaps.is_empty(), "the limit holds for others");
    }
    Ok(())
}

#[tokio::test]
async fn every_way_to_end_a_program_ends_a_held_one_and_its_last_bytes_are_logged() -> Result<()> {
    let worker = worker("").await?;
    let client = worker.client().await?;
    for ending in ["cancel", "end", "hibernate", "timeout"] {
        let session = worker.session().await?;
        let (id, mut follower) = if ending == "timeout" {
            let id = ExecutionId::random();
            let spec = StartSpec { timeout_ms: Some(1500), ..program() };
            (id, client.run(session, id, &spec, lossless()).await?)
        } else {
            held(&client, session).await?
        };
        match ending {
            "cancel" => client.cancel(id, None).await?,
            "end" => _ = client.end_session(session, false).await?,
            "hibernate" => _ = client.hibernate_session(session).await?,
            _ => {}
        }
        let info = client.wait(id, PATIENCE, true).await?;
        let verdict = info.state.verdict().with_context(|| format!("{ending}: no verdict"))?;
        let expected = if ending == "timeout" { Reason::TimedOut } else { Reason::Cancelled };
        ensure!(verdict.reason == expected, "{ending}: {verdict:?}");
        // Everything that was printed is in the log, without a gap. A child of the program may
        // print after the program has ended, which its verdict does not count.
        let (bytes, missing) = read(&mut follower).await?;
        let printed = bytes.len() as u64;
        ensure!(missing == 0 && printed >= verdict.stdout_bytes, "{ending}: {printed} of {verdict:?}");
        ensure!(numbers().starts_with(&bytes), "{ending}: other bytes");
    }
    Ok(())
}

#[tokio::test]
async fn a_reader_that_goes_away_lets_go_and_the_log_is_trimmed() -> Result<()> {
    let worker = worker("lossless_grace = \"200ms\"").await?;
    let client = worker.client().await?;
    let (id, follower) = held(&client, worker.session().await?).await?;
    drop(follower);
    let info = client.wait(id, PATIENCE, true).await?;
    ensure!(info.state.verdict().is_some_and(|verdict| verdict.code == Some(0)), "{info:?}");
    let kept = client.kept(headwater_contract::OutputSelector { id, stream: Some(Stream::Stdout) }).await?;
    ensure!(kept.gap.is_some(), "{kept:?}");
    Ok(())
}

#[tokio::test]
async fn a_reader_that_holds_a_program_for_too_long_is_dropped_with_its_own_fault_kind() -> Result<()> {
    let worker = worker("lossless_hold = \"10s\"").await?;
    let client = worker.client().await?;
    let (id, mut follower) = held(&client, worker.session().await?).await?;
    let info = client.wait(id, PATIENCE, true).await?;
    ensure!(info.state.verdict().is_some_and(|verdict| verdict.code == Some(0)), "{info:?}");
    let error = read(&mut follower).await.err().context("it should fail")?;
    let fault = error.downcast_ref::<ContractError>().and_then(ContractError::fault).context("no fault")?;
    ensure!(fault.kind == FaultKind::TooSlow && fault.hint.is_some(), "{fault:?}");
    // What it missed is stated to it when it goes on.
    let after = follower.position();
    let mut rest = client.follow(id, FollowOptions { after, ..collect_until_closed() }).await?;
    ensure!(read(&mut rest).await?.1 > 0, "a gap");
    Ok(())
}

#[tokio::test]
async fn a_reader_that_comes_back_after_the_worker_was_killed_misses_nothing() -> Result<()> {
    // Its place is kept for longer than a busy machine needs to start the next worker and to come back.
    let mut worker = worker("lossless_grace = \"5m\"").await?;
    let client = worker.client().await?;
    let (id, mut follower) = held(&client, worker.session().await?).await?;
    let (mut all, mut after) = (Vec::new(), Seq(0));
    for _ in 0..3 {
        for _ in 0..5 {
            let event = follower.next().await?.context("an end")?;
            after = event.seq;
            match event.kind {
                EventKind::Output { bytes, .. } => all.extend_from_slice(&bytes),
                EventKind::Started { .. } => {}
                other => anyhow::bail!("{other:?}"),
            }
        }
        worker.kill();
        worker.start_again().await?;
        let client = worker.client().await?;
        // The program runs again before the reader is back.
        follower = client.follow(id, FollowOptions { after, ..lossless() }).await?;
    }
    let (rest, missing) = read(&mut follower).await?;
    all.extend_from_slice(&rest);
    ensure!(missing == 0 && all == numbers(), "{missing} bytes are missing, {} came", all.len());
    Ok(())
}

#[tokio::test]
async fn more_lossless_readers_than_may_be_are_refused() -> Result<()> {
    let worker = worker("").await?;
    let client = worker.client().await?;
    let id = worker.begin(&StartSpec::shell("sleep 1000")).await?;
    let mut readers = Vec::new();
    for _ in 0..16 {
        readers.push(client.follow(id, lossless()).await?);
    }
    let fault = crate::refused(client.follow(id, lossless()).await);
    assert_eq!(fault.kind, FaultKind::Exhausted);
    client.follow(id, collect_until_closed()).await?;
    Ok(())
}

#[tokio::test]
async fn a_position_after_the_end_of_the_log_is_refused_and_the_last_one_is_not() -> Result<()> {
    let worker = worker("").await?;
    let client = worker.client().await?;
    let id = worker.begin(&StartSpec::shell("echo hi")).await?;
    worker.read(id).await?;
    let last = client.execution(id).await?.last_seq;
    for no_wait in [false, true] {
        let options = FollowOptions { no_wait, after: last, ..collect_until_closed() };
        assert!(client.follow(id, options.clone()).await?.next().await?.is_none());
        let options = FollowOptions { after: Seq(last.0 + 1), ..options };
        let fault = crate::refused(client.follow(id, options).await);
        assert_eq!(fault.kind, FaultKind::PastEnd);
        assert!(fault.message.contains(&format!("`{last}`")) && fault.hint.is_some(), "{fault:?}");
    }
    Ok(())
}
