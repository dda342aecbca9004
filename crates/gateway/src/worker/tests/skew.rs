//! Version skew: the gateway with a worker that speaks the contract of the last release.
//!
//! The worker is the model, behind a filter that reads and writes each message as the last release does. So new fields
//! are lost in both directions, new methods are not implemented, and errors have the old codes without a kind.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use headwater_contract::{ContractError, Fault, FaultKind, FollowOptions, v1};
use headwater_previous_contract::v1 as previous;
use headwater_protocol::build::{BuildResult, BuildStatus, CompileSpec};
use headwater_protocol::{
    EventKind, ExecutionId, ExitDetail, Reason, SessionId, SessionSpec, StartSpec, Verdict,
};
use prost::Message;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::http::idempotency::RequestKey;
use crate::test_gateway::{TestGateway, ann, order};
use crate::worker::scripted::model::{Model, exited};
use crate::worker::scripted::{Answer, Call, Script};

/// Reads a message as the last release does, and writes what it has understood.
fn through<M: Message + Default>(message: Bytes) -> Bytes {
    M::decode(message).unwrap().encode_to_vec().into()
}

type Filter = fn(Bytes) -> Bytes;

/// The methods of the last release that the tests use: how it reads the request and writes the answer.
const METHODS: [(&str, Filter, Filter); 14] = {
    use previous as p;
    [
        ("Worker/Info", through::<p::InfoRequest>, through::<p::InfoResponse>),
        ("Worker/CreateSession", through::<p::CreateSessionRequest>, through::<p::Session>),
        ("Worker/GetSession", through::<p::GetSessionRequest>, through::<p::Session>),
        ("Worker/ListSessions", through::<p::ListSessionsRequest>, through::<p::ListSessionsResponse>),
        ("Worker/EndSession", through::<p::EndSessionRequest>, through::<p::Session>),
        ("Worker/Start", through::<p::StartRequest>, through::<p::Execution>),
        ("Worker/Run", through::<p::RunRequest>, through::<p::FollowResponse>),
        ("Worker/Follow", through::<p::FollowRequest>, through::<p::FollowResponse>),
        ("Worker/GetExecution", through::<p::GetExecutionRequest>, through::<p::Execution>),
        ("Worker/ListExecutions", through::<p::ListExecutionsRequest>, through::<p::ListExecutionsResponse>),
        ("Worker/Cancel", through::<p::CancelRequest>, through::<p::CancelResponse>),
        ("Worker/Forget", through::<p::ForgetRequest>, through::<p::ForgetResponse>),
        ("Builds/Begin", through::<p::BeginBuildRequest>, through::<p::BuildState>),
        ("Builds/GetBuild", through::<p::GetBuildRequest>, through::<p::BuildState>),
    ]
};

/// The status of a fault as the last release sends it.
fn previous_status(status: Status) -> Status {
    let ContractError::Fault(fault) = ContractError::from(status.clone()) else {
        return status; // of the transport
    };
    let code = match fault.kind {
        FaultKind::Invalid => Code::InvalidArgument,
        FaultKind::NotFound | FaultKind::Gone => Code::NotFound,
        FaultKind::Conflict => Code::FailedPrecondition,
        FaultKind::Mismatch => Code::AlreadyExists,
        FaultKind::Exhausted => Code::ResourceExhausted,
        FaultKind::Full => Code::PermissionDenied,
        FaultKind::Unavailable => Code::Aborted,
        _ => Code::Internal,
    };
    let mut status = Status::new(code, fault.message);
    if let Some(hint) = fault.hint {
        status.metadata_mut().insert_bin("headwater-hint-bin", MetadataValue::from_bytes(hint.as_bytes()));
    }
    status
}

/// The model's script, as a worker of the last release.
fn previous_script(model: &Arc<Model>) -> Script {
    let today = model.script();
    Arc::new(move |call| {
        let today = Arc::clone(&today);
        Box::pin(async move {
            let Some((_, request, answer)) = METHODS.iter().find(|(name, ..)| *name == call.method) else {
                return Answer::Status(Status::unimplemented(""));
            };
            let call = Call { message: request(call.message), ..call };
            match today(call).await {
                Answer::Message(message) => Answer::Message(answer(message)),
                Answer::Stream(messages) => Answer::Stream(messages.map(answer).boxed()),
                Answer::Status(status) => Answer::Status(previous_status(status)),
                Answer::Broken => Answer::Broken,
            }
        })
    })
}

async fn start() -> TestGateway {
    let model = Arc::new(Model::default());
    let script = previous_script(&model);
    TestGateway::with(model, script).await
}

/// An end with a detail, which the last release does not know.
fn timed_out() -> Verdict {
    let detail = Some(ExitDetail::TimedOut { after_ms: 9 });
    Verdict { detail, message: Some("after 9 ms".into()), ..Verdict::new(Reason::TimedOut) }
}

#[tokio::test]
async fn executions_start_stream_and_end_with_a_worker_of_the_last_release() {
    let test = start().await;
    let session = test.session().await;
    let run = test.gateway.starts.run(&ann(), order(Some(session), None), FollowOptions::default()).await;
    let (id, mut follower) = run.unwrap();
    test.model.print(id, b"one");
    assert!(matches!(follower.next().await.unwrap().unwrap().kind, EventKind::Started { .. }));
    test.worker.break_connections();
    test.model.finish(id, &timed_out());
    let event = follower.next().await.unwrap().unwrap();
    assert!(matches!(&event.kind, EventKind::Output { bytes, .. } if bytes == "one"), "{event:?}");
    let event = follower.next().await.unwrap().unwrap();
    let EventKind::Exited(verdict) = &event.kind else { panic!("{event:?}") };
    assert_eq!(verdict, &Verdict { detail: None, ..timed_out() }, "all but the detail");
    test.gateway.recorder.note_event(id, &event).await.unwrap();
    // One that nobody follows, as a one-shot, and one of another session.
    let one_shot = test.gateway.starts.start(&ann(), order(None, None)).await.unwrap().id;
    test.model.finish(one_shot, &exited(3));
    test.settle().await;
    assert_eq!(test.row(one_shot).await.unwrap().end.unwrap().verdict, exited(3));
    let end = test.row(id).await.unwrap().end.unwrap();
    assert_eq!((end.verdict.reason, end.verdict.detail, end.closed), (Reason::TimedOut, None, true));
    assert_eq!((test.model.starts(), test.worker.count("Worker/Start")), (2, 1));
}

#[tokio::test]
async fn faults_of_the_last_release_keep_their_meaning_and_are_not_retried() {
    let test = start().await;
    let session = test.session().await;
    let kinds = [
        (FaultKind::Invalid, 400),
        (FaultKind::NotFound, 404),
        (FaultKind::Conflict, 409),
        (FaultKind::Mismatch, 412),
        (FaultKind::Full, 413),
        (FaultKind::Exhausted, 429),
        (FaultKind::Internal, 500),
        (FaultKind::Unavailable, 503),
    ];
    for (number, (kind, status)) in (1..).zip(kinds) {
        test.model.on("Worker/Start", move |_, _| async move {
            Answer::fault(Fault::new(kind, "no").hint("do that"))
        });
        let error = test.start_in(session).await.unwrap_err();
        assert_eq!((error.status.as_u16(), test.worker.count("Worker/Start")), (status, number), "{kind:?}");
        assert!(error.hint == "do that" || kind == FaultKind::Internal, "{error:?}");
    }
    assert!(test.store().unfinished().await.unwrap().is_empty(), "a refused start leaves no row");
    // A lost connection is retried, as ever.
    test.model.on("Worker/Start", |model, call| async move {
        if call.number == 9 { Answer::lost() } else { model.answer(call).await }
    });
    test.start_in(session).await.unwrap();
    assert_eq!(test.worker.count("Worker/Start"), 10);
}

#[tokio::test]
async fn the_store_is_reconciled_with_a_worker_of_the_last_release() {
    let test = start().await;
    let (known, foreign) = (test.session().await, test.worker_session().id);
    let (lost, ended) = (test.start_in(known).await.unwrap().id, test.start_in(known).await.unwrap().id);
    test.stop().await;
    test.model.forget(lost);
    test.model.finish(ended, &exited(4));
    let unknown = ExecutionId::random();
    test.model.start(unknown, foreign, StartSpec::shell("true")).unwrap();
    let test = test.restart().await;
    // A worker of the last release removes no logs and has no list of removed ones.
    test.gateway.reconciler.reconcile().await;
    assert!(test.worker.count("Worker/ListRemoved") > 0);
    let reason = async |id| test.row(id).await.unwrap().end.map(|end| end.verdict.reason);
    assert_eq!(reason(lost).await, Some(Reason::Lost));
    assert_eq!(reason(ended).await, Some(Reason::Exited));
    assert_eq!(reason(unknown).await, None);
    assert!(test.store().session(foreign).await.unwrap().is_some());
}

/// The worker of the last release reads the request's JSON, and answers with JSON.
fn build_as_before(test: &TestGateway, result: &BuildResult) {
    let (session_spec, start_spec) = (SessionSpec::default(), StartSpec::shell("cc"));
    let specs = (Some(json(&session_spec)), Some(json(&start_spec)));
    test.model.on("Builds/Begin", move |model, call| {
        let request: previous::BeginBuildRequest = call.read();
        let spec: CompileSpec = serde_json::from_slice(&request.spec).unwrap();
        assert_eq!(spec.output_binary, "out");
        let session: SessionId = request.build_session_id.parse().unwrap();
        model.add_session(session, SessionSpec::default());
        let id = request.execution_id.parse().unwrap();
        model.start(id, session, StartSpec::shell("cc")).unwrap();
        model.finish(id, &exited(1));
        let (session_spec, start_spec) = specs.clone();
        let state = previous::BuildState { result: None, executed: true, session_spec, start_spec };
        async move { Answer::message(&state) }
    });
    let result = Some(json(result));
    test.model.on("Builds/GetBuild", move |_, _| {
        let state = previous::BuildState {
            result: result.clone(),
            executed: true,
            ..previous::BuildState::default()
        };
        async move { Answer::message(&state) }
    });
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

#[tokio::test]
async fn a_build_of_a_worker_of_the_last_release_has_its_result() {
    let test = start().await;
    let session = test.session().await;
    let failed = BuildResult { cached_objects: 2, ..BuildResult::ended(BuildStatus::Failed, "a.c:1: wrong") };
    build_as_before(&test, &failed);
    let spec = CompileSpec { output_binary: "out".into(), ..CompileSpec::default() };
    let row = test
        .gateway
        .compile(&ann(), session, spec, std::collections::BTreeMap::new(), RequestKey::default())
        .await
        .unwrap();
    assert!(row.executed);
    test.settle().await;
    let build = test.store().build(row.id).await.unwrap().unwrap();
    assert_eq!(build.result, Some(failed));
    let execution = test.row(row.id.execution()).await.unwrap();
    assert_eq!(execution.end.unwrap().verdict, exited(1), "its execution is one like any other");
    assert_eq!(test.worker.count("Builds/Begin"), 1);
}

#[test]
fn the_last_release_understands_what_a_worker_of_today_sends() {
    let verdict = v1::Verdict::from(&timed_out());
    let old = previous::Verdict::decode(Bytes::from(verdict.encode_to_vec())).unwrap();
    assert_eq!((old.reason.as_str(), old.message.as_deref()), ("timed_out", Some("after 9 ms")));
    // The filter does lose the detail, so the tests above show something.
    let filtered = v1::Verdict::decode(through::<previous::Verdict>(verdict.encode_to_vec().into())).unwrap();
    assert!(verdict.detail.is_some() && filtered.detail.is_none());
    let today = v1::FollowOptions { after_seq: 3, lossless: true, ..v1::FollowOptions::default() };
    let old = previous::FollowOptions::decode(Bytes::from(today.encode_to_vec())).unwrap();
    assert_eq!(old.after_seq, 3);
    for kind in [FaultKind::NotFound, FaultKind::Conflict, FaultKind::Invalid, FaultKind::Internal] {
        let status = Status::from(Fault::new(kind, "no"));
        assert_eq!(status.code(), previous_status(status.clone()).code(), "{kind:?} has the same code");
    }
}
