//! Passing input on to a program, each byte once.

use bytes::Bytes;
use headwater_contract::{Client as Worker, ContractError, StdinWriter};
use headwater_protocol::ExecutionId;

use super::{Engine, Result};
use crate::input::{Input, with_waiting};

impl Engine {
    /// Passes the input on until it ends, the program wants no more, or the worker or the server stays away. Each byte
    /// arrives once, over any number of connections.
    pub async fn feed(&self, id: ExecutionId, input: Input) -> Result<()> {
        match self {
            Self::Local(worker) => Ok(feed_worker(worker, id, input).await?),
            Self::Remote(server) => Ok(feed_server(server, id, input).await?),
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
        let chunk = with_waiting(chunk, &mut input);
        let at = writer.offset();
        let mut result = writer.write(chunk.clone()).await;
        while let Err(error) = result {
            if !error.is_disconnected() {
                return Err(error);
            }
            writer = open(client, id).await?;
            result = writer.write_again(at, chunk.clone()).await;
        }
    }
    while let Err(error) = writer.end().await {
        if !error.is_disconnected() {
            return Err(error);
        }
        writer = open(client, id).await?;
    }
    Ok(())
}

async fn open(client: &Worker, id: ExecutionId) -> std::result::Result<StdinWriter, ContractError> {
    client.insist(async |client| client.stdin(id).await).await
}

async fn feed_server(
    server: &headwater_client::Client,
    id: ExecutionId,
    mut input: Input,
) -> std::result::Result<(), headwater_client::ClientError> {
    while let Some(chunk) = input.recv().await {
        server.stdin(id, with_waiting(chunk, &mut input), false).await?;
    }
    server.insist(|server| async move { server.stdin(id, Bytes::new(), true).await }).await
}
