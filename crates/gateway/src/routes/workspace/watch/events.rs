//! The events of a watch, across restarts of the worker.

use std::sync::Arc;

use bytes::Bytes;
use headwater_contract::{ContractError, Messages, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::{ChangeBody, ChangeName};

use crate::error::ApiError;
use crate::routes::workspace::bodies;
use crate::state::Gateway;

/// The next event.
pub(crate) enum Next {
    Changes(Vec<ChangeBody>),
    /// Nothing has changed for a while.
    Quiet,
    /// The session has ended.
    Ended(ChangeBody),
    /// The server is shutting down.
    Stopping,
    Failed(ApiError),
}

/// An open watch.
pub(crate) struct Events {
    gateway: Arc<Gateway>,
    session: SessionId,
    path: Bytes,
    recursive: bool,
    messages: Messages<v1::WatchResponse>,
}

async fn open(
    gateway: &Gateway,
    session: SessionId,
    path: &Bytes,
    recursive: bool,
) -> Result<Messages<v1::WatchResponse>, ContractError> {
    gateway.worker.watch_tree(session, path.clone(), recursive).await
}

impl Events {
    pub(crate) async fn open(
        gateway: &Arc<Gateway>,
        session: SessionId,
        path: Bytes,
        recursive: bool,
    ) -> Result<Self, ApiError> {
        let messages = open(gateway, session, &path, recursive).await?;
        Ok(Self { gateway: Arc::clone(gateway), session, path, recursive, messages })
    }

    pub(crate) async fn next(&mut self) -> Next {
        let gateway = Arc::clone(&self.gateway);
        tokio::select! {
            biased;
            () = gateway.background.stopping.cancelled() => Next::Stopping,
            next = self.receive() => next,
            () = tokio::time::sleep(gateway.config.heartbeat) => Next::Quiet,
        }
    }

    /// Cancel-safe: nothing is taken before it is returned.
    async fn receive(&mut self) -> Next {
        match self.messages.next().await {
            Ok(Some(message)) => Next::Changes(message.changes.iter().map(bodies::change).collect()),
            Ok(None) => Next::Ended(bodies::about_all(ChangeName::Ended)),
            Err(error) if error.is_disconnected() => self.reopen().await,
            Err(error) => Next::Failed(error.into()),
        }
    }

    /// The worker was lost, and changes may have been missed.
    async fn reopen(&mut self) -> Next {
        match open(&self.gateway, self.session, &self.path, self.recursive).await {
            Ok(messages) => {
                self.messages = messages;
                Next::Changes(vec![bodies::about_all(ChangeName::Rescan)])
            }
            Err(error) => Next::Failed(error.into()),
        }
    }
}
