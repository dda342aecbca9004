//! Following over broken connections: each event exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use headwater_client::{Client, ClientError, FollowOptions, Follower};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq};

use crate::script::{
    Asked, STREAM, Say, Server, answer, chunk, client, error, execution, log, since, soon, sse, whole,
};

fn until_closed() -> FollowOptions {
    FollowOptions { until_closed: true, ..FollowOptions::default() }
}

async fn collect(follower: &mut Follower) -> Result<Vec<Event>, ClientError> {
    let mut all = Vec::new();
    while let Some(event) = follower.next().await? {
        all.push(event);
    }
    Ok(all)
}

async fn follow(client: &Client, id: ExecutionId, options: FollowOptions) -> Result<Vec<Event>, ClientError> {
    soon(async { collect(&mut client.follow(id, options).await?).await }).await
}

/// A server whose first answer to each follower is cut after as many bytes as its `batch_ms` says.
fn cutting(log: Vec<Event>) -> impl Fn(&Asked) -> Say + Send + Sync {
    move |asked| {
        let bytes = whole(&sse(since(&log, asked.after())));
        let cut = asked.query["batch_ms"].parse::<usize>().unwrap();
        Say::Cut(if asked.after() == 0 && cut < bytes.len() { bytes[..cut].to_vec() } else { bytes })
    }
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_delivers_each_event_once() {
    let id = ExecutionId::random();
    let log = log(id);
    let text = sse(&log);
    // Before the first event the same cut would happen again: the next test covers these cuts.
    let head = whole(&text).len() - text.len() - b"\r\n0\r\n\r\n".len();
    let first = head + text.windows(2).position(|two| two == b"}\n").unwrap() + 3;
    let server = Server::start(cutting(log.clone())).await;
    let client = server.client();
    let cuts = stream::iter(first..=whole(&text).len()).map(|cut| {
        let options = FollowOptions { batch_ms: u32::try_from(cut).ok(), ..until_closed() };
        let client = client.clone();
        async move { (cut, follow(&client, id, options).await) }
    });
    let mut cuts = cuts.buffer_unordered(32);
    while let Some((cut, events)) = cuts.next().await {
        assert_eq!(events.unwrap(), log, "cut after {cut} bytes");
    }
}

#[tokio::test]
async fn a_connection_cut_before_its_first_event_is_made_again() {
    let id = ExecutionId::random();
    let log = log(id);
    let first = whole(&sse(&log[..1])).len() - 5;
    for cut in [0, 1, 9, 17, STREAM.len() - 1, STREAM.len(), STREAM.len() + 3, first / 2, first - 9] {
        let (events, count) = (log.clone(), AtomicUsize::new(0));
        let server = Server::start(move |asked: &Asked| {
            let bytes = whole(&sse(since(&events, asked.after())));
            Say::Cut(if count.fetch_add(1, Ordering::SeqCst) < 2 { bytes[..cut].to_vec() } else { bytes })
        })
        .await;
        assert_eq!(follow(&server.client(), id, until_closed()).await.unwrap(), log, "{cut}");
        assert_eq!(server.asked().len(), 3, "{cut}");
    }
}

#[tokio::test]
async fn a_server_that_cuts_after_every_event_and_repeats_old_ones_is_followed_to_the_end() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = Server::start(move |asked: &Asked| {
        // From the very beginning, up to one new event: events that were delivered before must be skipped.
        let known = events.iter().filter(|event| event.seq.0 <= asked.after()).count();
        Say::Cut(chunk(&sse(&events[..events.len().min(known + 1)])))
    })
    .await;
    assert_eq!(follow(&server.client(), id, until_closed()).await.unwrap(), log);
    let asked: Vec<_> = server.asked().iter().map(Asked::after).collect();
    assert!(asked.is_sorted() && asked.len() > 4, "{asked:?}");
}

#[tokio::test]
async fn slow_bytes_make_the_same_events() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = Server::start(move |_: &Asked| Say::Slowly(whole(&sse(&events)))).await;
    assert_eq!(follow(&server.client(), id, until_closed()).await.unwrap(), log);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn following_stops_after_the_verdict_unless_the_close_is_asked_for() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    // Even if the server continues.
    let server = Server::start(move |_: &Asked| Say::Hang(chunk(&sse(&events)))).await;
    assert_eq!(follow(&server.client(), id, FollowOptions::default()).await.unwrap(), log[..7]);
    assert_eq!(server.asked()[0].query["until"], "exited");
}

#[tokio::test]
async fn a_server_that_says_reconnect_is_left_and_asked_again() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = Server::start(move |asked: &Asked| {
        let mut text = sse(since(&events, asked.after()).take(2));
        if asked.after() >= 9 {
            return Say::Cut(whole(&text));
        }
        text.extend_from_slice(b"event: reconnect\ndata: {}\n\n");
        Say::Hang(chunk(&text))
    })
    .await;
    assert_eq!(follow(&server.client(), id, until_closed()).await.unwrap(), log);
}

#[tokio::test]
async fn a_silent_connection_is_closed_and_opened_again() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = Server::start(move |asked: &Asked| {
        let text = sse(since(&events, asked.after()).take(3));
        if asked.after() >= 6 { Say::Cut(whole(&text)) } else { Say::Hang(chunk(&text)) }
    })
    .await;
    let client = server.client().with_idle_timeout(Duration::from_millis(200));
    assert_eq!(follow(&client, id, until_closed()).await.unwrap(), log);
    assert!(server.asked().len() >= 3);
}

#[tokio::test]
async fn a_server_that_goes_away_and_comes_back_is_followed_on() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let first = Server::start(move |_: &Asked| Say::Hang(chunk(&sse(&events[..3])))).await;
    let address = first.address;
    let mut follower = soon(client(address).follow(id, until_closed())).await.unwrap();
    let mut got = Vec::new();
    for _ in 0..3 {
        got.extend(soon(follower.next()).await.unwrap());
    }
    first.stop().await;
    let rest = tokio::spawn(async move { (collect(&mut follower).await, follower.position()) });
    // At first there may be no server; then one that is starting; then the server.
    let count = Arc::new(AtomicUsize::new(0));
    let (events, counter) = (log.clone(), Arc::clone(&count));
    let _second =
        Server::start_at(address, move |asked: &Asked| match counter.fetch_add(1, Ordering::SeqCst) {
            0 => error("502 Bad Gateway", "bad_gateway", ""),
            1 => error("503 Service Unavailable", "unavailable", "Retry-After: 0\r\n"),
            2 => error("429 Too Many Requests", "rate_limited", "Retry-After: 0\r\n"),
            _ => Say::Cut(whole(&sse(since(&events, asked.after())))),
        })
        .await;
    let (more, position) = soon(rest).await.unwrap();
    got.extend(more.unwrap());
    assert_eq!(got, log);
    assert_eq!((position, count.load(Ordering::SeqCst)), (Seq(11), 4));
}

#[tokio::test]
async fn a_server_that_stays_away_is_reported_when_the_retries_end() {
    let id = ExecutionId::random();
    let server = Server::start(move |_: &Asked| Say::Hang(chunk(&sse(&log(id)[..1])))).await;
    let client = server.client().with_retry_timeout(Duration::from_millis(300));
    let mut follower = soon(client.follow(id, until_closed())).await.unwrap();
    assert!(soon(follower.next()).await.unwrap().is_some());
    server.stop().await;
    let error = soon(follower.next()).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn an_address_without_a_server_is_reported_at_once() {
    let server = Server::start(|_: &Asked| Say::Cut(Vec::new())).await;
    let client = server.client();
    server.stop().await;
    let error = soon(client.follow(ExecutionId::random(), until_closed())).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_not_an_event_stream_is_refused_and_not_retried() {
    for (bytes, says) in [
        (chunk(b"event: stdout\ndata: garbage\n\n"), "cannot be read"),
        (chunk(b"event: exited\ndata: {\"type\":\"exited\",\"seq\":1,\"at_ms\":1}\n\n"), "lacks a field"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi".to_vec(), "text/html"),
    ] {
        let server = Server::start(move |_: &Asked| Say::Hang(bytes.clone())).await;
        let error = follow(&server.client(), ExecutionId::random(), until_closed()).await.unwrap_err();
        assert!(matches!(&error, ClientError::Malformed(why) if why.contains(says)), "{error}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn an_unknown_execution_is_reported_with_the_message_of_the_server() {
    let server = Server::start(|_: &Asked| error("404 Not Found", "not_found", "")).await;
    let error = follow(&server.client(), ExecutionId::random(), until_closed()).await.unwrap_err();
    let api = error.api().unwrap();
    assert_eq!((api.status, api.code.as_str(), api.hint.as_str()), (404, "not_found", "look"));
}

#[tokio::test]
async fn a_stream_that_ends_too_early_is_asked_for_again_and_one_behind_the_end_is_not() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let state = execution(id, true);
    let server = Server::start(move |asked: &Asked| {
        if !asked.path.ends_with("/events") {
            return answer("200 OK", "Content-Type: application/json\r\n", &state);
        }
        Say::Cut(whole(&sse(since(&events, asked.after()).take(3))))
    })
    .await;
    assert_eq!(follow(&server.client(), id, until_closed()).await.unwrap(), log);
    let behind = FollowOptions { after: Seq(11), ..until_closed() };
    assert_eq!(follow(&server.client(), id, behind).await.unwrap(), []);
}

#[tokio::test]
async fn a_tail_is_not_asked_for_again_once_output_has_come() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = Server::start(move |asked: &Asked| {
        let upto = if asked.query.contains_key("tail") { asked.after() + 1 } else { 99 };
        let next = since(&events, asked.after()).filter(|event| event.seq.0 <= upto);
        Say::Cut(chunk(&sse(next)))
    })
    .await;
    let options = FollowOptions { tail_bytes: Some(5), ..until_closed() };
    assert_eq!(follow(&server.client(), id, options).await.unwrap(), log);
    let tails: Vec<_> = server.asked().iter().map(|asked| asked.query.contains_key("tail")).collect();
    assert_eq!(tails, [true, true, false]);
    assert!(matches!(log[1].kind, EventKind::Output { .. }));
}

#[tokio::test]
async fn a_server_that_only_says_reconnect_is_asked_with_pauses_and_not_for_ever() {
    let server = Server::start(|_: &Asked| Say::Cut(whole(b"event: reconnect\ndata: {}\n\n"))).await;
    let client = server.client().with_retry_timeout(Duration::from_millis(300));
    assert!(follow(&client, ExecutionId::random(), until_closed()).await.is_err());
    // Without pauses it would be thousands.
    assert!(server.asked().len() < 200, "{}", server.asked().len());
}
