//! A worker for tests: a gRPC server on a unix socket that answers as a script says. It needs neither root nor a
//! sandbox.
//!
//! Calls and answers are bytes here, so that a script can speak another version of the contract. [`model`] has a
//! script that behaves like a worker.

pub(crate) mod model;

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use headwater_contract::{Client, Fault, WorkerRestart, WorkerRestarter, connect};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::Status;

/// Bytes before each message of gRPC: a flag and the length.
const PREFIX_BYTES: usize = 5;
/// Methods whose requests are streams; the server does not read them.
const STREAMED: [&str; 3] = ["Worker/WriteStdin", "Files/Write", "Trees/Unpack"];
/// How long a test waits for something that must happen. Generous: the machine may be busy.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(3);

/// A call as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The service and the method: `Worker/Start`.
    pub(crate) method: String,
    /// How often the method has been called, this call included.
    pub(crate) number: usize,
    /// The request message.
    pub(crate) message: Bytes,
}

impl Call {
    /// Decodes the request.
    pub(crate) fn read<M: Message + Default>(&self) -> M {
        M::decode(self.message.clone()).unwrap()
    }
}

/// The answer to a call.
pub(crate) enum Answer {
    /// A message, encoded.
    Message(Bytes),
    /// A stream of messages.
    Stream(BoxStream<'static, Bytes>),
    /// An error.
    Status(Status),
    /// A stream that opens and breaks a moment later.
    Broken,
}

impl Answer {
    /// An answer that is this message.
    pub(crate) fn message(message: &impl Message) -> Self {
        Self::Message(message.encode_to_vec().into())
    }

    /// An error that the worker reports.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self::Status(fault.into())
    }

    /// To the client this is a lost connection.
    pub(crate) fn lost() -> Self {
        Self::Status(Status::unavailable("lost"))
    }

    fn into_response(self) -> Response<Body> {
        let body = match self {
            Self::Message(message) => ok_body(stream::iter([message])),
            Self::Stream(messages) => ok_body(messages),
            Self::Status(status) => return status.into_http(),
            Self::Broken => broken_body(),
        };
        Response::builder().header("content-type", "application/grpc").body(body).unwrap()
    }
}

/// These messages, and then the status that all is well.
fn ok_body(messages: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> Body {
    let frames = messages.map(|message| {
        let mut framed = BytesMut::with_capacity(PREFIX_BYTES + message.len());
        framed.put_u8(0); // not compressed
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.extend_from_slice(&message);
        Frame::data(framed.freeze())
    });
    let ok = HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))]);
    let frames = frames.chain(stream::iter([Frame::trailers(ok)]));
    Body::new(StreamBody::new(frames.map(Ok::<_, Infallible>)))
}

fn broken_body() -> Body {
    let broken = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Err::<Bytes, _>("broken")
    };
    Body::from_stream(stream::once(broken))
}

/// The future of an answer.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;
/// Answers calls.
pub(crate) type Script = Arc<dyn Fn(Call) -> Answering + Send + Sync>;

/// The number of calls of each method.
type Counts = watch::Sender<HashMap<String, usize>>;

/// Nobody starts the worker again: it is always running.
#[derive(Debug)]
pub(crate) struct NoRestarter;

impl WorkerRestarter for NoRestarter {
    fn restart(&self, _: Duration) -> WorkerRestart<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The server.
pub(crate) struct ScriptedWorker {
    folder: TempDir,
    counts: Arc<Counts>,
    connections: Arc<Mutex<JoinSet<()>>>,
}

impl ScriptedWorker {
    /// Serves until the test ends.
    pub(crate) fn start(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("worker.sock")).unwrap();
        let worker = Self { folder, counts: Arc::default(), connections: Arc::default() };
        let (counts, connections) = (Arc::clone(&worker.counts), Arc::clone(&worker.connections));
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let served = serve(connection, Arc::clone(&counts), Arc::clone(&script));
                connections.lock().unwrap_or_else(PoisonError::into_inner).spawn(served);
            }
        });
        worker
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("worker.sock")
    }

    /// A connection to it.
    pub(crate) async fn connect(&self) -> Client {
        connect(&self.socket()).await.unwrap()
    }

    /// Breaks all connections, as a worker does that is killed and started again at once.
    pub(crate) fn break_connections(&self) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// How often a method was called.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.counts.borrow().get(method).copied().unwrap_or_default()
    }

    /// Waits until a method was called this often.
    pub(crate) async fn called(&self, method: &str, times: usize) {
        let mut counts = self.counts.subscribe();
        let called = counts.wait_for(|counts| counts.get(method).is_some_and(|count| *count >= times));
        tokio::time::timeout(TEST_TIMEOUT, called).await.unwrap().unwrap();
    }

    /// The methods that were called since the last time, each with its number of calls, in order.
    pub(crate) fn take(&self) -> Vec<(String, usize)> {
        let mut counts: Vec<_> = self.counts.send_replace(HashMap::new()).into_iter().collect();
        counts.sort();
        counts
    }
}

async fn serve(connection: UnixStream, counts: Arc<Counts>, script: Script) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (counts, script) = (Arc::clone(&counts), Arc::clone(&script));
        async move {
            let method = request.uri().path().trim_start_matches("/headwater.worker.v1.").to_owned();
            let streamed = STREAMED.contains(&method.as_str());
            let message = if streamed { Bytes::new() } else { message(request.into_body()).await };
            let number = count(&counts, &method);
            Ok::<_, Infallible>(script(Call { method, number, message }).await.into_response())
        }
    });
    let builder = http2::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(connection), service).await;
}

/// Counts a call, unless it is one that clients use to see whether the worker runs.
fn count(counts: &Counts, method: &str) -> usize {
    let mut number = 0;
    counts.send_if_modified(|counts| {
        if method == "Worker/Info" {
            return false;
        }
        let count = counts.entry(method.to_owned()).or_default();
        *count += 1;
        number = *count;
        true
    });
    number
}

/// The one message of a request.
async fn message(body: Incoming) -> Bytes {
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    if bytes.len() < PREFIX_BYTES { Bytes::new() } else { bytes.slice(PREFIX_BYTES..) }
}
