//! What a viewer of a terminal asks for: keys, lines, interrupts, sizes, credits; in JSON or in binary frames.

use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, SpecError};

use super::messages::{Wish, parse};
use super::replies::without_replies;
use super::viewers::Place;
use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::socket::frames::{Command, parse_binary};
use crate::streams::socket::incoming::Listener;
use crate::streams::socket::input::Input;
use crate::streams::socket::shared::Shared;

const INTERRUPT: i32 = 2;
/// What the keys send that a terminal makes SIGINT and the end of the input of.
const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";

/// Does what a viewer asks for.
pub(crate) struct Incoming {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) id: ExecutionId,
    pub(crate) who: Identity,
    pub(crate) shared: Arc<Shared>,
    pub(crate) input: Input,
    pub(crate) place: Place,
    /// Why this one may only look, if it may.
    pub(crate) refusal: Option<ApiError>,
}

impl Listener for Incoming {
    async fn binary(&mut self, frame: Bytes) -> Result<(), ApiError> {
        self.shared.speaks_binary();
        let wish = match parse_binary(&frame)? {
            Command::Stdin(keys) => Wish::Keys(without_replies(&keys)),
            Command::Eof => Wish::End,
            Command::Resize(size) => Wish::Resize(size),
            Command::Signal(signal) => Wish::Signal(signal),
            Command::Credit(bytes) => Wish::Credit(bytes),
            Command::Cancel => return Ok(()), // has no binary frame
        };
        self.grant(wish).await
    }

    async fn text(&mut self, frame: &str) -> Result<(), ApiError> {
        self.grant(parse(frame)?).await
    }
}

impl Incoming {
    async fn grant(&mut self, wish: Wish) -> Result<(), ApiError> {
        if let Wish::Credit(bytes) = wish {
            self.shared.grant(bytes);
            return Ok(());
        }
        if let Some(refusal) = &self.refusal {
            // A window that only looks has a size too; it is no mistake to tell it, and changes nothing.
            return if matches!(wish, Wish::Resize(_)) { Ok(()) } else { Err(refusal.clone()) };
        }
        match wish {
            Wish::Keys(keys) if keys.is_empty() => {} // all of it was replies
            Wish::Keys(keys) => self.write(keys).await?,
            Wish::End => self.write(Bytes::from_static(CTRL_D)).await?,
            Wish::Interrupt => self.interrupt().await?,
            Wish::Resize(size) if size.rows == 0 || size.cols == 0 => {
                return Err(SpecError::EmptyTerminal.into());
            }
            Wish::Resize(size) => self.place.asks_for(size).await?,
            Wish::Signal(signal) => Box::pin(self.signal(signal)).await?,
            Wish::Credit(_) => {}
        }
        Ok(())
    }

    async fn write(&mut self, keys: Bytes) -> Result<(), ApiError> {
        self.place.typed().await?;
        self.input.write(keys).await;
        Ok(())
    }

    /// `^C`, of which the terminal makes SIGINT for whoever is in front. Where the program has not taken what was typed
    /// before it would wait behind that: then the signal goes by itself.
    async fn interrupt(&mut self) -> Result<(), ApiError> {
        if self.input.is_through() {
            return self.write(Bytes::from_static(CTRL_C)).await;
        }
        self.place.typed().await?;
        Box::pin(self.signal(INTERRUPT)).await
    }

    /// Not asked again: a signal that comes twice is another thing.
    async fn signal(&self, signal: i32) -> Result<(), ApiError> {
        self.gateway.worker.once().signal(self.id, signal, false).await?;
        self.gateway.audit.record(&self.who, "execution.signal", self.id.to_string(), signal.to_string());
        Ok(())
    }
}
