//! Starting executions: what is written where, in which order, and what a failure leaves.

use std::sync::Arc;

use futures_util::poll;
use headwater_contract::{Fault, FaultKind, FollowOptions};
use headwater_protocol::api::ErrorCode;
use headwater_protocol::{EventKind, ExecutionId};
use headwater_store::{ExecutionFilter, PageRequest};
use tokio::sync::Semaphore;

use crate::test_gateway::{TestGateway, ann, order};
use crate::worker::scripted::Answer;
use crate::worker::scripted::model::exited;

fn refusal() -> Answer {
    Answer::fault(Fault::new(FaultKind::Conflict, "the session is busy"))
}

/// Makes the worker hold back its answers to `Start`, after it has started the program, until the semaphore has permits.
fn hold_starts(test: &TestGateway) -> Arc<Semaphore> {
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    test.model.on("Worker/Start", move |model, call| {
        let held = Arc::clone(&held);
        async move {
            let answer = model.answer(call).await;
            held.acquire().await.unwrap().forget();
            answer
        }
    });
    gate
}

async fn rows(test: &TestGateway) -> Vec<ExecutionId> {
    let page = test.store().executions(&ExecutionFilter::default(), PageRequest::first(10)).await.unwrap();
    page.items.into_iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn a_start_returns_when_both_the_store_and_the_worker_have_it() {
    let test = TestGateway::start().await;
    let (session, gate) = (test.session().await, hold_starts(&test));
    let mut start = Box::pin(test.start_in(session));
    assert!(poll!(start.as_mut()).is_pending());
    // The row does not wait for the worker, and the caller waits for both.
    test.until(async || poll!(start.as_mut()).is_pending() && rows(&test).await.len() == 1).await;
    gate.add_permits(1);
    let execution = start.await.unwrap();
    assert_eq!(rows(&test).await, [execution.id]);
    assert!(test.model.has_execution(execution.id));
    let row = test.row(execution.id).await.unwrap();
    assert_eq!((row.session_id, row.end, row.number), (session, None, 1));
}

#[tokio::test]
async fn a_key_is_stored_before_the_worker_is_called() {
    let test = TestGateway::start().await;
    let (session, store) = (test.session().await, Arc::clone(&test.gateway.store));
    test.model.on("Worker/Start", move |model, call| {
        let store = Arc::clone(&store);
        async move {
            let request: headwater_contract::v1::StartRequest = call.read();
            if store.has_key(request.execution_id()).await.unwrap() {
                model.answer(call).await
            } else {
                Answer::fault(Fault::new(FaultKind::Internal, "the key is not stored"))
            }
        }
    });
    test.gateway.starts.start(&ann(), order(Some(session), Some("k"))).await.unwrap();
    // The check does find a start without a key.
    let error = test.start_in(session).await.unwrap_err();
    assert_eq!(error.status.as_u16(), 500);
}

#[tokio::test]
async fn a_refused_start_leaves_no_row_and_nothing_running() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    test.model.on("Worker/Start", |_, _| async { refusal() });
    for (session, key) in [(Some(session), None), (None, None), (Some(session), Some("k"))] {
        let error = test.gateway.starts.start(&ann(), order(session, key)).await.unwrap_err();
        assert_eq!(error.status.as_u16(), 409, "{error:?}");
    }
    assert_eq!(rows(&test).await, []);
    assert!(test.store().unfinished().await.unwrap().is_empty());
    assert_eq!(test.model.sessions(), 1, "the session of the one-shot is removed");
    test.model.off("Worker/Start");
    // The key is free again, and a start that is not refused leaves its row.
    let execution = test.gateway.starts.start(&ann(), order(Some(session), Some("k"))).await.unwrap();
    assert_eq!(rows(&test).await, [execution.id]);
}

#[tokio::test]
async fn a_refused_follow_ends_the_program_that_it_started() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    test.model.on("Worker/Run", |model, call| async move {
        drop(model.answer(call).await); // it starts, and the refusal is about following
        refusal()
    });
    let run = test.gateway.starts.run(&ann(), order(Some(session), None), FollowOptions::default()).await;
    assert_eq!(run.unwrap_err().status.as_u16(), 409);
    assert_eq!((test.model.starts(), test.worker.count("Worker/Cancel")), (1, 1));
    assert_eq!(test.worker.count("Worker/Forget"), 1);
    assert_eq!(rows(&test).await, []);
}

#[tokio::test]
async fn a_repeated_key_starts_once_and_only_for_the_same_request() {
    let test = TestGateway::start().await;
    let session = Some(test.session().await);
    let start = |key| {
        let gateway = Arc::clone(&test.gateway);
        async move { gateway.starts.start(&ann(), order(session, Some(key))).await.map(|started| started.id) }
    };
    let (first, second) = futures_util::future::join(start("k"), start("k")).await;
    let id = first.unwrap();
    assert_eq!((second.unwrap(), test.model.starts()), (id, 1));
    assert_ne!(start("other").await.unwrap(), id);
    assert_eq!(test.model.starts(), 2);
    let mut changed = order(session, Some("k"));
    changed.request_key.hash = [1; 32];
    assert_eq!(test.gateway.starts.start(&ann(), changed).await.unwrap_err().code, ErrorCode::KeyReused);
    // After the end, even if the worker has forgotten it, the key answers with it and starts nothing.
    test.model.finish(id, &exited(3));
    test.until(async || test.row(id).await.unwrap().end.is_some()).await;
    test.model.forget(id);
    let again = test.gateway.starts.start(&ann(), order(session, Some("k"))).await.unwrap();
    assert_eq!(again.state.verdict().and_then(|verdict| verdict.code), Some(3));
    assert_eq!((again.id, test.model.starts()), (id, 2));
}

#[tokio::test]
async fn a_worker_that_goes_in_the_middle_of_a_start_starts_once() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let worker = Arc::downgrade(&test.worker);
    test.model.on("Worker/Start", move |model, call| {
        let worker = worker.clone();
        async move {
            let number = call.number;
            let answer = model.answer(call).await;
            if number == 1 {
                worker.upgrade().unwrap().break_connections(); // it has started, and nobody hears of it
            }
            answer
        }
    });
    let execution = test.start_in(session).await.unwrap();
    assert_eq!((test.worker.count("Worker/Start"), test.model.starts()), (2, 1));
    assert_eq!(rows(&test).await, [execution.id]);
}

#[tokio::test]
async fn a_followed_start_over_a_lost_worker_starts_once_and_shows_each_event_once() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let worker = Arc::downgrade(&test.worker);
    test.model.on("Worker/Run", move |model, call| {
        let worker = worker.clone();
        async move {
            let number = call.number;
            let answer = model.answer(call).await;
            if number == 1 {
                worker.upgrade().unwrap().break_connections();
            }
            answer
        }
    });
    let run = test.gateway.starts.run(&ann(), order(Some(session), None), FollowOptions::default()).await;
    let (id, mut follower) = run.unwrap();
    test.model.finish(id, &exited(0));
    let mut kinds = Vec::new();
    while let Some(event) = follower.next().await.unwrap() {
        kinds.push(event.kind);
    }
    assert_eq!((test.worker.count("Worker/Run"), test.model.starts()), (2, 1));
    assert!(
        matches!(kinds.as_slice(), [EventKind::Started { .. }, EventKind::Exited(verdict)] if *verdict == exited(0)),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn a_start_whose_caller_goes_away_is_finished() {
    let test = TestGateway::start().await;
    let (session, gate) = (test.session().await, hold_starts(&test));
    tokio::select! {
        started = test.start_in(session) => panic!("{started:?}"),
        () = test.worker.called("Worker/Start", 1) => {} // the caller goes away now
    }
    gate.add_permits(1);
    test.until(async || rows(&test).await.len() == 1).await;
    let id = rows(&test).await[0];
    // It is watched to its end like any other.
    test.model.finish(id, &exited(0));
    test.settle().await;
    assert_eq!(test.row(id).await.unwrap().end.unwrap().verdict, exited(0));
    assert_eq!((test.worker.count("Worker/Start"), test.model.starts()), (1, 1));
}

#[tokio::test]
async fn a_program_that_the_store_cannot_take_up_is_ended() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    test.start_in(session).await.unwrap();
    assert_eq!(test.worker.count("Worker/Cancel"), 0);
    // The store refuses the row of an execution whose session it does not have.
    assert!(test.store().remove_session(session).await.unwrap());
    test.start_in(session).await.unwrap_err();
    assert_eq!((test.model.starts(), test.worker.count("Worker/Cancel")), (2, 1));
    assert_eq!(rows(&test).await, []);
}
