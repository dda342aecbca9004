//! Starting and following in one round trip: one start, whatever breaks.

use std::sync::atomic::{AtomicUsize, Ordering};

use headwater_client::{ClientError, FollowOptions, IdempotencyKey};
use headwater_protocol::ExecutionId;
use headwater_protocol::api::StartRequest;

use crate::script::{Asked, STREAM, Say, Server, chunk, error, log, since, soon, sse, whole};

fn request() -> StartRequest {
    StartRequest { shell: Some("echo hi".into()), ..StartRequest::default() }
}

#[tokio::test]
async fn a_connection_lost_before_the_first_event_repeats_the_start_with_the_same_key() {
    let id = ExecutionId::random();
    let events = log(id);
    let all = whole(&sse(&events[..7]));
    for cut in [0, 5, STREAM.len(), STREAM.len() + 20] {
        let (bytes, count) = (all.clone(), AtomicUsize::new(0));
        let server = Server::start(move |_: &Asked| {
            Say::Cut(if count.fetch_add(1, Ordering::SeqCst) < 3 {
                bytes[..cut].to_vec()
            } else {
                bytes.clone()
            })
        })
        .await;
        let client = server.client();
        let mut run = soon(client.run(None, &request(), FollowOptions::default())).await.unwrap();
        assert_eq!(soon(run.identify()).await.unwrap(), id);
        for event in &events[..7] {
            assert_eq!(soon(run.next()).await.unwrap().as_ref(), Some(event), "{cut}");
        }
        assert_eq!(soon(run.next()).await.unwrap(), None);
        assert_eq!(run.execution_id(), Some(id));
        let asked = server.asked();
        assert_eq!(asked.len(), 4);
        for one in &asked {
            assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/v1/executions"));
            assert_eq!(one.headers["accept"], "text/event-stream");
            assert_eq!(one.headers["authorization"], "Bearer tok_secret");
            assert_eq!(one.headers["idempotency-key"], asked[0].headers["idempotency-key"]);
            assert_eq!(serde_json::from_slice::<StartRequest>(&one.body).unwrap(), request());
        }
    }
}

#[tokio::test]
async fn a_connection_lost_after_the_first_event_goes_on_by_reading_the_log() {
    let id = ExecutionId::random();
    let events = log(id);
    let script = events.clone();
    let server = Server::start(move |asked: &Asked| match asked.method.as_str() {
        "POST" => Say::Cut(chunk(&sse(&script[..1]))),
        _ => Say::Cut(whole(&sse(since(&script, asked.after())))),
    })
    .await;
    let mut run = soon(server.client().run(None, &request(), FollowOptions::default())).await.unwrap();
    for event in &events[..7] {
        assert_eq!(soon(run.next()).await.unwrap().as_ref(), Some(event));
    }
    let asked = server.asked();
    assert_eq!((asked.len(), asked[1].path.as_str()), (2, format!("/v1/executions/{id}/events").as_str()));
    assert_eq!(asked[1].after(), 1);
}

#[tokio::test]
async fn two_runs_have_two_keys() {
    let id = ExecutionId::random();
    let events = log(id);
    let server = Server::start(move |_: &Asked| Say::Cut(whole(&sse(&events)))).await;
    for _ in 0..2 {
        soon(server.client().run(None, &request(), FollowOptions::default())).await.unwrap();
    }
    let asked = server.asked();
    assert_ne!(asked[0].headers["idempotency-key"], asked[1].headers["idempotency-key"]);
}

#[tokio::test]
async fn a_start_that_is_refused_is_not_repeated() {
    let server = Server::start(|_: &Asked| error("400 Bad Request", "invalid_request", "")).await;
    let refused = soon(server.client().run(None, &request(), FollowOptions::default())).await.unwrap_err();
    assert!(matches!(&refused, ClientError::Api(api) if api.status == 400), "{refused}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_plain_start_with_a_key_waits_where_the_server_asks_for_it_and_one_without_does_not() {
    let busy = |_: &Asked| error("429 Too Many Requests", "exhausted", "Retry-After: 0\r\n");
    let server = Server::start(busy).await;
    let client = server.client().with_retry_timeout(std::time::Duration::from_secs(2));
    let key = IdempotencyKey::new("mine");
    assert!(soon(client.start(None, &request(), Some(&key))).await.is_err());
    let repeated = server.asked().len();
    assert!(repeated > 1 && server.asked().iter().all(|asked| asked.headers["idempotency-key"] == "mine"));
    assert!(soon(client.start(None, &request(), None)).await.is_err());
    assert_eq!(server.asked().len(), repeated + 1);
}
