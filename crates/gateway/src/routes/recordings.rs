//! A terminal or any other execution as an asciicast, version 3: `GET /v1/executions/{id}/recording`. It has
//! a header, then a line for each chunk of output, each size and the end, with the time since the previous
//! line.

mod cast;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::try_unfold;
use headwater_contract::{ContractError, FollowOptions, Follower};
use headwater_protocol::ExecutionId;
use headwater_protocol::api::ErrorBody;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::cast::Cast;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::executions::Patience;
use crate::http::extract::{NoQuery, Path};
use crate::http::openapi::{Common, Conflict, NotFound};
use crate::serve::Live;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// The response is sent in chunks of this size.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(recording))
}

/// Returns a recording of an execution in the format asciicast v3: its output so far, with times and terminal
/// sizes.
///
/// `asciinema play` shows it. Output of a terminal is unchanged. Without a terminal, standard output and
/// error are merged, and lines end with a carriage return as on a terminal. Bytes that are not UTF-8 become
/// U+FFFD; output that is no longer kept is reported by a marker.
#[utoipa::path(get, path = "/v1/executions/{id}/recording",
    operation_id = "getExecutionRecording", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    responses(
        (status = 200, body = String, content_type = "application/x-asciicast", description = "lines of JSON"),
        Common, NotFound, Conflict,
        (status = 410, body = ErrorBody, description = "the log was removed"),
))]
async fn recording(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_execution(&who, Need::Read, id).await?;
    let execution = gateway.look_at_execution(&who, id, Patience::NONE).await?;
    let sizes = gateway.sizes(&execution).await?;
    let options = FollowOptions { no_wait: true, until_closed: true, ..FollowOptions::default() };
    let follower = match gateway.worker.follow(id, options).await {
        Ok(follower) => follower,
        Err(error) => return Err(gateway.recorder.unreadable(id, error).await),
    };
    let cast = Cast::new(&execution, sizes);
    let source = Source { cast, follower, open: OpenStream::new(&gateway, "recording"), ended: false };
    let headers = [
        (header::CONTENT_TYPE, "application/x-asciicast".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{id}.cast\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Extension(Live), Body::from_stream(try_unfold(Box::new(source), chunk))).into_response())
}

/// The source of the lines.
struct Source {
    cast: Cast,
    follower: Follower,
    open: OpenStream,
    ended: bool,
}

/// The next lines, once the previous ones were sent.
async fn chunk(mut source: Box<Source>) -> Result<Option<(Bytes, Box<Source>)>, ContractError> {
    while !source.ended && source.cast.len() < CHUNK_BYTES {
        if let Some(event) = source.follower.next().await? {
            source.cast.take(event);
        } else {
            source.cast.end();
            source.ended = true;
        }
    }
    let chunk = source.cast.lines();
    source.open.sent(chunk.len());
    Ok((!chunk.is_empty()).then_some((chunk, source)))
}
