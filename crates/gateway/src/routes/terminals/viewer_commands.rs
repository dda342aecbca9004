//! The commands of a terminal's viewer: keys, lines, interrupts, sizes, credits; in JSON or in binary frames.

use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, SpecError};

use super::messages::{ViewerCommand, parse};
use super::viewers::Registration;
use crate::auth::Identity;
use crate::error::ApiError;
use crate::routes::attach::SIGINT;
use crate::state::Gateway;
use crate::streams::socket::frames::parse_binary;
use crate::streams::socket::input::Input;
use crate::streams::socket::receive::FrameHandler;
use crate::streams::socket::shared::Shared;

/// The bytes of the keys that the terminal turns into SIGINT and into the end of the input.
const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";

/// Carries out a viewer's commands.
pub(crate) struct ViewerCommands {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) id: ExecutionId,
    pub(crate) who: Identity,
    pub(crate) shared: Arc<Shared>,
    pub(crate) input: Input,
    pub(crate) registration: Registration,
    /// The error for input, if this viewer has read-only access.
    pub(crate) refusal: Option<ApiError>,
}

impl FrameHandler for ViewerCommands {
    async fn binary(&mut self, frame: Bytes) -> Result<(), ApiError> {
        self.shared.speaks_binary();
        self.carry_out(parse_binary(&frame)?.into()).await
    }

    async fn text(&mut self, frame: &str) -> Result<(), ApiError> {
        self.carry_out(parse(frame)?).await
    }
}

impl ViewerCommands {
    async fn carry_out(&mut self, command: ViewerCommand) -> Result<(), ApiError> {
        if let ViewerCommand::Credit(bytes) = command {
            self.shared.grant(bytes);
            return Ok(());
        }
        if let Some(refusal) = &self.refusal {
            // A read-only viewer's window has a size too; sending it is not an error, and has no effect.
            return if matches!(command, ViewerCommand::Resize(_)) { Ok(()) } else { Err(refusal.clone()) };
        }
        match command {
            ViewerCommand::Keys(keys) if keys.is_empty() => {} // it contained only replies
            ViewerCommand::Keys(keys) => self.write(keys).await?,
            ViewerCommand::End => self.write(Bytes::from_static(CTRL_D)).await?,
            ViewerCommand::Interrupt => self.interrupt().await?,
            ViewerCommand::Resize(size) if size.rows == 0 || size.cols == 0 => {
                return Err(SpecError::EmptyTerminal.into());
            }
            ViewerCommand::Resize(size) => self.registration.set_window(size).await?,
            ViewerCommand::Signal(signal) => Box::pin(self.signal(signal)).await?,
            ViewerCommand::Cancel => {
                self.gateway.worker.cancel(self.id, None).await?;
                self.gateway.audit.record(&self.who, "execution.cancel", self.id.to_string(), String::new());
            }
            ViewerCommand::Credit(_) => {}
        }
        Ok(())
    }

    async fn write(&mut self, keys: Bytes) -> Result<(), ApiError> {
        self.registration.note_typing().await?;
        self.input.write(keys).await;
        Ok(())
    }

    /// Types `^C`, which the terminal turns into SIGINT for the foreground process group. If the program has
    /// not read earlier input, `^C` would wait behind it, so the signal is sent directly.
    async fn interrupt(&mut self) -> Result<(), ApiError> {
        if self.input.is_written() {
            return self.write(Bytes::from_static(CTRL_C)).await;
        }
        self.registration.note_typing().await?;
        Box::pin(self.signal(SIGINT)).await
    }

    /// Not retried: a repeated signal is a second signal.
    async fn signal(&self, signal: i32) -> Result<(), ApiError> {
        self.gateway.worker.once().signal(self.id, signal, false).await?;
        self.gateway.audit.record(&self.who, "execution.signal", self.id.to_string(), signal.to_string());
        Ok(())
    }
}
