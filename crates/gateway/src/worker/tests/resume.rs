//! Streams that continue over a restart of the worker, against a scripted one.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use headwater_contract::{FaultKind, FollowOptions, OutputSelector};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, SessionId, SessionSpec, StartSpec};

use crate::worker::Worker;
use crate::worker::scripted::model::{Model, exited};
use crate::worker::scripted::{NoRestarter, ScriptedWorker};

struct Test {
    model: Arc<Model>,
    server: ScriptedWorker,
    worker: Worker,
    id: ExecutionId,
}

impl Test {
    async fn start() -> Self {
        let model = Arc::new(Model::default());
        let server = ScriptedWorker::start(model.script());
        let worker = Worker::new(server.connect().await, Arc::new(NoRestarter)).await.unwrap();
        let (session, id) = (SessionId::random(), ExecutionId::random());
        model.add_session(session, SessionSpec::default());
        model.start(id, session, StartSpec::shell("true")).unwrap();
        Self { model, server, worker, id }
    }
}

fn all() -> FollowOptions {
    FollowOptions { until_closed: true, ..FollowOptions::default() }
}

/// An event, briefly.
fn brief(event: &Event) -> (u64, String) {
    let text = match &event.kind {
        EventKind::Output { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
        EventKind::Started { .. } => "started".into(),
        EventKind::Exited(_) => "exited".into(),
        EventKind::Closed => "closed".into(),
        EventKind::Gap { .. } => "gap".into(),
    };
    (event.seq.0, text)
}

#[tokio::test]
async fn a_follower_continues_after_the_last_event_without_a_gap_or_a_repeat() {
    let test = Test::start().await;
    let mut follower = test.worker.follow(test.id, all()).await.unwrap();
    let mut seen = vec![brief(&follower.next().await.unwrap().unwrap())];
    for text in ["one", "two", "three"] {
        // What is printed before, while and after the connection is broken.
        test.model.print(test.id, text.as_bytes());
        test.server.break_connections();
        test.model.print(test.id, b"-");
        for _ in 0..2 {
            seen.push(brief(&follower.next().await.unwrap().unwrap()));
        }
    }
    test.server.break_connections();
    test.model.finish(test.id, &exited(0));
    while let Some(event) = follower.next().await.unwrap() {
        seen.push(brief(&event));
    }
    let texts = ["started", "one", "-", "two", "-", "three", "-", "exited", "closed"];
    let expected: Vec<_> = (1..).zip(texts.map(str::to_owned)).collect();
    assert_eq!(seen, expected);
    assert!(test.server.count("Worker/Follow") >= 4, "the connection did break");
}

#[tokio::test]
async fn a_follower_asks_only_for_what_it_has_not_delivered() {
    let test = Test::start().await;
    let asked = Arc::new(AtomicU64::new(0));
    let after = Arc::clone(&asked);
    test.model.on("Worker/Follow", move |model, call| {
        let request: headwater_contract::v1::FollowRequest = call.read();
        after.store(request.options.unwrap().after_seq, std::sync::atomic::Ordering::SeqCst);
        async move { model.answer(call).await }
    });
    test.model.print(test.id, b"one");
    let mut follower = test.worker.follow(test.id, all()).await.unwrap();
    assert_eq!(brief(&follower.next().await.unwrap().unwrap()).0, 1);
    assert_eq!(follower.position(), Seq(1));
    assert!(follower.has_next().await.unwrap(), "the second event is here, and not delivered");
    test.server.break_connections();
    test.model.finish(test.id, &exited(0));
    assert_eq!(brief(&follower.next().await.unwrap().unwrap()), (2, "one".into()));
    assert_eq!(brief(&follower.next().await.unwrap().unwrap()), (3, "exited".into()));
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 2);
    assert_eq!(brief(&follower.next().await.unwrap().unwrap()), (4, "closed".into()));
    assert!(follower.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_reader_of_output_continues_in_the_middle_of_an_event() {
    let test = Test::start().await;
    test.model.print(test.id, b"abcdefghij");
    // The server sends three bytes at a time.
    let mut reader = test.worker.read(OutputSelector { id: test.id, stream: None }, 1, 10);
    let mut all = reader.next().await.unwrap().unwrap().to_vec();
    assert_eq!(all, b"bcd");
    test.server.break_connections();
    while let Some(piece) = reader.next().await.unwrap() {
        all.extend_from_slice(&piece);
    }
    assert_eq!(all, b"bcdefghij");
}

#[tokio::test]
async fn a_log_that_is_gone_ends_a_follower_with_that_reason_and_is_not_retried() {
    let test = Test::start().await;
    let mut follower = test.worker.follow(test.id, all()).await.unwrap();
    follower.next().await.unwrap().unwrap();
    test.model.finish(test.id, &exited(0));
    test.model.remove_log(test.id, 1);
    test.server.break_connections();
    let calls = test.server.count("Worker/Follow");
    let error = loop {
        match follower.next().await {
            Ok(event) => assert!(event.is_some(), "the stream ended as if the log had"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.fault().map(|fault| fault.kind), Some(FaultKind::Gone));
    assert_eq!(test.server.count("Worker/Follow"), calls + 1);
    // One that was never there is another matter.
    let error = test.worker.follow(ExecutionId::random(), all()).await.unwrap_err();
    assert_eq!(error.fault().map(|fault| fault.kind), Some(FaultKind::NotFound));
}
