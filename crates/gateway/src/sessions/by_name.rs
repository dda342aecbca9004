//! Finds a session by id or by name, for the editor's routes.

use headwater_protocol::{SessionId, SessionState};
use headwater_store::{PageRequest, SessionFilter};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::state::Gateway;

/// The newest sessions of one name that are checked. Those that have ended without a record are skipped.
const MAX_OF_ONE_NAME: u32 = 50;

impl Gateway {
    /// The session with this id, or the newest live session of `who` with this name.
    pub(crate) async fn session_named(
        &self,
        who: &Identity,
        need: Need,
        text: &str,
    ) -> Result<SessionId, ApiError> {
        let id = match text.parse::<SessionId>() {
            Ok(id) => id,
            Err(_) => self.newest_named(who, text).await?.ok_or_else(|| no_session_named(text))?,
        };
        self.auth.may_use_session(who, need, id).await?;
        Ok(id)
    }

    async fn newest_named(&self, who: &Identity, name: &str) -> Result<Option<SessionId>, ApiError> {
        let filter = SessionFilter {
            owner: Some(who.owner.clone()),
            name: Some(name.to_owned()),
            ended: Some(false),
            ..SessionFilter::default()
        };
        for row in self.store.sessions(&filter, PageRequest::first(MAX_OF_ONE_NAME)).await?.items {
            let id = row.id;
            if !matches!(self.current_session(row).await?.state, SessionState::Ended { .. }) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

fn no_session_named(text: &str) -> ApiError {
    ApiError::not_found("session", text).hint(
        "it is neither the id nor the name of a live session of yours: `POST /v1/sessions` with `{\"name\": ...}` \
         creates one",
    )
}
