//! Watching the files of a workspace: `GET /v1/sessions/{id}/files/watch`, as SSE or by WebSocket.

mod events;
mod socket;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use futures_util::stream::unfold;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ChangeBody, PathEncoding};
use serde::Deserialize;
use utoipa::IntoParams;

use self::events::{Events, Next};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound, SessionEnded};
use crate::routes::files::path::{QueryPath, encoding};
use crate::serve::ConnectionPermit;
use crate::state::Gateway;
use crate::streams::sse::{OpenStream, sse_response};

/// How long `EventSource` waits before it reconnects, in milliseconds.
const RETRY_FRAME: &str = "retry: 1000\n\n";

/// Selects what to watch.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WatchQuery {
    /// The path of a folder or a file; the workspace if absent.
    #[serde(rename = "path")]
    _path: Option<String>,
    /// The encoding of `path`, if it is not plain text.
    #[serde(default, deserialize_with = "encoding", rename = "encoding")]
    #[param(inline)]
    _encoding: Option<PathEncoding>,
    /// Include the folders below it: true if absent.
    recursive: Option<bool>,
    /// Any value: marks a reconnection, which a ticket requires. Watches have no history, so it begins anew.
    #[allow(dead_code)] // accepted and ignored
    after: Option<String>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

/// Watches a workspace for changes.
///
/// As SSE each event is `event: <type>`, `data: <json>`; by WebSocket (the same path, with `Upgrade`) each is
/// a text frame. The first event is `ready`; changes after it are reported. Changes of one path within 75 ms
/// are one event; a file that was created and removed within that time is not reported. `moved` has `from`.
/// Nothing is lost silently: `overflow` says that more changes happened than could be kept, `rescan` that
/// everything has to be read again (for example after a restart of the worker), `limit` that there are more
/// than the 8192 folders that are watched. `ended` is the last event when the session has ended; `reconnect`
/// is sent when the server is shutting down: reconnect, and read everything again. Events have no ids: a
/// client that reconnects begins anew.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/watch", operation_id = "watchFiles", tag = "trees",
    params(("id" = String, Path, description = "the session"), WatchQuery),
    responses(
        (status = 101, description = "the socket is open"),
        (status = 200, description = "the events", content_type = "text/event-stream", body = ChangeBody),
        Common, NotFound, SessionEnded,
))]
pub(crate) async fn watch(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    QueryPath(path): QueryPath,
    Query(query): Query<WatchQuery>,
    permit: Option<Extension<ConnectionPermit>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, session).await?;
    let events =
        Events::open(&gateway, session, path.unwrap_or_default(), query.recursive != Some(false)).await?;
    match upgrade {
        Ok(upgrade) => Ok(socket::respond(upgrade, gateway, who, events, permit)),
        Err(_) => Ok(sse(&gateway, events)),
    }
}

/// At the pace of the reader: the worker is asked for more only when the previous events were sent.
fn sse(gateway: &Arc<Gateway>, events: Events) -> Response {
    let open = OpenStream::new(gateway, "watch");
    let pieces = unfold(Some((Some(RETRY_FRAME), events, open)), async |state| {
        let (first, mut events, open) = state?;
        if let Some(first) = first {
            return Some((first.to_owned(), Some((None, events, open))));
        }
        let (piece, goes_on) = match events.next().await {
            Next::Changes(changes) => (changes.iter().map(frame).collect(), true),
            Next::Quiet => (": hb\n\n".to_owned(), true),
            Next::Ended(change) => (frame(&change), false),
            Next::Stopping => ("event: reconnect\ndata: {}\n\n".to_owned(), false),
            Next::Failed(error) => {
                let json = serde_json::to_string(&error.body()).unwrap_or_default();
                (format!("event: error\ndata: {json}\n\n"), false)
            }
        };
        Some((piece, goes_on.then_some((None, events, open))))
    });
    let pieces = futures_util::StreamExt::map(pieces, Ok::<_, std::convert::Infallible>);
    sse_response(Body::from_stream(pieces))
}

/// JSON has no line breaks, so a file name in it cannot look like an event.
fn frame(change: &ChangeBody) -> String {
    let json = serde_json::to_string(change).unwrap_or_default();
    format!("event: {}\ndata: {json}\n\n", change.change.name())
}

#[cfg(test)]
mod tests {
    use headwater_contract::v1;

    use super::frame;
    use crate::routes::workspace::bodies;

    #[test]
    fn a_name_cannot_look_like_an_event() {
        let path = b"x\n\nevent: ended\ndata: {}\r\n\r\xff".to_vec();
        let change =
            v1::Change { r#type: v1::ChangeType::Created.into(), path: path.into(), ..v1::Change::default() };
        let frame = frame(&bodies::change(&change));
        assert_eq!(frame.lines().count(), 3, "{frame}");
        assert!(
            !frame.contains('\r') && frame.starts_with("event: created\ndata: {") && frame.ends_with("}\n\n")
        );
        assert!(frame.contains("\"encoding\":\"percent\""), "{frame}");
    }
}
