//! Following a log: from any place, in any portions, any part of it, it is the same log.

use anyhow::Result;
use headwater_contract::{Client, FaultKind, FollowOptions};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, StartSpec, Stdin, Stream};
use headwater_tests::{Collected, TestWorker, collect, collect_until_closed};

use crate::{refused, worker};

/// An execution with some twenty events on both streams.
async fn talkative(worker: &TestWorker) -> Result<ExecutionId> {
    let line = "for i in $(seq 10); do echo out$i; sleep 0.01; echo err$i >&2; sleep 0.01; done";
    let id = worker.begin(&StartSpec::shell(line)).await?;
    worker.read(id).await?;
    Ok(id)
}

async fn events(client: &Client, id: ExecutionId, options: FollowOptions) -> Result<Vec<Event>> {
    let mut follower = client.follow(id, options).await?;
    let mut events = Vec::new();
    while let Some(event) = follower.next().await? {
        events.push(event);
    }
    Ok(events)
}

fn bytes_of(events: &[Event], wanted: Stream) -> Vec<u8> {
    let mut all = Vec::new();
    for event in events {
        if let EventKind::Output { stream, bytes, .. } = &event.kind
            && *stream == wanted
        {
            all.extend_from_slice(bytes);
        }
    }
    all
}

#[tokio::test]
async fn following_after_any_event_gives_exactly_those_that_follow_it() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    // A busy worker may read several lines at once: then there are few events, and it is tried again.
    let (mut id, mut all) = (talkative(&worker).await?, Vec::new());
    for _ in 0..10 {
        all = events(&client, id, collect_until_closed()).await?;
        if all.len() > 10 {
            break;
        }
        id = talkative(&worker).await?;
    }
    assert!(all.len() > 10, "{} events", all.len());
    assert!(matches!(all[0].kind, EventKind::Started { .. }));
    assert!(matches!(all[all.len() - 1].kind, EventKind::Closed));
    for (n, event) in all.iter().enumerate() {
        let options = FollowOptions { after: event.seq, ..collect_until_closed() };
        let rest = events(&client, id, FollowOptions { no_wait: true, ..options }).await?;
        assert_eq!(rest, all[n + 1..], "after {}", event.seq);
    }
    Ok(())
}

#[tokio::test]
async fn a_follower_that_waits_for_the_end_stops_at_the_verdict() -> Result<()> {
    let worker = worker().await?;
    let id = talkative(&worker).await?;
    let seen = collect(worker.client().await?.follow(id, FollowOptions::default()).await?).await?;
    assert_eq!((seen.verdicts.len(), seen.closed), (1, false));
    Ok(())
}

#[tokio::test]
async fn without_waiting_a_follower_gets_the_events_so_far() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("echo here; cat");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    worker.watch(id).await?.until_printed("here").await?;
    let client = worker.client().await?;
    let now = events(&client, id, FollowOptions { no_wait: true, ..collect_until_closed() }).await?;
    assert_eq!(bytes_of(&now, Stream::Stdout), b"here\n");
    assert_eq!(now.len(), 2, "{now:?}");
    Ok(())
}

#[tokio::test]
async fn one_stream_alone_is_that_stream_and_the_end() -> Result<()> {
    let worker = worker().await?;
    let id = talkative(&worker).await?;
    let client = worker.client().await?;
    for (stream, word) in [(Stream::Stdout, "out"), (Stream::Stderr, "err")] {
        let options = FollowOptions { streams: vec![stream], ..collect_until_closed() };
        let seen = collect(client.follow(id, options).await?).await?;
        let expected: String = (1..=10).map(|n| format!("{word}{n}\n")).collect();
        let (text, other) = if stream == Stream::Stdout {
            (seen.text(), &seen.stderr)
        } else {
            (seen.errors(), &seen.stdout)
        };
        assert_eq!((text, other.len(), seen.verdicts.len()), (expected, 0, 1));
    }
    Ok(())
}

#[tokio::test]
async fn a_tail_states_what_it_leaves_out() -> Result<()> {
    let worker = worker().await?;
    let line = "for i in $(seq 200); do printf '%099d\\n' $i; [ $((i % 10)) = 0 ] && sleep 0.03; done; true";
    let id = worker.begin(&StartSpec::shell(line)).await?;
    let all = worker.read(id).await?.stdout;
    assert_eq!(all.len(), 20_000);
    let client = worker.client().await?;
    for tail in [1, 1000, 5000, 19_999, 20_000, 1 << 30] {
        let options = FollowOptions { tail_bytes: Some(tail), ..collect_until_closed() };
        let seen: Collected = collect(client.follow(id, options).await?).await?;
        assert!(all.ends_with(&seen.stdout), "the tail is the end");
        assert!(seen.stdout.len() as u64 >= tail.min(20_000), "{} for {tail}", seen.stdout.len());
        let missing: u64 = seen.gaps.iter().map(|gap| gap.2 - gap.1).sum();
        assert_eq!(missing + seen.stdout.len() as u64, 20_000);
        assert_eq!((seen.started, seen.verdicts.len(), seen.closed), (true, 1, true));
    }
    let options = FollowOptions { tail_bytes: Some(1000), ..collect_until_closed() };
    let seen = collect(client.follow(id, options).await?).await?;
    assert!(seen.stdout.len() < 15_000, "a small tail is small: {}", seen.stdout.len());
    Ok(())
}

#[tokio::test]
async fn batches_change_the_events_and_not_the_bytes() -> Result<()> {
    let worker = worker().await?;
    let line = "for i in $(seq 300); do echo line$i; echo error$i >&2; sleep 0.002; done";
    let id = worker.begin(&StartSpec::shell(line)).await?;
    let client = worker.client().await?;
    let follow = |batch_ms, batch_bytes| {
        let options = FollowOptions { batch_ms, batch_bytes, ..collect_until_closed() };
        let client = client.clone();
        async move { collect(client.follow(id, options).await?).await }
    };
    let (plain, held, small) = tokio::try_join!(follow(0, 0), follow(100, 4096), follow(50, 64))?;
    let expected: String = (1..=300).map(|n| format!("line{n}\n")).collect();
    for seen in [&plain, &held, &small] {
        assert_eq!(seen.text(), expected);
        assert_eq!((&seen.stderr, seen.verdict()), (&plain.stderr, plain.verdict()));
    }
    Ok(())
}

#[tokio::test]
async fn a_follower_that_is_cut_off_within_batches_goes_on_where_it_was() -> Result<()> {
    let worker = worker().await?;
    let line = "for i in $(seq 400); do echo line$i; sleep 0.001; done";
    let id = worker.begin(&StartSpec::shell(line)).await?;
    let client = worker.client().await?;
    let (mut text, mut after, mut done) = (Vec::new(), Seq(0), false);
    while !done {
        let options = FollowOptions {
            after,
            batch_ms: 10,
            batch_bytes: 100,
            until_closed: true,
            ..FollowOptions::default()
        };
        let mut follower = client.follow(id, options).await?;
        for _ in 0..3 {
            let Some(event) = follower.next().await? else { break };
            after = event.seq;
            done = matches!(event.kind, EventKind::Closed);
            text.extend(bytes_of(&[event], Stream::Stdout));
        }
    }
    let expected: String = (1..=400).map(|n| format!("line{n}\n")).collect();
    assert_eq!(String::from_utf8(text)?, expected);
    Ok(())
}

#[tokio::test]
async fn an_unknown_execution_cannot_be_followed() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let nobody = ExecutionId::random();
    assert_eq!(refused(client.follow(nobody, FollowOptions::default()).await).kind, FaultKind::NotFound);
    assert_eq!(refused(client.execution(nobody).await).kind, FaultKind::NotFound);
    assert_eq!(refused(client.cancel(nobody, None).await).kind, FaultKind::NotFound);
    assert_eq!(refused(client.forget(nobody).await).kind, FaultKind::NotFound);
    Ok(())
}
