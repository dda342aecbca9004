//! Plain calls: the requests they send, and how they handle answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use headwater_client::{ByteRange, Client, ClientError, ExecutionFilter, OutputStream, SessionFilter};
use headwater_protocol::api::{ExecutionStateName, SessionStateName, SignalName, SignalRequest};
use headwater_protocol::{ExecutionId, SessionId, TtySize};

use crate::script::{Asked, Server, answer, error, execution, soon};

const EMPTY: &str = r#"{"items":[]}"#;

#[tokio::test]
async fn filters_become_a_query() {
    let server = Server::start(|_: &Asked| answer("200 OK", "", EMPTY)).await;
    let (client, session) = (server.client(), SessionId::random());
    let filter = ExecutionFilter {
        session: Some(session),
        state: Some(ExecutionStateName::Running),
        language: Some("c++".into()),
        limit: Some(5),
        cursor: Some("a b".into()),
    };
    assert_eq!(soon(client.executions(&filter)).await.unwrap().items, []);
    let filter = SessionFilter {
        state: Some(SessionStateName::Ready),
        name: Some("x&y".into()),
        ..SessionFilter::default()
    };
    assert_eq!(soon(client.sessions(&filter)).await.unwrap().items, []);
    let asked = server.asked();
    let query = |at: usize, name: &str| asked[at].query[name].clone();
    assert_eq!(query(0, "session_id"), session.to_string());
    assert_eq!(
        [query(0, "state"), query(0, "language"), query(0, "limit"), query(0, "cursor")],
        ["running", "c%2B%2B", "5", "a+b"]
    );
    assert_eq!([query(1, "state"), query(1, "name")], ["ready", "x%26y"]);
}

#[tokio::test]
async fn actions_on_an_execution_are_sent_in_the_documented_form() {
    let server = Server::start(|_: &Asked| answer("204 No Content", "", "")).await;
    let (client, id) = (server.client(), ExecutionId::random());
    soon(client.stdin(id, Some(7), Bytes::from_static(b"a\0b"), true)).await.unwrap();
    let signal = SignalRequest { signal: SignalName::Number(2), tree: false };
    soon(client.signal(id, &signal)).await.unwrap();
    soon(client.resize(id, TtySize { rows: 3, cols: 4 })).await.unwrap();
    soon(client.cancel(id, None)).await.unwrap();
    let asked = server.asked();
    let paths: Vec<_> = asked.iter().map(|one| one.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(paths, ["stdin", "signal", "resize", "cancel"]);
    let query = |name: &str| asked[0].query[name].as_str();
    assert_eq!((asked[0].body.as_slice(), query("eof"), query("offset")), (&b"a\0b"[..], "true", "7"));
    assert_eq!(asked[2].body, br#"{"rows":3,"cols":4}"#);
}

#[tokio::test]
async fn raw_output_is_asked_for_by_range() {
    let server = Server::start(|_: &Asked| {
        answer("206 Partial Content", "Content-Range: bytes 2-3/9\r\nETag: \"e\"\r\n", "ab")
    })
    .await;
    let range = ByteRange::From { start: 2, length: Some(2) };
    let output =
        soon(server.client().output(ExecutionId::random(), OutputStream::Merged, Some(range))).await.unwrap();
    assert_eq!((output.content_range(), output.etag()), (Some("bytes 2-3/9"), Some("\"e\"")));
    assert_eq!(soon(output.bytes()).await.unwrap(), b"ab");
    let asked = server.asked();
    assert_eq!(
        (asked[0].headers["range"].as_str(), asked[0].query["stream"].as_str()),
        ("bytes=2-3", "merged")
    );
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_failing_one_only_when_the_client_insists() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_: &Asked| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => error("429 Too Many Requests", "rate_limited", "Retry-After: 0\r\n"),
        2 | 3 => crate::script::Say::Cut(b"HTTP/1.1 200".to_vec()),
        _ => answer("200 OK", "", EMPTY),
    })
    .await;
    let client = server.client();
    let lost = soon(client.sessions(&SessionFilter::default())).await.unwrap_err();
    assert!(matches!(lost, ClientError::Disconnected(_)), "{lost}");
    let page = soon(client.retry(|client| async move { client.sessions(&SessionFilter::default()).await }))
        .await
        .unwrap();
    assert_eq!((page.items.len(), server.asked().len()), (0, 5));
}

#[tokio::test]
async fn waiting_for_an_end_asks_as_long_as_it_may_and_no_longer() {
    let server = Server::start(|_: &Asked| error("404 Not Found", "not_found", "")).await;
    let gone = soon(server.client().wait(ExecutionId::random(), Duration::from_mins(10))).await.unwrap_err();
    assert_eq!(gone.api().unwrap().status, 404);
    assert_eq!(server.asked()[0].query["wait"], "20000ms");
}

#[tokio::test]
async fn an_answer_of_another_service_is_an_error() {
    let server = Server::start(|_: &Asked| answer("200 OK", "", "<html>")).await;
    assert!(matches!(soon(server.client().info()).await, Err(ClientError::Malformed(_))));
}

#[test]
fn a_token_that_no_header_can_carry_is_refused() {
    assert!(matches!(Client::new("http://127.0.0.1:1", "a\nb"), Err(ClientError::BadToken)));
}

#[test]
fn the_token_is_not_shown() {
    let client = Client::new("http://127.0.0.1:1", "tok_secret").unwrap();
    assert!(!format!("{client:?}").contains("tok_secret"));
}

#[tokio::test]
async fn a_server_that_answers_early_is_asked_for_the_rest_of_the_time() {
    let id = ExecutionId::random();
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_: &Asked| {
        let ended = count.fetch_add(1, Ordering::SeqCst) == 2;
        answer("200 OK", "", &execution(id, ended))
    })
    .await;
    let ended = soon(server.client().wait(id, Duration::from_mins(1))).await.unwrap();
    assert_eq!((ended.exit.map(|exit| exit.code), server.asked().len()), (Some(Some(3)), 3));
}

#[tokio::test]
async fn the_end_of_a_wait_returns_the_current_state() {
    let id = ExecutionId::random();
    let server = Server::start(move |_: &Asked| answer("200 OK", "", &execution(id, false))).await;
    let running = soon(server.client().wait(id, Duration::from_millis(120))).await.unwrap();
    assert_eq!((running.state, running.exit), (ExecutionStateName::Running, None));
    assert_eq!(soon(server.client().wait(id, Duration::ZERO)).await.unwrap().id, id);
}

#[tokio::test]
async fn a_persistent_client_waits_only_for_a_server_that_has_answered_once() {
    let server = Server::start(|_: &Asked| answer("200 OK", "", EMPTY)).await;
    let (known, unknown, address) = (server.client(), server.client(), server.address);
    let list = |client: Client| async move { client.sessions(&SessionFilter::default()).await };
    soon(known.retry_known_server(list)).await.unwrap();
    server.stop().await;
    assert!(matches!(soon(unknown.retry_known_server(list)).await, Err(ClientError::Unreachable { .. })));
    let waiting = tokio::spawn(async move { known.retry_known_server(list).await });
    let _back = Server::start_at(address, |_: &Asked| answer("200 OK", "", EMPTY)).await;
    assert!(soon(waiting).await.unwrap().is_ok());
}
