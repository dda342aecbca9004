//! The secrets of a session: variables of its environment that no text for a model may contain.

use std::sync::Arc;

use headwater_protocol::Session;

use crate::output::Secrets;

/// The values of the session's secret variables, to be masked in everything that a model reads.
pub fn secrets_of(session: &Session) -> Arc<Secrets> {
    // Only gigabytes cannot be searched for, and an environment is far smaller.
    Arc::new(Secrets::new(session.spec.secrets()).unwrap_or_default())
}
