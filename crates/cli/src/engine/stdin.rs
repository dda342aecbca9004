//! Forwards input to a program, each byte once.

use bytes::Bytes;
use headwater_client::{Client as Server, ClientError};
use headwater_contract::{Client as Worker, ContractError, StdinWriter, reconnect_backoff};
use headwater_protocol::ExecutionId;

use super::{Engine, Result};
use crate::input::{Input, with_queued};

/// Whether the input has other writers. A server does not report how much input a program has received. With other
/// writers the position of a chunk is unknown, so a chunk that was in flight when the connection was lost is not sent
/// again, and may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// We are the only writer.
    Alone,
    /// There may be other writers.
    AmongOthers,
}

impl Engine {
    /// Forwards the input until it ends, the program closes it, or the worker or the server stays unreachable. Each byte
    /// arrives once, over any number of connections; see [`Typing`] for the exception.
    pub async fn feed(&self, id: ExecutionId, input: Input, typing: Typing) -> Result<()> {
        match self {
            Self::Local(worker) => Ok(feed_worker(worker, id, input).await?),
            Self::Remote(server) => Ok(feed_server(server, id, input, typing).await?),
        }
    }
}

async fn feed_worker(
    client: &Worker,
    id: ExecutionId,
    mut input: Input,
) -> std::result::Result<(), ContractError> {
    let mut writer = open(client, id).await?;
    while let Some(chunk) = input.recv().await {
        let chunk = with_queued(chunk, &mut input);
        let at = writer.offset();
        let mut result = writer.write(chunk.clone()).await;
        let mut attempts = reconnect_backoff();
        while let Err(error) = result {
            if !error.is_disconnected() || !attempts.pause().await {
                return Err(error);
            }
            writer = open(client, id).await?;
            result = writer.write_again(at, chunk.clone()).await;
        }
    }
    let mut attempts = reconnect_backoff();
    while let Err(error) = writer.end().await {
        if !error.is_disconnected() || !attempts.pause().await {
            return Err(error);
        }
        writer = open(client, id).await?;
    }
    Ok(())
}

async fn open(client: &Worker, id: ExecutionId) -> std::result::Result<StdinWriter, ContractError> {
    client.retry(|client| client.stdin(id)).await
}

async fn feed_server(
    server: &Server,
    id: ExecutionId,
    mut input: Input,
    typing: Typing,
) -> std::result::Result<(), ClientError> {
    let mut position = (typing == Typing::Alone).then_some(0);
    while let Some(chunk) = input.recv().await {
        let chunk = with_queued(chunk, &mut input);
        let length = chunk.len() as u64;
        send(server, id, position, chunk).await?;
        position = position.map(|at| at + length);
    }
    // Idempotent: ending it twice is the same as once.
    server.retry_known_server(|server| async move { server.stdin(id, None, Bytes::new(), true).await }).await
}

/// Appends to the input, so that two writers do not take each other's bytes for their own; after a lost connection it
/// writes at the known position.
async fn send(
    server: &Server,
    id: ExecutionId,
    position: Option<u64>,
    chunk: Bytes,
) -> std::result::Result<(), ClientError> {
    let first = chunk.clone();
    let sent = server
        .retry_known_server(|server| {
            let chunk = first.clone();
            async move {
                match server.stdin(id, None, chunk, false).await {
                    // Nothing was sent, so it can be retried.
                    Err(error @ ClientError::Unreachable { .. }) => Err(error),
                    Err(error) if error.is_disconnected() => Ok(false),
                    done => done.map(|()| true),
                }
            }
        })
        .await?;
    let Some(position) = position.filter(|_| !sent) else {
        return Ok(());
    };
    let again = |server: Server| {
        let chunk = chunk.clone();
        async move { server.stdin(id, Some(position), chunk, false).await }
    };
    server.retry_known_server(again).await
}
