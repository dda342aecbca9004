//! Sessions: making, telling of, changing and removing them. The store says whose they are; the worker, how they are.

pub(crate) mod by_name;

use std::collections::HashMap;
use std::sync::Arc;

use headwater_contract::v1;
use headwater_protocol::api::SessionPatch;
use headwater_protocol::{Session, SessionId, SessionSpec, SessionState};
use headwater_store::{Page, PageRequest, SessionFilter, SessionRow};

use crate::auth::{Identity, Need, authorise};
use crate::bodies::{OWNER, check_metadata, session_by_row};
use crate::error::ApiError;
use crate::executions::reconcile::session_row;
use crate::executions::recorder::is_missing;
use crate::http::idempotency::RequestKey;
use crate::http::paging::InParts;
use crate::now_ms;
use crate::state::Gateway;
use crate::worker::if_it_fits;

impl Gateway {
    /// Makes a session; with a key, once. The store is written before this returns.
    pub(crate) async fn create_session(
        self: &Arc<Self>,
        who: &Identity,
        spec: SessionSpec,
        request_key: RequestKey,
    ) -> Result<Session, ApiError> {
        authorise(who, Need::Write)?;
        check_metadata(&spec.metadata)?;
        spec.check()?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background.detached(async move { gateway.begin_session(&who, spec, request_key).await }).await
    }

    async fn begin_session(
        self: &Arc<Self>,
        who: &Identity,
        mut spec: SessionSpec,
        request_key: RequestKey,
    ) -> Result<Session, ApiError> {
        let claim = self.keys.claim(who, &request_key, SessionId::random(), None).await?;
        // What is over is not made again.
        if claim.repeated
            && let Some(row) = self.store.session(claim.id).await?.filter(|row| row.ended_at_ms.is_some())
        {
            return self.session_told(row).await;
        }
        self.quota.may_create_session(&who.owner).await?;
        spec.metadata.insert(OWNER.to_owned(), who.owner.clone());
        self.make_session(who, claim.id, &spec, request_key.key.is_some()).await
    }

    /// Asks the worker, and then writes the row: with the defaults that the worker filled in. A gateway that is killed
    /// in between finds the session when it is started again.
    async fn make_session(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
        spec: &SessionSpec,
        has_key: bool,
    ) -> Result<Session, ApiError> {
        let told = self.worker.create_session(id, spec).await?;
        match self.store.put_session(&session_row(told.clone())).await {
            Ok(true) => {
                self.audit.record(who, "session.create", id.to_string(), String::new());
                tracing::info!(session = %id, owner = who.owner, "session made");
            }
            Ok(false) => {}
            Err(error) => {
                // Nobody would know of it. With a key the next attempt finds it, or an earlier one has made it already
                // and there are things of the owner's in it.
                if !has_key {
                    let _ = self.worker.end_session(id, true).await;
                }
                return Err(error.into());
            }
        }
        self.auth.access.put_session(id, who.owner.clone());
        Ok(told)
    }

    /// Tells of a session.
    pub(crate) async fn look_at_session(&self, who: &Identity, id: SessionId) -> Result<Session, ApiError> {
        self.auth.may_use_session(who, Need::Read, id).await?;
        let missing = || ApiError::not_found("session", &id.to_string());
        let row = self.store.session(id).await?.ok_or_else(missing)?;
        self.session_told(row).await
    }

    /// What the worker tells of a session, noted; or what the store has of it.
    pub(crate) async fn session_told(&self, row: SessionRow) -> Result<Session, ApiError> {
        let id = row.id;
        match self.worker.session(id).await {
            Ok(told) => {
                // Who reads is answered also if the end cannot be noted now: it is noted later.
                if row.ended_at_ms.is_none()
                    && let Err(error) = self.reconciler.note_session(&told).await
                {
                    tracing::warn!(session = %id, message = %error.message, "the session's end is not noted");
                }
                Ok(told)
            }
            Err(error) if is_missing(&error) => Ok(session_by_row(row, now_ms())),
            Err(error) => Err(error.into()),
        }
    }

    /// A page of sessions, as they are, without their environments.
    pub(crate) async fn list_sessions(
        &self,
        who: &Identity,
        mut filter: SessionFilter,
        page: PageRequest,
    ) -> Result<Page<Session>, ApiError> {
        let (owner, among) = who.list_filter();
        if let (Some(own), Some(wanted)) = (&owner, &filter.owner)
            && own != wanted
        {
            let hint =
                "leave `owner` out to list your own; `shared=true` lists those that are shared with you";
            return Err(ApiError::forbidden("only operators list the sessions of others", hint));
        }
        // What is shared with somebody is not theirs.
        if filter.member.is_none() {
            filter.owner = owner.or(filter.owner);
        }
        filter.among = among;
        let _turn = self.quota.lists.acquire(&who.owner).await;
        let mut parts = InParts::new(page);
        while let Some(part) = parts.wanted() {
            parts.add(self.session_rows(&filter, part).await?);
        }
        let found = parts.page();
        let mut live = HashMap::new();
        if found.items.iter().any(|row| row.ended_at_ms.is_none()) {
            let told = self.worker.sessions_in_brief().await;
            live.extend(if_it_fits(told)?.into_iter().map(|session| (session.id, session)));
        }
        let mut items = Vec::with_capacity(found.items.len());
        for row in found.items {
            let session = match live.remove(&row.id) {
                Some(mut told) => {
                    told.spec.metadata = row.spec.metadata;
                    told
                }
                None if row.ended_at_ms.is_some() => session_by_row(row, 0),
                // It has ended since somebody looked last, or there are too many to be told of at once.
                None => {
                    let mut told = self.session_told(row).await?;
                    told.spec.env.clear();
                    told
                }
            };
            let has_ended = matches!(session.state, SessionState::Ended { .. });
            if filter.ended.is_none_or(|ended| ended == has_ended) {
                items.push(session);
            }
        }
        Ok(Page { items, next: found.next })
    }

    /// A part of a page of rows, without the environments: lists do not have them.
    async fn session_rows(
        &self,
        filter: &SessionFilter,
        part: PageRequest,
    ) -> Result<Page<SessionRow>, ApiError> {
        let mut found = self.store.sessions(filter, part).await?;
        for row in &mut found.items {
            row.spec.env.clear();
        }
        Ok(found)
    }

    /// Changes a session: what is absent stays.
    pub(crate) async fn patch_session(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
        patch: SessionPatch,
    ) -> Result<Session, ApiError> {
        // Limits are the owner's: whoever else may write must not lift what bounds them. So is the idle timeout: it
        // deletes the workspace, as `DELETE` does.
        let is_the_owners = patch.limits.is_some() || patch.idle_timeout_ms.is_some();
        let need = if is_the_owners { Need::Own } else { Need::Write };
        self.auth.may_use_session(who, need, id).await?;
        check_metadata(&patch.metadata)?;
        let request = v1::UpdateSessionRequest {
            session_id: id.to_string(),
            name: patch.name,
            limits: patch.limits.as_ref().map(Into::into),
            idle_timeout_ms: patch.idle_timeout_ms,
            metadata: patch.metadata.into_iter().collect(),
        };
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background
            .detached(async move {
                let told = match gateway.worker.update_session(request).await {
                    Err(error) if is_missing(&error) => {
                        let message = format!("the session `{id}` has ended");
                        return Err(ApiError::conflict(message, "make another session"));
                    }
                    answer => answer?,
                };
                gateway.store.update_session(id, &told.spec).await?;
                gateway.audit.record(&who, "session.patch", id.to_string(), String::new());
                Ok(told)
            })
            .await
    }

    /// Puts a session to sleep.
    pub(crate) async fn hibernate_session(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
    ) -> Result<Session, ApiError> {
        self.auth.may_use_session(who, Need::Write, id).await?;
        let sleep = self.worker.hibernate_session(id).await;
        let told = match sleep {
            Err(error) if is_missing(&error) => {
                return Err(ApiError::conflict(
                    format!("the session `{id}` has ended"),
                    "make another session",
                ));
            }
            answer => answer?,
        };
        self.audit.record(who, "session.hibernate", id.to_string(), String::new());
        Ok(told)
    }

    /// Ends a session and its programs, and removes its workspace and, unless `keep_logs`, its logs and rows.
    pub(crate) async fn delete_session(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
        keep_logs: bool,
    ) -> Result<(), ApiError> {
        self.auth.may_use_session(who, Need::Own, id).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background
            .detached(async move {
                if keep_logs {
                    gateway.end_session(&who, id).await
                } else {
                    gateway.remove_session(&who, id).await
                }
            })
            .await
    }

    /// Ends a session; its executions and their logs stay.
    async fn end_session(self: &Arc<Self>, who: &Identity, id: SessionId) -> Result<(), ApiError> {
        match self.worker.end_session(id, false).await {
            Ok(told) => self.reconciler.note_session(&told).await?,
            Err(error) if is_missing(&error) => _ = self.store.end_session(id, now_ms()).await?,
            Err(error) => return Err(error.into()),
        }
        self.audit.record(who, "session.end", id.to_string(), String::new());
        tracing::info!(session = %id, "session ended");
        Ok(())
    }

    async fn remove_session(self: &Arc<Self>, who: &Identity, id: SessionId) -> Result<(), ApiError> {
        let _removing = self.reconciler.removing.read().await;
        match self.worker.end_session(id, true).await {
            Err(error) if !is_missing(&error) => return Err(error.into()),
            _ => {}
        }
        self.recorder.forget_session(id);
        self.auth.access.forget_session(id);
        if !self.store.remove_session(id).await? {
            return Err(ApiError::not_found("session", &id.to_string())); // somebody else did
        }
        self.quota.meter.outdate();
        self.audit.record(who, "session.delete", id.to_string(), String::new());
        tracing::info!(session = %id, "session removed");
        Ok(())
    }
}
