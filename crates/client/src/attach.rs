//! Attaching to an execution over a WebSocket: receiving its events and sending input and signals, over any
//! number of connections.
//!
//! Events are delivered exactly once, as by a [`Follower`](crate::Follower). Input is different: frames carry
//! no positions, so a chunk that was being sent when a connection broke may or may not have reached the
//! program. It is not sent again. Frames that were not yet passed to the connection go out over the next one,
//! and those that were passed on but not flushed fail with [`ClientError::Disconnected`].

use std::collections::VecDeque;
use std::task::{Context, Poll};

use bytes::Bytes;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, TtySize};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;

use crate::Result;
use crate::client::Client;
use crate::error::{ApiError, ClientError};
use crate::frames::{ClientFrame, ServerFrame};
use crate::options::AttachOptions;
use crate::position::Position;
use crate::retry::Retry;
use crate::socket::{Received, Socket};

/// The maximum input in one frame.
const MAX_STDIN_FRAME_BYTES: usize = 64 << 10;
/// The maximum number of frames that wait for a connection.
const MAX_QUEUED_FRAMES: usize = 16;

/// Notifies the sender of a frame that it was flushed; dropped if it was lost.
pub(crate) type Sent = oneshot::Sender<()>;

/// Frames to send: the client's own first, then those of the callers.
#[derive(Debug)]
pub(crate) struct Outbox {
    own: VecDeque<Message>,
    frames: mpsc::Receiver<(ClientFrame, Sent)>,
}

impl Outbox {
    pub(crate) fn ping(&mut self) {
        self.own.push_back(Message::Ping(Bytes::new()));
    }

    fn credit(&mut self, bytes: u32) {
        self.own.push_back(Message::Binary(ClientFrame::Credit(bytes).write()));
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Message, Option<Sent>)>> {
        if let Some(message) = self.own.pop_front() {
            return Poll::Ready(Some((message, None)));
        }
        let frame = self.frames.poll_recv(cx);
        frame.map(|frame| frame.map(|(frame, sent)| (Message::Binary(frame.write()), Some(sent))))
    }
}

/// An execution's events, with access to its input.
#[derive(Debug)]
pub struct Attachment {
    client: Client,
    id: ExecutionId,
    options: AttachOptions,
    position: Position,
    at_ms: u64,
    socket: Option<Socket>,
    outbox: Outbox,
    input: mpsc::Sender<(ClientFrame, Sent)>,
    /// Output that was delivered but not yet granted again as credit.
    taken: u32,
    /// How many bytes of the event after the last one have come.
    part: usize,
    /// The last error that the server reported.
    refusal: Option<Box<ApiError>>,
    /// Whether an event came over this connection.
    has_received: bool,
    retry: Retry,
    ended: bool,
}

/// An execution's input. Frames are sent while [`Attachment::next`] is being awaited.
#[derive(Debug, Clone)]
pub struct AttachInput(mpsc::Sender<(ClientFrame, Sent)>);

impl AttachInput {
    /// Writes to the program's standard input. Returns when the frame is flushed to the connection, which is
    /// before the program has it; see the module about broken connections.
    pub async fn send_stdin(&self, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(MAX_STDIN_FRAME_BYTES));
            self.send(ClientFrame::Stdin(piece)).await?;
        }
        Ok(())
    }

    /// Closes the program's standard input.
    pub async fn eof(&self) -> Result<()> {
        self.send(ClientFrame::Eof).await
    }

    /// Resizes the program's terminal.
    pub async fn resize(&self, size: TtySize) -> Result<()> {
        self.send(ClientFrame::Resize(size)).await
    }

    /// Sends a signal to the program's foreground group.
    pub async fn signal(&self, number: u8) -> Result<()> {
        self.send(ClientFrame::Signal(number)).await
    }

    async fn send(&self, frame: ClientFrame) -> Result<()> {
        let lost = || ClientError::Disconnected("the connection broke while input was being sent".into());
        let (sent, flushed) = oneshot::channel();
        self.0.send((frame, sent)).await.map_err(|_| lost())?;
        flushed.await.map_err(|_| lost())
    }
}

impl Attachment {
    /// Fails at once if the server cannot be reached. A connection that breaks later is opened again.
    pub(crate) async fn open(client: Client, id: ExecutionId, options: AttachOptions) -> Result<Self> {
        let (input, frames) = mpsc::channel(MAX_QUEUED_FRAMES);
        let mut attachment = Self {
            retry: client.new_retry(),
            position: Position::after(options.after),
            outbox: Outbox { own: VecDeque::new(), frames },
            client,
            id,
            options,
            input,
            at_ms: 0,
            socket: None,
            taken: 0,
            part: 0,
            refusal: None,
            has_received: false,
            ended: false,
        };
        attachment.reopen().await?;
        Ok(attachment)
    }

    /// The program's input; `None` if this attachment is read-only.
    pub fn input(&self) -> Option<AttachInput> {
        (!self.options.read_only).then(|| AttachInput(self.input.clone()))
    }

    /// The last request that the server refused (input that no program reads, for example). Returned once.
    pub fn take_refusal(&mut self) -> Option<ApiError> {
        self.refusal.take().map(|error| *error)
    }

    /// The last event that was delivered, after which to continue.
    pub const fn position(&self) -> Seq {
        self.position.seq()
    }

    /// The next event; `None` after the last requested one. Frames carry neither the time of output nor its
    /// position in the stream: the time is that of the event before, and the offset counts from where this
    /// attachment began. Cancelling this future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        while !self.ended {
            let Some(socket) = self.socket.as_mut() else {
                self.reconnect().await?;
                continue;
            };
            match socket.next(&mut self.outbox).await {
                Ok(Received::Frame(frame)) => {
                    if let Some(event) = self.deliver(ServerFrame::read(frame)?) {
                        return Ok(Some(event));
                    }
                }
                Ok(Received::End) => self.handle_end().await?,
                Err(error) if error.is_transient() => self.leave(),
                // The server has sent the reason before.
                Err(error) => return Err(self.refusal.take().map_or(error, ClientError::Api)),
            }
        }
        Ok(None)
    }

    fn deliver(&mut self, frame: ServerFrame) -> Option<Event> {
        let event = match frame {
            ServerFrame::Unknown => return None,
            ServerFrame::Error(error) => {
                self.refusal = Some(error);
                return None;
            }
            ServerFrame::Event(event) => event,
            ServerFrame::Output { stream, seq, bytes } if seq == self.position.seq() && self.has_credit() => {
                self.grant(bytes.len());
                self.has_received = true;
                self.part += bytes.len();
                let offset = self.position.pass_part(stream, bytes.len());
                return Some(Event {
                    seq,
                    at_ms: self.at_ms,
                    kind: EventKind::Output { stream, offset, bytes },
                });
            }
            ServerFrame::Output { stream, seq, bytes } => {
                self.grant(bytes.len());
                let offset = self.position.end(stream);
                Event { seq, at_ms: self.at_ms, kind: EventKind::Output { stream, offset, bytes } }
            }
        };
        self.has_received = true;
        self.retry.reset();
        self.at_ms = event.at_ms;
        let event = self.position.pass(event)?;
        self.options.after = self.position.seq();
        self.part = 0;
        if matches!(event.kind, EventKind::Output { .. }) {
            self.options.tail_bytes = None;
        }
        self.ended = self.options.ends_with(&event);
        Some(event)
    }

    const fn has_credit(&self) -> bool {
        self.options.credit_bytes.is_some()
    }

    /// Grants as much credit as was consumed, in steps of half the window.
    fn grant(&mut self, bytes: usize) {
        let Some(credit) = self.options.credit_bytes else { return };
        self.taken = self.taken.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        if self.taken >= credit / 2 {
            self.outbox.credit(std::mem::take(&mut self.taken));
        }
    }

    fn leave(&mut self) {
        if self.socket.take().is_some_and(|socket| socket.was_stable()) {
            self.retry.reset();
        }
    }

    /// The server closed the connection before the last requested event. As for a follower: if it has no more
    /// events, another attempt returns none.
    async fn handle_end(&mut self) -> Result<()> {
        self.leave();
        if self.has_received {
            return Ok(());
        }
        self.ended = self.client.has_ended(self.id, self.options.until_closed).await?;
        if !self.ended {
            self.retry
                .pause(ClientError::Disconnected("the attachment ended before the program".into()))
                .await?;
        }
        Ok(())
    }

    async fn reconnect(&mut self) -> Result<()> {
        loop {
            match self.reopen().await {
                Err(error) if error.is_transient() => self.retry.pause(error).await?,
                opened => return opened,
            }
        }
    }

    async fn reopen(&mut self) -> Result<()> {
        let mut url = self.client.route(&format!("v1/executions/{}/attach", self.id))?;
        self.options.write(&mut url);
        if self.part > 0 {
            url.query_pairs_mut().append_pair("skip", &self.part.to_string());
        }
        self.socket = Some(Socket::open(&self.client, url).await?);
        (self.has_received, self.taken) = (false, 0);
        self.outbox.own.clear();
        if let Some(credit) = self.options.credit_bytes {
            self.outbox.credit(credit);
        }
        Ok(())
    }
}
