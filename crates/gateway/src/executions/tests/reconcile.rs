//! Reconciling: what only one of the two knows, the store or the worker.

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{
    Command, ExecutionId, LogRemoved, Reason, SandboxKind, Session, SessionId, SessionSpec, SessionState,
    StartSpec,
};
use headwater_store::{KeyRow, SessionRow};

use crate::executions::reconcile::session_row;
use crate::executions::start::execution_row;
use crate::now_ms;
use crate::test_gateway::{ANN, TestGateway, ann, order};
use crate::worker::scripted::Answer;
use crate::worker::scripted::model::{STARTED_AT_MS, exited};

/// Adds a row of an execution that the worker never got.
async fn row_only(test: &TestGateway, session: SessionId) -> ExecutionId {
    let id = ExecutionId::random();
    let row = execution_row(id, session, ANN.into(), StartSpec::shell("true"), STARTED_AT_MS);
    assert!(test.store().put_execution(&row).await.unwrap().is_some());
    id
}

/// Adds a row of a session that the worker never got.
async fn session_row_only(test: &TestGateway) -> SessionId {
    let session = Session {
        id: SessionId::random(),
        spec: SessionSpec::default(),
        sandbox: SandboxKind::Full,
        state: SessionState::Ready,
        created_at_ms: STARTED_AT_MS,
        running: 0,
    };
    let row = SessionRow { owner: ANN.into(), ..session_row(session) };
    assert!(test.store().put_session(&row).await.unwrap());
    row.id
}

async fn claim(test: &TestGateway, key: &str, object: String) {
    let (owner, key) = (ANN.to_owned(), key.to_owned());
    let row = KeyRow { owner, key, request_hash: [0; 32], object, session: None, created_at_ms: now_ms() };
    test.store().claim_key(&row).await.unwrap();
}

#[tokio::test]
async fn a_row_without_an_execution_in_the_worker_becomes_lost() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let (lost, claimed) = (row_only(&test, session).await, row_only(&test, session).await);
    claim(&test, "k", claimed.to_string()).await;
    let running = test.start_in(session).await.unwrap().id;
    test.gateway.reconciler.reconcile().await;
    let end = test.row(lost).await.unwrap().end.unwrap();
    assert_eq!((end.verdict.reason, end.closed), (Reason::Lost, true));
    assert_eq!(test.row(claimed).await.unwrap().end, None, "its key may still start it");
    assert_eq!(test.row(running).await.unwrap().end, None);
}

#[tokio::test]
async fn an_execution_that_is_being_started_is_not_judged() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let gateway = std::sync::Arc::clone(&test.gateway);
    // The worker is asked while the store already has the row.
    test.model.on("Worker/Start", move |model, call| {
        let gateway = std::sync::Arc::clone(&gateway);
        async move {
            let id = call.read::<headwater_contract::v1::StartRequest>().execution_id().parse().unwrap();
            while gateway.store.execution(id).await.unwrap().is_none() {
                tokio::task::yield_now().await;
            }
            gateway.reconciler.reconcile().await;
            model.answer(call).await
        }
    });
    let id = test.start_in(session).await.unwrap().id;
    assert_eq!(test.row(id).await.unwrap().end, None);
    test.model.off("Worker/Start"); // it holds the gateway
}

#[tokio::test]
async fn an_execution_that_the_store_does_not_know_is_taken_up_with_its_session() {
    let test = TestGateway::start().await;
    let session = test.worker_session().id;
    let (ended, running) = (ExecutionId::random(), ExecutionId::random());
    for id in [ended, running] {
        test.model.start(id, session, StartSpec::shell("true")).unwrap();
    }
    test.model.finish(ended, &exited(2));
    test.gateway.reconciler.reconcile().await;
    let row = test.row(ended).await.unwrap();
    assert_eq!((row.owner.as_str(), row.session_id, row.queued_at_ms), (ANN, session, STARTED_AT_MS));
    assert_eq!(row.end.unwrap().verdict, exited(2));
    assert_eq!(test.row(running).await.unwrap().end, None);
    assert_eq!(test.store().session(session).await.unwrap().unwrap().owner, ANN);
    test.model.finish(running, &exited(3));
    test.settle().await;
    assert_eq!(test.row(running).await.unwrap().end.unwrap().verdict, exited(3), "it is watched from now on");
}

#[tokio::test]
async fn a_session_that_only_one_of_the_two_knows_is_taken_up_or_ended() {
    let test = TestGateway::start().await;
    let (live, ended) = (test.worker_session().id, test.worker_session().id);
    test.model.end_session(ended, STARTED_AT_MS + 3);
    let both = test.session().await;
    let ended_unseen = test.session().await;
    test.model.end_session(ended_unseen, STARTED_AT_MS + 4);
    let (gone, claimed) = (session_row_only(&test).await, session_row_only(&test).await);
    claim(&test, "k", claimed.to_string()).await;
    test.gateway.reconciler.reconcile().await;
    let end = async |id| test.store().session(id).await.unwrap().map(|row| row.ended_at_ms);
    assert_eq!(end(live).await, Some(None));
    assert_eq!(end(ended).await, Some(Some(STARTED_AT_MS + 3)));
    assert_eq!(end(both).await, Some(None));
    assert_eq!(end(ended_unseen).await, Some(Some(STARTED_AT_MS + 4)));
    assert!(end(gone).await.unwrap().is_some());
    assert_eq!(end(claimed).await, Some(None), "its key may still create it");
}

#[tokio::test]
async fn a_removed_log_is_noted_with_the_end_that_nobody_recorded() {
    let test = TestGateway::start().await;
    let session = test.session().await;
    let mut order = order(Some(session), None);
    order.spec.command = Command::Shell("x".repeat(1 << 20));
    let removed = test.gateway.starts.start(&ann(), order).await.unwrap().id;
    let kept = test.start_in(session).await.unwrap().id;
    test.stop().await;
    test.model.finish(removed, &exited(9));
    test.model.remove_log(removed, 1);
    let test = test.restart().await;
    test.gateway.reconciler.reconcile().await;
    let row = test.row(removed).await.unwrap();
    assert_eq!(row.end.unwrap().verdict, exited(9), "not lost: the removal says how it ended");
    assert_eq!(row.log_removed, Some(LogRemoved { at_ms: STARTED_AT_MS + 9, reason: "age".into() }));
    let Command::Shell(line) = row.spec.command else { panic!("another command") };
    assert!(line.len() < 1 << 20, "the code goes with the log");
    assert_eq!(test.row(kept).await.unwrap().log_removed, None);
    // What is noted is not asked for again.
    test.gateway.reconciler.reconcile().await;
    assert_eq!(*test.gateway.recorder.last_removed_log.lock().await, 1);
}

#[tokio::test]
async fn executions_that_do_not_fit_one_answer_are_taken_up_session_by_session() {
    let test = TestGateway::start().await;
    let session = test.worker_session().id;
    let id = ExecutionId::random();
    test.model.start(id, session, StartSpec::shell("true")).unwrap();
    test.model.finish(id, &exited(0));
    test.model.on("Worker/ListExecutions", |model, call| async move {
        let request: headwater_contract::v1::ListExecutionsRequest = call.read();
        if request.session_id.is_none() {
            return Answer::fault(Fault::new(FaultKind::Invalid, "too large"));
        }
        model.answer(call).await
    });
    test.gateway.reconciler.reconcile().await;
    assert_eq!(test.row(id).await.unwrap().end.unwrap().verdict, exited(0));
}
