//! Which session a text means: the editor's routes take an id, or the name of one of the caller's own.

use headwater_protocol::{SessionId, SessionState};
use headwater_store::{PageRequest, SessionFilter};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::state::Gateway;

/// So many sessions of one name are looked at, the newest first: those that the store has not yet heard the end of are
/// passed over.
const OF_ONE_NAME: u32 = 50;

impl Gateway {
    /// The session that `text` means, which `who` may use so: an id, or the name of a live session of theirs. Of two
    /// with the same name, the newer.
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
        for row in self.store.sessions(&filter, PageRequest::first(OF_ONE_NAME)).await?.items {
            let id = row.id;
            if !matches!(self.session_told(row).await?.state, SessionState::Ended { .. }) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

fn no_session_named(text: &str) -> ApiError {
    ApiError::not_found("session", text).hint(
        "it is neither the id nor the name of a live session of yours: `POST /v1/sessions` with `{\"name\": ...}` \
         makes one",
    )
}
