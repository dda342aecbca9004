//! Writing to a program's standard input: `POST /v1/executions/{id}/stdin`.
//!
//! The body is streamed to the program at the pace at which the program reads. Sent bytes cannot be taken
//! back. A client that wants to repeat a request after a lost connection therefore sends their position
//! (`offset=`); bytes that the program already has are then skipped.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use headwater_contract::{ContractError, StdinWriter, reconnect_backoff};
use headwater_protocol::ExecutionId;
use headwater_protocol::api::{ErrorBody, ErrorCode};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(stdin))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StdinQuery {
    /// Whether to close the input after this body.
    eof: Option<bool>,
    /// The position of the first byte in the input: bytes that the program already has are skipped, so that
    /// the same request can be sent again. At the end if absent.
    offset: Option<u64>,
}

/// Writes to an execution's standard input.
///
/// The body is used as it is, whatever its type. The response is sent when the program's pipe or terminal has
/// all of it.
#[utoipa::path(post, path = "/v1/executions/{id}/stdin",
    operation_id = "writeExecutionInput", tag = "executions",
    params(("id" = String, Path, description = "the execution"), StdinQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "any bytes"),
    responses(
        (status = 204, description = "all bytes were written"), Common, NotFound,
        (status = 409, body = ErrorBody, description = "its standard input is closed"),
        (status = 413, body = ErrorBody, description = "the body is larger than `max_body`"),
))]
async fn stdin(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Query(query): Query<StdinQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_execution(&who, Need::Write, id).await?;
    let max_bytes = gateway.config.max_stdin_bytes;
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > max_bytes) {
        return Err(too_large(max_bytes, 0));
    }
    let mut input = Input { gateway: &gateway, id, writer: None, at: query.offset, written: 0 };
    tokio::select! {
        written = input.write_all(body, max_bytes, query.eof == Some(true)) => written?,
        // A program that does not read must not delay the shutdown.
        () = gateway.background.stopping.cancelled() => return Err(shutting_down()),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The connection to the program's input, which is reopened when the worker is restarted.
struct Input<'a> {
    gateway: &'a Gateway,
    id: ExecutionId,
    writer: Option<StdinWriter>,
    /// The position of the next byte, if the client gave one.
    at: Option<u64>,
    /// How many bytes of the body were written.
    written: usize,
}

impl Input<'_> {
    async fn write_all(&mut self, body: Body, max_bytes: usize, eof: bool) -> Result<(), ApiError> {
        self.open().await?;
        let mut body = body.into_data_stream();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| broken_off(self.written))?;
            if self.written + chunk.len() > max_bytes {
                return Err(too_large(max_bytes, self.written));
            }
            self.write(chunk).await?;
        }
        if eof { self.end().await } else { Ok(()) }
    }

    async fn open(&mut self) -> Result<&mut StdinWriter, ApiError> {
        let id = self.id;
        let writer = if let Some(writer) = self.writer.take() {
            writer
        } else {
            match self.gateway.worker.stdin(id).await {
                Ok(writer) => writer,
                Err(error) => return Err(self.gateway.recorder.unreachable(id, error).await),
            }
        };
        Ok(self.writer.insert(writer))
    }

    async fn write(&mut self, chunk: Bytes) -> Result<(), ApiError> {
        if chunk.is_empty() {
            return Ok(()); // an empty chunk would only query the offset
        }
        let length = chunk.len();
        let mut attempts = reconnect_backoff();
        loop {
            let at = self.at;
            let writer = self.open().await?;
            let before = writer.offset();
            let written = match at {
                Some(at) => writer.write_again(at, chunk.clone()).await,
                None => writer.write(chunk.clone()).await,
            };
            match written {
                Ok(()) => break,
                Err(ContractError::Disconnected(_)) if attempts.pause().await => {
                    self.reopen(before, at).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.written += length;
        self.gateway.metrics.received_stdin(length);
        self.at = self.at.map(|at| at + u64::try_from(length).unwrap_or(u64::MAX));
        Ok(())
    }

    /// The worker was disconnected during a write. The chunk can be sent again if its position is known, or
    /// if no bytes have arrived since.
    async fn reopen(&mut self, before: u64, at: Option<u64>) -> Result<(), ApiError> {
        self.writer = None;
        let now = self.open().await?.offset();
        if at.is_none() && now != before {
            let message = format!("the worker was restarted; about {} bytes were written", self.written);
            return Err(ApiError::unavailable(
                message,
                "send the position with `offset=` to be able to repeat",
            ));
        }
        Ok(())
    }

    async fn end(&mut self) -> Result<(), ApiError> {
        match self.open().await?.end().await {
            Err(ContractError::Disconnected(_)) => {
                self.writer = None;
                Ok(self.open().await?.end().await?)
            }
            ended => Ok(ended?),
        }
    }
}

fn too_large(max_bytes: usize, written: usize) -> ApiError {
    ApiError::new(
        ErrorCode::BodyTooLarge,
        format!("one request may write at most {max_bytes} bytes; {written} were written"),
        "write the rest with another request, or raise `[server] max_stdin`",
    )
}

fn broken_off(written: usize) -> ApiError {
    ApiError::invalid(format!("the body is incomplete; {written} bytes of it were written"))
}

fn shutting_down() -> ApiError {
    ApiError::unavailable(
        "the server is shutting down; some of the body may have been written",
        "send the position with `offset=` to be able to repeat",
    )
}
