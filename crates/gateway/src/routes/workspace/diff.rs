//! Differences of a workspace: `GET /v1/sessions/{id}/files/diff`.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use headwater_contract::{Messages, v1};
use headwater_protocol::api::DiffBody;
use headwater_protocol::{SessionId, SnapshotId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::json_stream::{Parts, Source, answer};
use crate::http::openapi::{Common, NotFound, SessionEnded};
use crate::routes::workspace::bodies;
use crate::state::Gateway;

/// The maximum number of differences in a response, and of bytes of their patches.
const MAX_ITEMS: usize = 20_000;
const MAX_PATCH_BYTES: usize = 32 << 20;

/// Selects what to compare with.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiffQuery {
    /// The snapshot to compare with; the session's start if absent.
    #[param(value_type = Option<String>)]
    snapshot: Option<SnapshotId>,
    /// Also return a unified diff of text files of up to 1 MiB: of added ones or, compared with a snapshot,
    /// of all.
    content: Option<bool>,
}

/// Returns the differences between the workspace now and at the session's start, or in a snapshot.
///
/// At its start a session's workspace is empty, or the copy that it was forked with.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/diff", operation_id = "diffFiles", tag = "trees",
    params(("id" = String, Path, description = "the session"), DiffQuery),
    responses((status = 200, body = DiffBody), Common, NotFound, SessionEnded))]
pub(crate) async fn diff(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<SessionId>,
    Query(query): Query<DiffQuery>,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, session).await?;
    let (snapshot, content) = (query.snapshot, query.content == Some(true));
    answer(&gateway, Differences::new(gateway.worker.diff(session, snapshot, content).await?)).await
}

/// A comparison that is written into a response while it runs.
struct Differences {
    messages: Messages<v1::DiffResponse>,
    waiting: VecDeque<v1::Difference>,
    items: usize,
    patch_bytes: usize,
}

impl Differences {
    const fn new(messages: Messages<v1::DiffResponse>) -> Self {
        Self { messages, waiting: VecDeque::new(), items: 0, patch_bytes: 0 }
    }

    fn end(&self, parts: &mut Parts, truncated: bool) -> bool {
        parts.json(if self.items == 0 { "{\"items\":[" } else { "" });
        parts.json(format!("],\"truncated\":{truncated}}}"));
        false
    }

    fn add(&mut self, parts: &mut Parts, difference: &v1::Difference) -> Result<bool, ApiError> {
        self.patch_bytes += difference.patch.as_ref().map_or(0, bytes::Bytes::len);
        if self.items == MAX_ITEMS || self.patch_bytes > MAX_PATCH_BYTES {
            return Ok(self.end(parts, true));
        }
        let mut shown = bodies::difference(difference);
        let patch = shown.patch.take();
        parts.json(if self.items == 0 { "{\"items\":[{" } else { ",{" });
        parts.fields(&shown)?;
        if let Some(patch) = patch {
            parts.json(",\"patch\":\"");
            parts.text(patch);
            parts.json("\"");
        }
        parts.json("}");
        self.items += 1;
        Ok(true)
    }
}

impl Source for Differences {
    async fn more(&mut self, parts: &mut Parts) -> Result<bool, ApiError> {
        if let Some(difference) = self.waiting.pop_front() {
            return self.add(parts, &difference);
        }
        match self.messages.next().await? {
            Some(message) => self.waiting = message.differences.into(),
            None => return Ok(self.end(parts, false)),
        }
        Ok(true)
    }
}
