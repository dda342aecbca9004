//! Any terminal or execution as an asciicast, version 3: `GET /v1/executions/{id}/recording`. A header, then a line for
//! each piece of output, size and end, with the time since the line before it.

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
use crate::http::openapi::{Common, NotFound};
use crate::serve::Live;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// A piece of the answer goes out when it has so much.
const PIECE_BYTES: usize = 64 << 10;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(recording))
}

/// An execution as a recording in the format asciicast v3: what it has printed so far, when, and on which size.
///
/// `asciinema play` shows it. What is printed on a terminal comes as it is; without one, standard output and error are
/// one, and lines end with a return as they would on a terminal. Bytes that are not text become U+FFFD; what is no longer
/// kept is named in a marker.
#[utoipa::path(get, path = "/v1/executions/{id}/recording", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    responses(
        (status = 200, body = String, content_type = "application/x-asciicast", description = "lines of JSON"),
        Common, NotFound,
        (status = 409, body = ErrorBody),
        (status = 410, body = ErrorBody, description = "its log was removed"),
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
    Ok((headers, Extension(Live), Body::from_stream(try_unfold(Box::new(source), piece))).into_response())
}

/// Where the lines come from.
struct Source {
    cast: Cast,
    follower: Follower,
    open: OpenStream,
    ended: bool,
}

/// The next lines, when the ones before are on their way.
async fn piece(mut source: Box<Source>) -> Result<Option<(Bytes, Box<Source>)>, ContractError> {
    while !source.ended && source.cast.len() < PIECE_BYTES {
        if let Some(event) = source.follower.next().await? {
            source.cast.take(event);
        } else {
            source.cast.end();
            source.ended = true;
        }
    }
    let piece = source.cast.lines();
    source.open.sent(piece.len());
    Ok((!piece.is_empty()).then_some((piece, source)))
}
