//! Attaching over a WebSocket that breaks: each event exactly once, and input arrives.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use headwater_client::{AttachOptions, Attachment, ClientError};
use headwater_protocol::api::write_event;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream, TtySize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use crate::script::{client, log, own_address, since, soon};

type Ws = WebSocketStream<TcpStream>;

fn frame(event: &Event) -> Message {
    let mut bytes = Vec::new();
    if let EventKind::Output { stream, bytes: output, .. } = &event.kind {
        bytes.extend_from_slice(&[0x01, *stream as u8]);
        bytes.extend_from_slice(&event.seq.0.to_le_bytes());
        bytes.extend_from_slice(output);
    } else {
        bytes.push(0x02);
        write_event(event, &mut bytes);
    }
    Message::Binary(bytes.into())
}

/// A server that passes each connection, with the requested `after`, to `serve`.
struct Server {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn start<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(Ws, String) -> F + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind(own_address()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    let accepting = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let serve = Arc::clone(&serve);
            connections.spawn(async move {
                let mut target = String::new();
                #[allow(clippy::result_large_err)] // the library's error type
                let look = |request: &tokio_tungstenite::tungstenite::handshake::server::Request,
                            response| {
                    target = request.uri().to_string();
                    Ok(response)
                };
                if let Ok(ws) = tokio_tungstenite::accept_hdr_async(stream, look).await {
                    serve(ws, target).await;
                }
            });
        }
    });
    Server { address, accepting }
}

fn after(target: &str) -> u64 {
    let found = target.split(['?', '&']).find_map(|pair| pair.strip_prefix("after="));
    found.map_or(0, |after| after.parse().unwrap())
}

fn until_closed() -> AttachOptions {
    AttachOptions { until_closed: true, ..AttachOptions::default() }
}

async fn collect(attachment: &mut Attachment) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(event) = soon(attachment.next()).await.unwrap() {
        all.push(event);
    }
    all
}

/// The events without their times, which frames of output do not carry.
fn timeless(events: &[Event]) -> Vec<Event> {
    events.iter().map(|event| Event { at_ms: 0, ..event.clone() }).collect()
}

#[tokio::test]
async fn connections_that_break_after_any_number_of_frames_deliver_each_event_once() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = start(move |mut ws, target| {
        // A known event, a new one, then the connection is cut without a close frame.
        let next: Vec<_> = since(&events, after(&target).saturating_sub(1)).take(3).map(frame).collect();
        async move {
            for message in next {
                if ws.send(message).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    let mut attachment = soon(client(server.address).attach(id, until_closed())).await.unwrap();
    assert_eq!(timeless(&collect(&mut attachment).await), timeless(&log));
}

#[tokio::test]
async fn a_server_that_restarts_in_order_is_attached_to_again() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = start(move |mut ws, target| {
        let next: Vec<_> = since(&events, after(&target)).take(4).map(frame).collect();
        async move {
            for message in next {
                ws.feed(message).await.unwrap();
            }
            let away = CloseFrame { code: CloseCode::Restart, reason: "restart".into() };
            ws.close(Some(away)).await.unwrap();
            while let Some(Ok(_)) = ws.next().await {}
        }
    })
    .await;
    let mut attachment = soon(client(server.address).attach(id, until_closed())).await.unwrap();
    assert_eq!(timeless(&collect(&mut attachment).await), timeless(&log));
}

#[tokio::test]
async fn input_size_and_signals_arrive_as_frames_in_their_order_while_events_come() {
    let id = ExecutionId::random();
    let log = log(id);
    let (seen, mut frames) = mpsc::unbounded_channel::<Bytes>();
    let events = log.clone();
    let server = start(move |mut ws, _| {
        let (seen, last) = (seen.clone(), frame(&events[7]));
        async move {
            while let Some(Ok(message)) = ws.next().await {
                let Message::Binary(bytes) = message else { continue };
                let is_last = bytes[0] == 0x13;
                seen.send(bytes).unwrap();
                if is_last {
                    ws.send(last.clone()).await.unwrap();
                }
            }
        }
    })
    .await;
    let mut attachment = soon(client(server.address).attach(id, until_closed())).await.unwrap();
    let input = attachment.input().unwrap();
    let sending = tokio::spawn(async move {
        input.send_stdin(Bytes::from(vec![b'x'; 100_000])).await.unwrap();
        input.eof().await.unwrap();
        input.resize(TtySize { rows: 2, cols: 3 }).await.unwrap();
        input.signal(15).await.unwrap();
    });
    assert_eq!(collect(&mut attachment).await, log[7..]);
    soon(sending).await.unwrap();
    let mut all = Vec::new();
    while let Ok(bytes) = frames.try_recv() {
        all.push(bytes);
    }
    let stdin: usize = all.iter().filter(|bytes| bytes[0] == 0x10).map(|bytes| bytes.len() - 1).sum();
    assert_eq!(stdin, 100_000);
    let rest: Vec<_> = all.iter().filter(|bytes| bytes[0] != 0x10).map(|bytes| &bytes[..]).collect();
    assert_eq!(rest, [&b"\x11"[..], b"\x12\x02\0\x03\0", b"\x13\x0f"]);
}

#[tokio::test]
async fn credit_is_granted_first_and_again_as_output_is_taken() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = start(move |mut ws, _| {
        let events = events.clone();
        async move {
            let mut credit: i64 = 0;
            for event in &events {
                let size = match &event.kind {
                    EventKind::Output { bytes, .. } => i64::try_from(bytes.len()).unwrap(),
                    _ => 0,
                };
                while credit < size {
                    let Some(Ok(Message::Binary(bytes))) = ws.next().await else { continue };
                    assert_eq!(bytes[0], 0x14);
                    credit += i64::from(u32::from_le_bytes(bytes[1..5].try_into().unwrap()));
                }
                credit -= size;
                ws.send(frame(event)).await.unwrap();
            }
        }
    })
    .await;
    let options = AttachOptions { credit_bytes: Some(16), ..until_closed() };
    let mut attachment = soon(client(server.address).attach(id, options)).await.unwrap();
    assert_eq!(timeless(&collect(&mut attachment).await), timeless(&log));
}

#[tokio::test]
async fn a_server_that_is_silent_is_asked_and_then_left() {
    let id = ExecutionId::random();
    let log = log(id);
    let events = log.clone();
    let server = start(move |mut ws, target| {
        let next: Vec<_> = since(&events, after(&target)).map(frame).collect();
        let is_first = after(&target) == 0;
        async move {
            for message in next.into_iter().take(if is_first { 2 } else { 99 }) {
                if ws.send(message).await.is_err() {
                    return;
                }
            }
            if is_first {
                // Half open: it neither reads (so no ping is answered) nor closes.
                std::future::pending::<()>().await;
            }
        }
    })
    .await;
    let client = client(server.address).with_idle_timeout(Duration::from_millis(300));
    let mut attachment = soon(client.attach(id, until_closed())).await.unwrap();
    assert_eq!(timeless(&collect(&mut attachment).await), timeless(&log));
}

#[tokio::test]
async fn a_viewer_cannot_write_input_and_a_refused_attachment_is_reported() {
    let id = ExecutionId::random();
    let server = start(|mut ws, target| async move {
        assert!(target.contains("read_only=true"), "{target}");
        let no = CloseFrame { code: CloseCode::Policy, reason: "not yours".into() };
        ws.close(Some(no)).await.unwrap();
        while let Some(Ok(_)) = ws.next().await {}
    })
    .await;
    let options = AttachOptions { read_only: true, ..until_closed() };
    let mut attachment = soon(client(server.address).attach(id, options)).await.unwrap();
    assert!(attachment.input().is_none());
    let error = soon(attachment.next()).await.unwrap_err();
    assert!(matches!(&error, ClientError::Malformed(why) if why.contains("not yours")), "{error}");
}

#[tokio::test]
async fn an_event_that_comes_in_parts_is_gone_on_with_where_the_connection_broke() {
    let id = ExecutionId::random();
    let text = "0123456789".repeat(10);
    let output = |seq: u64, bytes: &str| {
        let kind = EventKind::Output { stream: Stream::Stdout, offset: 0, bytes: bytes.to_owned().into() };
        Event { seq: Seq(seq), at_ms: 0, kind }
    };
    let (whole, last) = (text.clone(), log(id)[7].clone());
    let server = start(move |mut ws, target| {
        let skip = target.split(['?', '&']).find_map(|pair| pair.strip_prefix("skip="));
        let skip = skip.map_or(0, |skip| skip.parse::<usize>().unwrap());
        assert!(target.contains("after=4"), "{target}");
        // Parts have the seq of the event before; each connection brings one, and the last one the rest.
        let rest = whole[skip..].to_owned();
        let part = if rest.len() > 30 { frame(&output(4, &rest[..30])) } else { frame(&output(6, &rest)) };
        let end = (rest.len() <= 30).then(|| frame(&last));
        async move {
            for message in [part].into_iter().chain(end) {
                let _ = ws.send(message).await; // the client may have left
            }
        }
    })
    .await;
    let options = AttachOptions { after: Seq(4), credit_bytes: Some(1 << 20), ..until_closed() };
    let mut attachment = soon(client(server.address).attach(id, options)).await.unwrap();
    let (mut got, mut seqs) = (String::new(), Vec::new());
    for event in collect(&mut attachment).await {
        seqs.push(event.seq.0);
        if let EventKind::Output { bytes, offset, .. } = event.kind {
            assert_eq!(offset, got.len() as u64);
            got += std::str::from_utf8(&bytes).unwrap();
        }
    }
    assert_eq!((got, seqs), (text, vec![4, 4, 4, 6, 11]));
}

#[tokio::test]
async fn a_refusal_of_the_server_is_reported_and_a_failing_log_ends_with_the_reason() {
    let id = ExecutionId::random();
    let first = log(id)[0].clone();
    let server = start(move |mut ws, _| {
        let first = frame(&first);
        async move {
            let error =
                b"\x02{\"type\":\"error\",\"code\":\"conflict\",\"message\":\"nobody reads\",\"hint\":\"\"}";
            ws.feed(Message::Binary(Bytes::from_static(error))).await.unwrap();
            ws.feed(first).await.unwrap();
            let error =
                b"\x02{\"type\":\"error\",\"code\":\"internal\",\"message\":\"broken log\",\"hint\":\"\"}";
            ws.feed(Message::Binary(Bytes::from_static(error))).await.unwrap();
            let no = CloseFrame { code: CloseCode::Error, reason: "internal".into() };
            ws.close(Some(no)).await.unwrap();
            while let Some(Ok(_)) = ws.next().await {}
        }
    })
    .await;
    let mut attachment = soon(client(server.address).attach(id, until_closed())).await.unwrap();
    assert!(soon(attachment.next()).await.unwrap().is_some());
    assert_eq!(attachment.take_refusal().unwrap().message, "nobody reads");
    assert!(attachment.take_refusal().is_none());
    assert_eq!(soon(attachment.next()).await.unwrap_err().api().unwrap().message, "broken log");
}
