//! Which calls are repeated over a restart of the worker, shown with a worker that follows a script.

mod in_place;
mod resume;
mod skew;

use bytes::Bytes;
use futures_util::stream;
use headwater_contract::{BuildSpec, Fault, FollowOptions, OutputSelector, v1};
use headwater_protocol::build::CompileSpec;
use headwater_protocol::{
    BuildId, Command, ExecutionId, Seq, SessionId, SessionSpec, SnapshotId, StartSpec, TtySize,
};

use super::scripted::{Answer, NoRestarter, ScriptedWorker};
use super::*;

/// A worker that always describes itself (`Info`), and for the rest does the same with all calls.
#[derive(Debug, Clone, Copy)]
enum Behaviour {
    /// The first call of each method is lost, the others are refused.
    LoseFirst,
    /// Each call is lost.
    Lose,
    /// Each call is answered with a stream that breaks at once.
    Break,
    /// The first call of each method is answered with a stream that breaks at once, the others are lost.
    BreakFirst,
}

impl Behaviour {
    fn answer(self, number: usize) -> Answer {
        match self {
            Self::Break => Answer::Broken,
            Self::LoseFirst if number > 1 => Answer::fault(Fault::new(FaultKind::NotFound, "no")),
            Self::BreakFirst if number == 1 => Answer::Broken,
            Self::LoseFirst | Self::Lose | Self::BreakFirst => Answer::lost(),
        }
    }
}

struct Scripted {
    worker: Worker,
    server: ScriptedWorker,
}

impl Scripted {
    async fn start(behaviour: Behaviour) -> Self {
        let server = ScriptedWorker::start(Arc::new(move |call| {
            let is_info = call.method == "Worker/Info";
            let answer = move || {
                if is_info {
                    Answer::message(&v1::InfoResponse::default())
                } else {
                    behaviour.answer(call.number)
                }
            };
            Box::pin(async move { answer() })
        }));
        let worker = Worker::new(server.connect().await, Arc::new(NoRestarter)).await.unwrap();
        Self { worker, server }
    }

    /// The methods that were called since the last time, each with its number of calls, in order.
    fn take(&self) -> Vec<(String, usize)> {
        self.server.take()
    }
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
    let scripted = Scripted::start(Behaviour::LoseFirst).await;
    let worker = &scripted.worker;
    let ((session, id), snapshot, path) = (ids(), SnapshotId::random(), Bytes::from_static(b"a"));
    let (spec, minute) = (StartSpec::new(Command::Shell("true".into())), Duration::from_mins(1));
    let (options, output) = (FollowOptions::default(), OutputSelector { id, stream: None });
    refused![
        worker.disk(),
        worker.usage(),
        worker.session_usage(session),
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
    assert_eq!(counts.len(), 44, "{counts:?}");
    assert!(counts.iter().all(|(_, count)| *count == 2), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_must_not_be_made_twice_are_made_once() {
    let scripted = Scripted::start(Behaviour::Lose).await;
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
    let scripted = Scripted::start(Behaviour::Lose).await;
    gives_up(&scripted, scripted.worker.session(ids().0)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_opened_again_with_a_back_off_and_given_up() {
    for behaviour in [Behaviour::Break, Behaviour::BreakFirst] {
        let scripted = Scripted::start(behaviour).await;
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
