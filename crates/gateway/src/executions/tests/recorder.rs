//! The recorder: the end of an execution reaches the store once, and before anybody sees it.

use std::sync::Arc;

use axum::body::Body;
use futures_util::future::join_all;
use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Reason, Seq};
use headwater_store::ExecutionEnd;
use http_body_util::BodyExt;

use crate::executions::Patience;
use crate::now_ms;
use crate::quota::day;
use crate::streams::sse::sse;
use crate::test_gateway::{ANN, TestGateway, ann, order};
use crate::worker::scripted::model::{CPU_MS, STARTED_AT_MS, exited};

/// Starts a program, and returns the body of the SSE response that follows it.
async fn followed(test: &TestGateway) -> (ExecutionId, Body) {
    let session = Some(test.session().await);
    let options = FollowOptions { until_closed: true, ..FollowOptions::default() };
    let (id, follower) = test.gateway.starts.run(&ann(), order(session, None), options).await.unwrap();
    (id, sse(&test.gateway, id, follower).into_body())
}

/// Reads a body until it has this text, or to its end.
async fn read_until(body: &mut Body, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        let Some(frame) = body.frame().await else { break };
        all.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
    }
    all
}

async fn end(test: &TestGateway, id: ExecutionId) -> Option<ExecutionEnd> {
    test.row(id).await.unwrap().end
}

#[tokio::test]
async fn an_end_is_in_the_store_before_a_reader_sees_it() {
    let test = TestGateway::start().await;
    let (id, mut body) = followed(&test).await;
    test.model.exit(id, &exited(3));
    assert!(read_until(&mut body, "event: exited").await.contains("event: exited"));
    assert_eq!(end(&test, id).await.unwrap().verdict, exited(3));
    // A reader sees no end that the store does not have.
    let (id, mut body) = followed(&test).await;
    assert!(read_until(&mut body, "event: started").await.contains("event: started"));
    test.store().close().await.unwrap();
    test.model.finish(id, &exited(0));
    let rest = read_until(&mut body, "event: exited").await;
    assert!(!rest.contains("event: exited") && !rest.contains("event: closed"), "{rest}");
}

#[tokio::test]
async fn an_end_that_many_learn_at_the_same_time_is_recorded_once() {
    let test = TestGateway::start().await;
    let (id, mut body) = followed(&test).await;
    let now = || Patience { at_most: std::time::Duration::from_mins(1), closed: true };
    let looks = (0..8).map(|_| {
        let gateway = Arc::clone(&test.gateway);
        tokio::spawn(async move { gateway.look_at_execution(&ann(), id, now()).await.unwrap() })
    });
    let looks: Vec<_> = looks.collect();
    test.worker.called("Worker/GetExecution", 8).await;
    test.model.finish(id, &exited(0));
    for execution in join_all(looks).await {
        assert_eq!(execution.unwrap().state.verdict(), Some(&exited(0)));
    }
    read_until(&mut body, "event: closed").await;
    test.settle().await;
    // What it used is added when the end is recorded: twice would be 14.
    assert_eq!(test.store().cpu_of_day(ANN, day(now_ms())).await.unwrap(), CPU_MS);
    let end = end(&test, id).await.unwrap();
    assert_eq!((end.closed, end.last_seq, end.verdict), (true, Seq(3), exited(0)));
    assert!(!test.gateway.recorder.is_open(id));
}

#[tokio::test]
async fn an_end_that_nobody_follows_is_recorded_over_a_restart_of_the_worker() {
    let test = TestGateway::start().await;
    let id = test.start_in(test.session().await).await.unwrap().id;
    test.until(async || test.worker.count("Worker/GetExecution") == 1).await;
    assert_eq!(end(&test, id).await, None);
    test.worker.break_connections();
    test.model.finish(id, &exited(4));
    test.settle().await;
    let end = end(&test, id).await.unwrap();
    assert_eq!((end.verdict, end.closed, end.started_at_ms), (exited(4), true, STARTED_AT_MS));
}

#[tokio::test]
async fn the_session_of_a_one_shot_ends_with_it_in_the_store() {
    let test = TestGateway::start().await;
    let execution = test.gateway.starts.start(&ann(), order(None, None)).await.unwrap();
    let ended = async || test.store().session(execution.session_id).await.unwrap().unwrap().ended_at_ms;
    test.model.exit(execution.id, &exited(0));
    test.until(async || end(&test, execution.id).await.is_some()).await;
    assert_eq!(ended().await, None, "its log is still open");
    test.model.finish(execution.id, &exited(0));
    test.settle().await;
    assert!(ended().await.is_some());
}

#[tokio::test]
async fn ends_that_fell_while_no_gateway_ran_are_recorded_at_the_next_start() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let ended = test.start_in(session).await.unwrap().id;
    let running = test.start_in(session).await.unwrap().id;
    test.stop().await;
    test.model.finish(ended, &exited(5));
    let test = test.restart().await;
    assert_eq!(end(&test, ended).await, None);
    test.gateway.reconciler.reconcile().await;
    assert_eq!(end(&test, ended).await.unwrap().verdict, exited(5));
    assert_eq!(end(&test, running).await, None);
    // What still runs is watched by the new gateway.
    test.model.finish(running, &exited(6));
    test.settle().await;
    assert_eq!(end(&test, running).await.unwrap().verdict, exited(6));
    assert_eq!(test.store().cpu_of_day(ANN, day(now_ms())).await.unwrap(), 2 * CPU_MS);
}

#[tokio::test]
async fn an_execution_that_the_worker_no_longer_knows_is_lost_after_a_while() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let (lost, back) = (test.start_in(session).await.unwrap().id, test.start_in(session).await.unwrap().id);
    test.until(async || test.worker.count("Worker/GetExecution") == 2).await;
    test.model.forget(lost);
    test.model.forget(back);
    test.until(async || test.worker.count("Worker/GetExecution") >= 4).await;
    assert_eq!(end(&test, lost).await, None, "it is not given up at once");
    // One that is started again in time, by the call that started it, goes on.
    test.model.start(back, session, headwater_protocol::StartSpec::shell("true")).unwrap();
    test.until(async || end(&test, lost).await.is_some_and(|end| end.closed)).await;
    let ended = end(&test, lost).await.unwrap();
    assert_eq!((ended.verdict.reason, ended.verdict.code, ended.closed), (Reason::Lost, None, true));
    assert_eq!(end(&test, back).await, None);
    test.model.finish(back, &exited(0));
    test.settle().await;
    assert_eq!(end(&test, back).await.unwrap().verdict, exited(0));
}

#[tokio::test]
async fn a_first_verdict_stays() {
    let test = TestGateway::start().await;
    let id = test.start_in(test.session().await).await.unwrap().id;
    test.gateway.recorder.note_exit(id, Seq(2), &exited(1)).await.unwrap();
    test.gateway.recorder.note_exit(id, Seq(9), &exited(2)).await.unwrap();
    test.model.forget(id);
    test.settle().await; // the watch finds nothing, and closes it
    let ended = end(&test, id).await.unwrap();
    assert_eq!((ended.verdict, ended.closed), (exited(1), true));
}
