//! Which calls are repeated over a restart of the worker, shown with a worker that follows a script.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use bytes::Bytes;
use futures_util::stream;
use headwater_contract::{BuildSpec, Fault, FollowOptions, OutputSelector, WorkerRestart, connect, v1};
use headwater_protocol::build::CompileSpec;
use headwater_protocol::{
    BuildId, Command, ExecutionId, Seq, SessionId, SessionSpec, SnapshotId, StartSpec, TtySize,
};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

use super::*;

/// gRPC's `UNAVAILABLE`: to the client it is a lost connection.
const LOST: &str = "14";
/// gRPC's `NOT_FOUND`: an answer of the worker.
const REFUSED: &str = "5";

/// How often each method was called.
type Counts = Arc<Mutex<HashMap<String, usize>>>;

/// Somebody else starts the worker again.
#[derive(Debug)]
struct Nobody;

impl WorkerRestarter for Nobody {
    fn restart(&self, _: Duration) -> WorkerRestart<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What a scripted worker does. It always tells of itself (`Info`).
#[derive(Debug, Clone, Copy)]
enum Script {
    /// The first call of each method is lost, the others are refused.
    LoseFirst,
    /// Each call is lost.
    Lose,
    /// Each call is answered with a stream that breaks at once.
    Break,
    /// The first call of each method is answered with a stream that breaks at once, the others are lost.
    BreakFirst,
}

struct Scripted {
    worker: Worker,
    counts: Counts,
    _folder: TempDir,
}

impl Scripted {
    async fn start(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("worker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let counts = Counts::default();
        let seen = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&seen), script));
            }
        });
        let worker = Worker::new(connect(&socket).await.unwrap(), Arc::new(Nobody)).await.unwrap();
        Self { worker, counts, _folder: folder }
    }

    /// The methods that were called, each with its number of calls, in order.
    fn take(&self) -> Vec<(String, usize)> {
        let counts = std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort();
        counts
    }
}

/// The answer to a call: a message without fields, and that all is well.
fn empty_message() -> Body {
    let well =
        HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))]);
    let frames = [Frame::data(Bytes::from_static(&[0; 5])), Frame::trailers(well)];
    Body::new(StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>))))
}

/// The answer to a call: a stream that opens, and breaks a moment later.
fn broken_stream() -> Body {
    let broken = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Err::<Bytes, _>("broken")
    };
    Body::from_stream(stream::once(broken))
}

async fn serve(connection: UnixStream, counts: Counts, script: Script) {
    let service = service_fn(move |request: Request<Incoming>| {
        let method = request.uri().path().trim_start_matches("/headwater.worker.v1.").to_owned();
        let answer = Response::builder().header("content-type", "application/grpc");
        let answer = if method == "Worker/Info" {
            answer.body(empty_message())
        } else {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(method).or_default();
            *count += 1;
            match script {
                Script::Break => answer.body(broken_stream()),
                Script::LoseFirst if *count > 1 => answer.header("grpc-status", REFUSED).body(Body::empty()),
                Script::BreakFirst if *count == 1 => answer.body(broken_stream()),
                Script::LoseFirst | Script::Lose | Script::BreakFirst => {
                    answer.header("grpc-status", LOST).body(Body::empty())
                }
            }
        };
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    let builder = http2::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(connection), service).await;
}

fn ids() -> (SessionId, ExecutionId) {
    (SessionId::random(), ExecutionId::random())
}

fn order() -> BuildSpec {
    let (session, execution) = ids();
    let (owner, metadata) = ("somebody".to_owned(), std::collections::BTreeMap::new());
    let (id, build_session, spec) = (BuildId::random(), SessionId::random(), CompileSpec::default());
    BuildSpec { id, session, execution, build_session, owner, metadata, spec }
}

/// Makes calls, one after the other, each of which must fail with an answer of the worker.
macro_rules! refused {
    ($($call:expr),* $(,)?) => {
        $(
            let error = $call.await.map(drop).unwrap_err();
            assert!(error.fault().is_some(), "{}: {error}", stringify!($call));
        )*
    };
}

#[tokio::test(start_paused = true)]
async fn calls_that_can_be_made_twice_are_repeated_over_a_lost_connection() {
    let scripted = Scripted::start(Script::LoseFirst).await;
    let worker = &scripted.worker;
    let ((session, id), snapshot, path) = (ids(), SnapshotId::random(), Bytes::from_static(b"a"));
    let (spec, minute) = (StartSpec::new(Command::Shell("true".into())), Duration::from_mins(1));
    let (options, output) = (FollowOptions::default(), OutputSelector { id, stream: None });
    refused![
        worker.disk(),
        worker.usage(),
        worker.removed(0, 1),
        worker.prune(v1::PruneRequest::default()),
        worker.create_session(session, &SessionSpec::default()),
        worker.session(session),
        worker.sessions(true),
        worker.update_session(v1::UpdateSessionRequest::default()),
        worker.hibernate_session(session),
        worker.end_session(session, true),
        worker.fork_session(v1::ForkRequest::default()),
        worker.start(session, id, &spec),
        worker.run(session, id, &spec, options.clone()),
        worker.wait(id, minute, true),
        worker.executions(None, true),
        worker.processes(id),
        worker.kept(output),
        worker.read(output, 0, 1).next(),
        worker.cancel(id, None),
        worker.resize(id, TtySize::default()),
        worker.forget(id),
        worker.follow(id, options),
        worker.follow_marks(id, Seq(0)),
        worker.stdin(id),
        worker.snapshot(id, None),
        worker.sizes(id),
        worker.stat_file(session, path.clone()),
        worker.list_files(v1::ListFilesRequest::default()),
        worker.create_folder(session, path.clone()),
        worker.chmod_file(session, path.clone(), 0o600),
        worker.read_file(v1::ReadFileRequest::default()),
        worker.watch_tree(session, path.clone(), true),
        worker.search_tree(v1::SearchRequest::default()),
        worker.pack(session, path, v1::ArchiveFormat::Tar),
        worker.diff(session, None, false),
        worker.create_snapshot(session, snapshot, "name"),
        worker.snapshots(session),
        worker.remove_snapshot(session, snapshot),
        worker.restore_snapshot(session, snapshot),
        worker.begin_build(&order()),
        worker.build(BuildId::random(), minute),
        worker.known_languages(minute),
        worker.packages(session, v1::Ecosystem::Python),
    ];
    let counts = scripted.take();
    assert_eq!(counts.len(), 43, "{counts:?}");
    assert!(counts.iter().all(|(_, count)| *count == 2), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_must_not_be_made_twice_are_made_once() {
    let scripted = Scripted::start(Script::Lose).await;
    let (once, (session, id)) = (scripted.worker.once(), ids());
    let path = Bytes::from_static(b"a");
    let lost = [
        once.signal(id, 15, false).await.unwrap_err(),
        once.move_file(v1::MoveFileRequest::default()).await.unwrap_err(),
        once.copy_file(v1::CopyFileRequest::default()).await.unwrap_err(),
        once.remove_file(session, path, true).await.unwrap_err(),
        once.write_file(v1::WriteFileHead::default()).await.finish().await.unwrap_err(),
        once.unpack(stream::empty()).await.unwrap_err(),
    ];
    assert!(lost.iter().all(ContractError::is_disconnected), "{lost:?}");
    let once = ["Files/Copy", "Files/Move", "Files/Remove", "Files/Write", "Trees/Unpack", "Worker/Signal"];
    let once = once.map(|name| (name.to_owned(), 1));
    assert_eq!(scripted.take(), once);
}

/// Makes calls of one method until nobody waits any longer, and checks how many were made and how long that took.
async fn gives_up<T: std::fmt::Debug>(
    scripted: &Scripted,
    call: impl Future<Output = Result<T, ContractError>>,
) {
    let begun = tokio::time::Instant::now();
    assert!(call.await.unwrap_err().is_disconnected());
    let (calls, took) = (scripted.take()[0].1, begun.elapsed());
    // After 25 ms, 50 ms ... and then every 500 ms, for 30 s of the paused clock.
    assert!((60..70).contains(&calls) && took.as_secs() == 30, "{calls} calls in {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_backs_off_and_gives_up() {
    let scripted = Scripted::start(Script::Lose).await;
    gives_up(&scripted, scripted.worker.session(ids().0)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_opened_again_with_a_back_off_and_given_up() {
    for script in [Script::Break, Script::BreakFirst] {
        let scripted = Scripted::start(script).await;
        let mut follower = scripted.worker.follow(ids().1, FollowOptions::default()).await.unwrap();
        gives_up(&scripted, follower.next()).await;
        let mut marks = scripted.worker.follow_marks(ids().1, Seq(0)).await.unwrap();
        gives_up(&scripted, marks.next()).await;
        let mut reader = scripted.worker.read(OutputSelector { id: ids().1, stream: None }, 0, 1);
        gives_up(&scripted, reader.next()).await;
    }
}

#[test]
fn only_an_answer_that_is_too_large_is_done_without() {
    let refused = |kind| if_it_fits::<()>(Err(Fault::new(kind, "no").into()));
    assert_eq!(refused(FaultKind::Invalid).unwrap(), []);
    assert!(refused(FaultKind::Internal).is_err());
    assert!(if_it_fits::<()>(Err(ContractError::Disconnected("gone".into()))).is_err());
    assert_eq!(if_it_fits(Ok(vec![1])).unwrap(), [1]);
}
