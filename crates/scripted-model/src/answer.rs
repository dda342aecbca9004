//! Sends a turn: piece by piece, cut, delayed, held and broken off as the script says.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::dialect::{Answer, Encoder, Event, Sent};
use crate::pieces::{NOW_MS, NOW_US, Piece};
use crate::script::Turn;
use crate::state::{State, now_ms, now_us};

/// How long sent bytes get to leave the process before the connection is cut.
const FLUSH: Duration = Duration::from_millis(50);

/// The reader is gone, or the connection was cut as the script says.
pub(crate) struct Ended;

/// The way to the reader.
pub(crate) struct Wire {
    pub(crate) sender: mpsc::Sender<io::Result<Bytes>>,
    pub(crate) chunk_bytes: usize,
    pub(crate) delay: Duration,
    /// Bytes until the connection is cut.
    pub(crate) left: Option<usize>,
}

impl Wire {
    pub(crate) fn new(sender: mpsc::Sender<io::Result<Bytes>>, turn: &Turn, breaks: bool) -> Self {
        Self {
            sender,
            chunk_bytes: turn.chunk_bytes.unwrap_or(usize::MAX).max(1),
            delay: Duration::from_millis(turn.delay_ms),
            left: turn.break_after_bytes.filter(|_| breaks),
        }
    }

    /// Sends bytes in pieces.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        for piece in bytes.chunks(self.chunk_bytes) {
            let cut = self.left.filter(|left| *left <= piece.len());
            let sent = &piece[..cut.unwrap_or(piece.len())];
            self.sender.send(Ok(Bytes::copy_from_slice(sent))).await.map_err(|_| Ended)?;
            if cut.is_some() {
                tokio::time::sleep(FLUSH).await;
                let _ = self.sender.send(Err(io::Error::other("the script breaks off here"))).await;
                return Err(Ended);
            }
            self.left = self.left.map(|left| left - piece.len());
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
        }
        Ok(())
    }

    async fn events(&mut self, events: Vec<Event>) -> Result<(), Ended> {
        for event in events {
            self.send(event.text().as_bytes()).await?;
        }
        Ok(())
    }
}

/// Sends the answer as a stream of events.
pub(crate) async fn stream(
    state: Arc<State>,
    mut answer: Answer,
    mut encoder: Box<dyn Encoder>,
    pieces: Vec<Piece>,
    error: Option<String>,
    mut wire: Wire,
) -> Result<(), Ended> {
    let mut pieces = pieces.into_iter().peekable();
    // A turn that waits sends nothing before.
    if pieces.next_if_eq(&Piece::Hold).is_some() {
        hold(&state, &wire).await?;
    }
    wire.events(encoder.begin(&answer)).await?;
    for piece in pieces {
        if piece == Piece::Hold {
            hold(&state, &wire).await?;
        }
        let events = apply(&mut answer, encoder.as_mut(), piece);
        wire.events(events).await?;
    }
    let last = match error {
        Some(message) => encoder.error(&answer, &message),
        None => encoder.finish(&answer),
    };
    wire.events(last).await
}

/// The answer as a whole, after all waits.
pub(crate) async fn collect(state: &State, answer: &mut Answer, pieces: Vec<Piece>) {
    for piece in pieces {
        match piece {
            Piece::Hold => state.gate.wait().await,
            Piece::Open(part) => answer.parts.push(Sent { part, text: String::new() }),
            Piece::Delta(text) => append(answer, &rendered(&text)),
            Piece::Close => {}
        }
    }
}

async fn hold(state: &State, wire: &Wire) -> Result<(), Ended> {
    tokio::select! {
        () = state.gate.wait() => Ok(()),
        () = wire.sender.closed() => Err(Ended),
    }
}

fn apply(answer: &mut Answer, encoder: &mut dyn Encoder, piece: Piece) -> Vec<Event> {
    match piece {
        Piece::Hold => Vec::new(),
        Piece::Open(part) => {
            answer.parts.push(Sent { part, text: String::new() });
            encoder.open(answer)
        }
        Piece::Delta(text) => {
            let text = rendered(&text);
            append(answer, &text);
            encoder.delta(answer, &text)
        }
        Piece::Close => encoder.close(answer),
    }
}

fn append(answer: &mut Answer, text: &str) {
    if let Some(sent) = answer.parts.last_mut() {
        sent.text.push_str(text);
    }
}

fn rendered(text: &str) -> String {
    match text {
        NOW_MS => now_ms().to_string(),
        NOW_US => now_us().to_string(),
        _ => text.to_owned(),
    }
}
