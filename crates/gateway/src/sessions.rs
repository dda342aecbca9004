//! Creates, reads, changes and removes sessions. The store knows their owners, and the worker their state.

mod activity;
pub(crate) mod by_name;

use std::collections::HashMap;
use std::sync::Arc;

use headwater_contract::v1;
use headwater_protocol::api::SessionPatch;
use headwater_protocol::{Session, SessionId, SessionSpec, SessionState};
use headwater_store::{Page, PageRequest, Role, SessionFilter, SessionRow, StoreError};

use crate::auth::{Identity, Need, authorise};
use crate::bodies::{OWNER, check_metadata, session_by_row};
use crate::error::ApiError;
use crate::executions::reconcile::session_row;
use crate::executions::recorder::is_missing;
use crate::http::idempotency::RequestKey;
use crate::http::paging::InParts;
use crate::now_ms;
use crate::sessions::by_name::name_taken;
use crate::state::Gateway;
use crate::templates::TemplateFile;
use crate::worker::if_it_fits;

impl Gateway {
    /// Creates a session; with a key, once. The store is written before this returns.
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
        self.background
            .detached(async move { gateway.begin_session(&who, spec, None, request_key).await })
            .await
    }

    /// Creates a session with the files and limits of a template; the limits of `spec` take precedence.
    pub(crate) async fn create_session_from(
        self: &Arc<Self>,
        who: &Identity,
        name: &str,
        mut spec: SessionSpec,
        request_key: RequestKey,
    ) -> Result<Session, ApiError> {
        authorise(who, Need::Write)?;
        let template = self.template(name)?;
        spec.limits = spec.limits.or(&template.limits);
        check_metadata(&spec.metadata)?;
        spec.check()?;
        let files = template.read_files(name).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background
            .detached(async move { gateway.begin_session(&who, spec, Some(files), request_key).await })
            .await
    }

    async fn begin_session(
        self: &Arc<Self>,
        who: &Identity,
        mut spec: SessionSpec,
        files: Option<Vec<TemplateFile>>,
        request_key: RequestKey,
    ) -> Result<Session, ApiError> {
        let claim = self.keys.claim(who, &request_key, SessionId::random(), None).await?;
        let earlier = if claim.repeated { self.store.session(claim.id).await? } else { None };
        // The files of an existing session may have changed since.
        let files = files.filter(|_| earlier.is_none()).unwrap_or_default();
        // A session that has ended is not created again.
        if let Some(row) = earlier.filter(|row| row.ended_at_ms.is_some()) {
            return self.current_session(row).await;
        }
        self.quota.may_create_session(&who.owner).await?;
        self.check_name_is_free(&who.owner, spec.name.as_deref(), claim.id).await?;
        spec.metadata.insert(OWNER.to_owned(), who.owner.clone());
        self.create_in_worker(who, claim.id, &spec, files, request_key.key.is_some()).await
    }

    /// Creates the session in the worker, and then writes the row with the defaults that the worker filled in. If the
    /// gateway is killed in between, the next one adopts the session.
    async fn create_in_worker(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
        spec: &SessionSpec,
        files: Vec<TemplateFile>,
        has_key: bool,
    ) -> Result<Session, ApiError> {
        let session = self.worker.create_session(id, spec).await?;
        if session.spec.secret_env != spec.secret_env {
            // Its values would be returned like those of any other variable.
            let _ = self.worker.end_session(id, true).await;
            let hint = "restart the worker with the current version, or leave `secret_env` out";
            return Err(ApiError::conflict("this worker is too old to keep variables secret", hint));
        }
        if let Err(error) = self.write_template(id, files).await {
            let _ = self.worker.end_session(id, true).await;
            return Err(error.into());
        }
        match self.store.create_session(&session_row(session.clone())).await {
            Ok(true) => {
                self.audit.record(who, "session.create", id.to_string(), String::new());
                tracing::info!(session = %id, owner = who.owner, "session created");
            }
            Ok(false) => {}
            // Another request took the name meanwhile.
            Err(StoreError::NameTaken) => {
                let _ = self.worker.end_session(id, true).await;
                return Err(name_taken(spec.name.as_deref().unwrap_or_default()));
            }
            Err(error) => {
                // Without a key nobody could find it. With a key the next attempt finds it, or an earlier attempt has
                // created it and the owner already uses it.
                if !has_key {
                    let _ = self.worker.end_session(id, true).await;
                }
                return Err(error.into());
            }
        }
        self.auth.access.put_session(id, who.owner.clone());
        Ok(session)
    }

    /// A session with its current state.
    pub(crate) async fn get_session(&self, who: &Identity, id: SessionId) -> Result<Session, ApiError> {
        self.auth.may_use_session(who, Need::Read, id).await?;
        let missing = || ApiError::not_found("session", &id.to_string());
        let row = self.store.session(id).await?.ok_or_else(missing)?;
        self.current_session(row).await
    }

    /// The session of a row with its current state, whose end is recorded; or the row, if the worker does not know it.
    pub(crate) async fn current_session(&self, row: SessionRow) -> Result<Session, ApiError> {
        let id = row.id;
        match self.worker.session(id).await {
            Ok(session) => {
                // The request is answered even if the end cannot be recorded now: it is recorded later.
                if row.ended_at_ms.is_none()
                    && let Err(error) = self.reconciler.note_session(&session).await
                {
                    tracing::warn!(session = %id, message = %error.message, "the end of the session was not recorded");
                }
                Ok(session)
            }
            Err(error) if is_missing(&error) => Ok(session_by_row(row, now_ms())),
            Err(error) => Err(error.into()),
        }
    }

    /// A page of sessions with their current state, without their environments.
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
            return Err(ApiError::forbidden("only operators may list the sessions of others", hint));
        }
        // A shared session belongs to somebody else.
        if filter.member.is_none() {
            filter.owner = owner.or(filter.owner);
        }
        filter.among = among;
        let _permit = self.quota.lists.acquire(&who.owner).await;
        if who.role == Role::Admin {
            self.reconciler.adopt_recent().await;
        }
        let mut parts = InParts::new(page);
        while let Some(part) = parts.wanted() {
            parts.add(self.session_rows(&filter, part).await?);
        }
        let found = parts.page();
        let mut live = HashMap::new();
        if found.items.iter().any(|row| row.ended_at_ms.is_none()) {
            let sessions = self.worker.sessions_in_brief().await;
            live.extend(if_it_fits(sessions)?.into_iter().map(|session| (session.id, session)));
        }
        let mut items = Vec::with_capacity(found.items.len());
        for row in found.items {
            let session = match live.remove(&row.id) {
                Some(mut session) => {
                    session.spec.metadata = row.spec.metadata;
                    session
                }
                None if row.ended_at_ms.is_some() => session_by_row(row, 0),
                // It has ended without a record, or the worker has too many sessions for one list.
                None => {
                    let mut session = self.current_session(row).await?;
                    session.spec.env.clear();
                    session
                }
            };
            let has_ended = matches!(session.state, SessionState::Ended { .. });
            if filter.ended.is_none_or(|ended| ended == has_ended) {
                items.push(session);
            }
        }
        Ok(Page { items, next: found.next })
    }

    /// A part of a page of rows, without their environments.
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

    /// Changes a session: absent fields keep their values.
    pub(crate) async fn patch_session(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
        patch: SessionPatch,
    ) -> Result<Session, ApiError> {
        // Only the owner changes the limits: other editors must not raise their own limits. The same holds for the idle
        // timeout, which deletes the workspace like `DELETE`.
        let needs_owner = patch.limits.is_some() || patch.idle_timeout_ms.is_some();
        let need = if needs_owner { Need::Own } else { Need::Write };
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
                let before = gateway.claim_name(id, request.name.as_deref()).await?;
                let session = match gateway.worker.update_session(request).await {
                    Err(error) => {
                        if let Some(before) = before {
                            gateway.store.rename_session(id, before.as_deref()).await?;
                        }
                        if is_missing(&error) {
                            let message = format!("the session `{id}` has ended");
                            return Err(ApiError::conflict(message, "create another session"));
                        }
                        return Err(error.into());
                    }
                    Ok(session) => session,
                };
                gateway.store.update_session(id, &session.spec).await?;
                gateway.audit.record(&who, "session.patch", id.to_string(), String::new());
                Ok(session)
            })
            .await
    }

    /// Gives a session a new name in the store, before the worker does, so that no other session can take it. Returns the
    /// name before, if it changed.
    async fn claim_name(
        &self,
        id: SessionId,
        name: Option<&str>,
    ) -> Result<Option<Option<String>>, ApiError> {
        let (Some(name), Some(row)) = (name.filter(|name| !name.is_empty()), self.store.session(id).await?)
        else {
            return Ok(None);
        };
        if row.spec.name.as_deref() == Some(name) {
            return Ok(None);
        }
        self.check_name_is_free(&row.owner, Some(name), id).await?;
        match self.store.rename_session(id, Some(name)).await {
            Err(StoreError::NameTaken) => Err(name_taken(name)),
            answer => Ok(answer?.then_some(row.spec.name)),
        }
    }

    /// Ends what runs in a session and keeps its workspace.
    pub(crate) async fn hibernate_session(
        self: &Arc<Self>,
        who: &Identity,
        id: SessionId,
    ) -> Result<Session, ApiError> {
        self.auth.may_use_session(who, Need::Write, id).await?;
        let sleep = self.worker.hibernate_session(id).await;
        let session = match sleep {
            Err(error) if is_missing(&error) => {
                return Err(ApiError::conflict(
                    format!("the session `{id}` has ended"),
                    "create another session",
                ));
            }
            answer => answer?,
        };
        self.audit.record(who, "session.hibernate", id.to_string(), String::new());
        Ok(session)
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
            Ok(session) => self.reconciler.note_session(&session).await?,
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
