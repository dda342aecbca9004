//! The commands of an attached client: input, signals, sizes, credits, cancel.

use std::sync::Arc;

use bytes::Bytes;
use headwater_contract::ContractError;
use headwater_protocol::ExecutionId;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::socket::frames::{Command, parse_binary, parse_text};
use crate::streams::socket::input::Input;
use crate::streams::socket::receive::FrameHandler;
use crate::streams::socket::shared::Shared;

/// The number of the signal that `^C` sends.
pub(crate) const SIGINT: i32 = 2;

/// Carries out the client's commands.
pub(crate) struct ClientCommands {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) id: ExecutionId,
    pub(crate) who: Identity,
    pub(crate) shared: Arc<Shared>,
    pub(crate) input: Input,
    /// The error for input, if this client has read-only access.
    pub(crate) refusal: Option<ApiError>,
}

impl FrameHandler for ClientCommands {
    async fn binary(&mut self, frame: Bytes) -> Result<(), ApiError> {
        self.carry_out(parse_binary(&frame)?).await
    }

    async fn text(&mut self, frame: &str) -> Result<(), ApiError> {
        self.carry_out(parse_text(frame)?).await
    }
}

impl ClientCommands {
    async fn carry_out(&mut self, command: Command) -> Result<(), ApiError> {
        if let Command::Credit(bytes) = command {
            self.shared.grant(bytes);
            return Ok(());
        }
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        match command {
            Command::Stdin(bytes) => self.input.write(bytes).await,
            Command::Eof => self.input.end(),
            Command::Interrupt => self.call_worker(Command::Signal(SIGINT)).await?,
            other => self.call_worker(other).await?,
        }
        Ok(())
    }

    async fn call_worker(&self, command: Command) -> Result<(), ContractError> {
        let id = self.id;
        match command {
            Command::Resize(size) => {
                self.gateway.worker.resize(id, size).await?;
                self.gateway.viewers.resized(id, size);
            }
            Command::Signal(signal) => {
                // Not retried: a repeated signal is a second signal.
                self.gateway.worker.once().signal(id, signal, false).await?;
                self.gateway.audit.record(&self.who, "execution.signal", id.to_string(), signal.to_string());
            }
            Command::Cancel => {
                self.gateway.worker.cancel(id, None).await?;
                self.gateway.audit.record(&self.who, "execution.cancel", id.to_string(), String::new());
            }
            Command::Stdin(_) | Command::Eof | Command::Interrupt | Command::Credit(_) => {}
        }
        Ok(())
    }
}
