//! The session that calls with the same `interactive_id`, conversation or agent share.
//!
//! It is the owner's newest session with a name such as `interactive:<id>`. If none exists, or it has ended, the
//! next one is created under a key that names its predecessor, so that concurrent calls create the same session.
//! It has no idle timeout: like others it hibernates.

use std::sync::Arc;

use headwater_protocol::{SandboxKind, Session, SessionId, SessionSpec, SessionState};
use headwater_store::{Claim, KeyRow, PageRequest, SessionFilter, SessionRow};

use crate::auth::Identity;
use crate::bodies::OWNER;
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::now_ms;
use crate::state::Gateway;

/// The newest session of a name.
enum Newest {
    /// It can be used.
    Ready(SessionId),
    /// It has ended, or none existed.
    Ended(Option<SessionId>),
}

/// The session of this `interactive_id`. It is created if it does not exist.
pub(crate) async fn session(gateway: &Arc<Gateway>, who: &Identity, id: &str) -> Result<SessionId, ApiError> {
    named(gateway, who, format!("interactive:{id}"), || Ok(())).await
}

/// The session of this name. It is created if it does not exist and `may_create` allows it.
pub(crate) async fn named(
    gateway: &Arc<Gateway>,
    who: &Identity,
    name: String,
    may_create: impl FnOnce() -> Result<(), ApiError>,
) -> Result<SessionId, ApiError> {
    let predecessor = match newest(gateway, who, &name).await? {
        Newest::Ready(id) => return Ok(id),
        Newest::Ended(predecessor) => predecessor,
    };
    may_create()?;
    let predecessor = predecessor.map_or_else(|| "none".to_owned(), |id| id.to_string());
    let key = KeyRow {
        owner: who.owner.clone(),
        // Cannot collide: a key in a request cannot contain a space.
        key: format!("{name} after {predecessor}"),
        request_hash: [0; 32],
        object: SessionId::random().to_string(),
        session: None,
        created_at_ms: now_ms(),
    };
    let object = match gateway.store.claim_key(&key).await? {
        Claim::New => key.object,
        Claim::Known(known) => known.object,
    };
    gateway.quota.may_create_session(&who.owner).await?;
    let row = row(object.parse()?, &who.owner, name);
    let gateway = Arc::clone(gateway);
    let who = who.clone();
    Arc::clone(&gateway).background.detached(async move { make(&gateway, &who, &row).await }).await
}

async fn newest(gateway: &Gateway, who: &Identity, name: &str) -> Result<Newest, ApiError> {
    let (owner, name) = (Some(who.owner.clone()), Some(name.to_owned()));
    let filter = SessionFilter { owner, name, ..SessionFilter::default() };
    let newest = gateway.store.sessions(&filter, PageRequest::first(1)).await?.items.into_iter().next();
    let Some(row) = newest else { return Ok(Newest::Ended(None)) };
    let is_ready = row.ended_at_ms.is_none() && is_ready(gateway, &row).await?;
    Ok(if is_ready { Newest::Ready(row.id) } else { Newest::Ended(Some(row.id)) })
}

/// Whether a session in the store can be used. One that the worker does not know is being created by another
/// call.
async fn is_ready(gateway: &Gateway, row: &SessionRow) -> Result<bool, ApiError> {
    let id = row.id;
    let session = match gateway.worker.session(id).await {
        Err(error) if is_missing(&error) => create(gateway, row).await?,
        session => session?,
    };
    match session.state {
        SessionState::Ready | SessionState::Hibernated => Ok(true),
        SessionState::Ended { ended_at_ms } => {
            gateway.store.end_session(id, ended_at_ms).await?;
            Ok(false)
        }
    }
}

fn row(id: SessionId, owner: &str, name: String) -> SessionRow {
    let spec = SessionSpec {
        name: Some(name),
        metadata: [(OWNER.to_owned(), owner.to_owned())].into(),
        ..SessionSpec::default()
    };
    let (owner, created_at_ms) = (owner.to_owned(), now_ms());
    SessionRow { id, owner, spec, sandbox: SandboxKind::default(), created_at_ms, ended_at_ms: None }
}

/// Creates the session, or finds that it exists.
async fn make(gateway: &Arc<Gateway>, who: &Identity, row: &SessionRow) -> Result<SessionId, ApiError> {
    let session = create(gateway, row).await?;
    // As the worker returned it, with its defaults.
    let row = SessionRow {
        spec: session.spec,
        sandbox: session.sandbox,
        created_at_ms: session.created_at_ms,
        ..row.clone()
    };
    if gateway.store.put_session(&row).await? {
        gateway.audit.record(who, "session.create", row.id.to_string(), String::new());
    }
    gateway.auth.access.put_session(row.id, row.owner);
    Ok(row.id)
}

async fn create(gateway: &Gateway, row: &SessionRow) -> Result<Session, ApiError> {
    let (id, spec) = (row.id, &row.spec);
    Ok(gateway.worker.create_session(id, spec).await?)
}
