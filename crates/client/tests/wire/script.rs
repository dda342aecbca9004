//! A scripted server: it sends the given bytes, and cuts the connection where the script says so.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater_client::Client;
use headwater_protocol::api::{ExecutionBody, write_event};
use headwater_protocol::{
    Event, EventKind, Execution, ExecutionId, ExecutionState, Reason, Seq, SessionId, StartSpec, Stream,
    Verdict,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request that was received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn after(&self) -> u64 {
        self.query.get("after").map_or(0, |after| after.parse().unwrap())
    }
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    /// These bytes, then the connection is cut.
    Cut(Vec<u8>),
    /// These bytes one by one, then the connection is cut.
    Slowly(Vec<u8>),
    /// These bytes, then nothing, for ever.
    Hang(Vec<u8>),
}

type Answer = Arc<dyn Fn(&Asked) -> Say + Send + Sync>;

/// A running server, which ends on drop.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Self {
        Self::start_at(own_address(), answer).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        answer: impl Fn(&Asked) -> Say + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answer, asked): (Answer, _) = (Arc::new(answer), Arc::new(Mutex::new(Vec::new())));
        let accepting = tokio::spawn(accept(listener, answer, Arc::clone(&asked)));
        Self { address, asked, accepting }
    }

    /// Stops the server; afterwards the port is closed.
    pub(crate) async fn stop(mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await; // the error says that it was aborted
    }

    pub(crate) fn client(&self) -> Client {
        client(self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) fn client(address: SocketAddr) -> Client {
    Client::new(&format!("http://{address}"), "tok_secret").unwrap()
}

/// An address that no other process uses: connections of this machine come from 127.0.0.1, so none of them
/// can have taken the port while the server is stopped.
pub(crate) fn own_address() -> SocketAddr {
    let bits = ExecutionId::random().bits().to_le_bytes();
    SocketAddr::from(([127, bits[0].max(1), bits[1], bits[2].clamp(1, 254)], 0))
}

async fn accept(listener: TcpListener, answer: Answer, asked: Arc<Mutex<Vec<Asked>>>) {
    // Dropped with this task: a server that ends cuts its connections.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
        connections.spawn(async move {
            let _ = serve(stream, &answer, &asked).await; // the client may disconnect
        });
    }
}

async fn serve(mut stream: TcpStream, answer: &Answer, asked: &Mutex<Vec<Asked>>) -> io::Result<()> {
    let request = read_request(&mut stream).await?;
    asked.lock().unwrap().push(request.clone());
    match answer(&request) {
        Say::Cut(bytes) => stream.write_all(&bytes).await,
        Say::Slowly(bytes) => {
            for byte in bytes {
                stream.write_all(&[byte]).await?;
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        Say::Hang(bytes) => {
            stream.write_all(&bytes).await?;
            stream.read_u8().await.map(drop)
        }
    }
}

pub(crate) async fn read_request(stream: &mut TcpStream) -> io::Result<Asked> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = |text: &str, between: &str| -> BTreeMap<String, String> {
        let pairs = text.split(between).filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Asked { method: method.into(), path: path.into(), query: pairs(query, "&"), headers, body })
}

/// A complete answer.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Say {
    let length = body.len();
    Say::Cut(
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
            .into_bytes(),
    )
}

/// An error in the gateway's format.
pub(crate) fn error(status: &str, code: &str, headers: &str) -> Say {
    let body =
        format!(r#"{{"error":{{"code":"{code}","message":"no","hint":"look","request_id":"req_1"}}}}"#);
    answer(status, headers, &body)
}

/// The head of a stream of events.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The head of a stream and one chunk of it.
pub(crate) fn chunk(text: &[u8]) -> Vec<u8> {
    let mut bytes = STREAM.as_bytes().to_vec();
    if !text.is_empty() {
        bytes.extend_from_slice(format!("{:x}\r\n", text.len()).as_bytes());
        bytes.extend_from_slice(text);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The same with the end of the stream.
pub(crate) fn whole(text: &[u8]) -> Vec<u8> {
    let mut bytes = chunk(text);
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

pub(crate) fn verdict(code: i32) -> Verdict {
    Verdict { code: Some(code), duration_ms: 9, ..Verdict::new(Reason::Exited) }
}

/// A log with an event of every kind.
pub(crate) fn log(id: ExecutionId) -> Vec<Event> {
    let output =
        |stream, offset, bytes: &'static [u8]| EventKind::Output { stream, offset, bytes: bytes.into() };
    let kinds = [
        (1, EventKind::Started { execution_id: id, pid: 7 }),
        (2, output(Stream::Stdout, 0, b"one\ndata: two\n\n")),
        (5, output(Stream::Stderr, 0, b"\xff\x00\xfe")),
        (6, output(Stream::Stdout, 15, "€\r\n".as_bytes())),
        (6, EventKind::Gap { stream: Stream::Stdout, from_byte: 20, to_byte: 99 }),
        (9, output(Stream::Stdout, 99, b"last")),
        (10, EventKind::Exited(verdict(3))),
        (11, EventKind::Closed),
    ];
    kinds.into_iter().map(|(seq, kind)| Event { seq: Seq(seq), at_ms: seq, kind }).collect()
}

/// Events as server-sent events.
pub(crate) fn sse<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<u8> {
    let mut text = b": welcome\n\n".to_vec();
    for event in events {
        text.extend_from_slice(format!("id: {}\nevent: {}\ndata: ", event.seq, event.kind.name()).as_bytes());
        write_event(event, &mut text);
        text.extend_from_slice(b"\n\n: hb\n\n");
    }
    text
}

/// The events for a follower that requests those after `after`; the seq of a gap is the one before it.
pub(crate) fn since(log: &[Event], after: u64) -> impl Iterator<Item = &Event> {
    log.iter().filter(move |event| {
        event.seq.0 > after || matches!(event.kind, EventKind::Gap { .. }) && event.seq.0 == after
    })
}

/// Fails the test instead of hanging it.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(2), future).await.expect("it happens in time")
}

/// An execution as JSON: running or closed.
pub(crate) fn execution(id: ExecutionId, is_closed: bool) -> String {
    let state = if is_closed {
        ExecutionState::Closed { verdict: verdict(3) }
    } else {
        ExecutionState::Running { pid: 7 }
    };
    let execution = Execution {
        id,
        session_id: SessionId::random(),
        spec: StartSpec::shell("x"),
        state,
        started_at_ms: 0,
        stdout_bytes: 0,
        stderr_bytes: 0,
        output_bytes: 0,
        last_seq: Seq(11),
        log_removed: None,
    };
    serde_json::to_string(&ExecutionBody::from(execution)).unwrap()
}
