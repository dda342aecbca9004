//! When something last happened in sessions.

use headwater_protocol::SessionId;
use headwater_protocol::api::{SessionBody, Timestamp};

use crate::state::Gateway;

impl Gateway {
    /// Adds the time of the last activity to a session.
    pub(crate) async fn with_activity(&self, session: SessionBody) -> SessionBody {
        let mut sessions = [session];
        self.add_activity(&mut sessions).await;
        let [session] = sessions;
        session
    }

    /// Adds the time of the last activity to each session. A store that does not answer is no reason to fail: what was
    /// asked for has been done.
    pub(crate) async fn add_activity(&self, sessions: &mut [SessionBody]) {
        let ids: Vec<SessionId> = sessions.iter().map(|session| session.id).collect();
        let found = match self.store.last_activity(&ids).await {
            Ok(found) => found,
            Err(error) => return tracing::warn!(%error, "the last activity of sessions was not read"),
        };
        for session in sessions {
            session.last_activity_at = found.get(&session.id).map(|at_ms| Timestamp(*at_ms));
        }
    }
}
