//! Finds a session by its id, by its name or by a unique prefix of its id, wherever a session is expected.

use axum::RequestPartsExt;
use axum::extract::{MatchedPath, RawPathParams, Request};
use headwater_protocol::api::ErrorCode;
use headwater_protocol::{SessionId, SessionState};
use headwater_store::{PageRequest, SessionFilter, SessionRow};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::state::Gateway;

/// Routes whose first parameter is a session.
const ROUTES: &str = "/v1/sessions/{id}";
/// Sessions listed in the error for an ambiguous prefix.
const MAX_CANDIDATES: u32 = 5;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// The session that the path of a request names. Handlers get its id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedSession(pub(crate) SessionId);

impl Gateway {
    /// The session with this id, with this name among the live sessions of `who`, or the only one with this prefix of an
    /// id that `who` sees.
    pub(crate) async fn session_named(
        &self,
        who: &Identity,
        need: Need,
        text: &str,
    ) -> Result<SessionId, ApiError> {
        let id = self.find_session(who, text).await?;
        self.auth.may_use_session(who, need, id).await?;
        Ok(id)
    }

    /// The same for several.
    pub(crate) async fn sessions_named(
        &self,
        who: &Identity,
        need: Need,
        texts: &[impl AsRef<str> + Sync],
    ) -> Result<Vec<SessionId>, ApiError> {
        let mut ids = Vec::with_capacity(texts.len());
        for text in texts {
            ids.push(self.session_named(who, need, text.as_ref()).await?);
        }
        Ok(ids)
    }

    async fn find_session(&self, who: &Identity, text: &str) -> Result<SessionId, ApiError> {
        if let Ok(id) = text.parse::<SessionId>() {
            return Ok(id);
        }
        if let Some(row) = self.live_session_named(&who.owner, text).await? {
            return Ok(row.id);
        }
        self.session_by_prefix(who, text).await?.ok_or_else(|| no_session_named(text))
    }

    /// The session of this owner that has this name and has not ended.
    pub(crate) async fn live_session_named(
        &self,
        owner: &str,
        name: &str,
    ) -> Result<Option<SessionRow>, ApiError> {
        let Some(row) = self.store.session_by_name(owner, name).await? else { return Ok(None) };
        // Its end may not be recorded yet; this records it.
        let session = self.current_session(row.clone()).await?;
        Ok((!matches!(session.state, SessionState::Ended { .. })).then_some(row))
    }

    async fn session_by_prefix(&self, who: &Identity, text: &str) -> Result<Option<SessionId>, ApiError> {
        let digits = text.strip_prefix("ses_").unwrap_or(text);
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if digits.is_empty() || digits.len() > ID_DIGITS || !digits.chars().all(is_digit) {
            return Ok(None);
        }
        let (owner, among) = who.list_filter();
        let id_prefix = Some(format!("ses_{digits}"));
        let own = SessionFilter { owner, among, id_prefix: id_prefix.clone(), ..SessionFilter::default() };
        let page = PageRequest::first(MAX_CANDIDATES + 1);
        let mut found = self.store.sessions(&own, page).await?.items;
        if found.is_empty() {
            let member = Some(who.owner.clone());
            let shared = SessionFilter { member, id_prefix, ..SessionFilter::default() };
            found = self.store.sessions(&shared, page).await?.items;
        }
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.id)),
            many => Err(ambiguous(text, many)),
        }
    }

    /// Refuses a name that another session of this owner has.
    pub(crate) async fn check_name_is_free(
        &self,
        owner: &str,
        name: Option<&str>,
        id: SessionId,
    ) -> Result<(), ApiError> {
        let Some(name) = name else { return Ok(()) };
        match self.live_session_named(owner, name).await? {
            Some(other) if other.id != id => Err(name_taken(name)),
            _ => Ok(()),
        }
    }

    /// Resolves the name or the prefix in the path of a request, for the handler's `Path`.
    pub(crate) async fn resolve_session_in_path(
        &self,
        who: Option<&Identity>,
        request: Request,
    ) -> Result<Request, ApiError> {
        let matched = request.extensions().get::<MatchedPath>();
        let (Some(who), true) = (who, matched.is_some_and(|path| path.as_str().starts_with(ROUTES))) else {
            return Ok(request);
        };
        let (mut parts, body) = request.into_parts();
        let params = parts.extract::<RawPathParams>().await.ok();
        let text = params.and_then(|params| params.iter().next().map(|(_, text)| text.to_owned()));
        if let Some(text) = text.filter(|text| text.parse::<SessionId>().is_err()) {
            let id = self.find_session(who, &text).await?;
            parts.extensions.insert(NamedSession(id));
        }
        Ok(Request::from_parts(parts, body))
    }
}

fn no_session_named(text: &str) -> ApiError {
    ApiError::not_found("session", text).hint(
        "it is neither the name of a live session of yours nor the id or a prefix of the id of a session: \
         `POST /v1/sessions` with `{\"name\": ...}` creates one",
    )
}

fn ambiguous(text: &str, found: &[SessionRow]) -> ApiError {
    let shown: Vec<_> = found.iter().take(MAX_CANDIDATES as usize).map(|row| row.id.to_string()).collect();
    let more = if found.len() > shown.len() { ", ..." } else { "" };
    ApiError::new(
        ErrorCode::AmbiguousId,
        format!("`{text}` matches several sessions: {}{more}", shown.join(", ")),
        "give more digits of the id",
    )
}

/// The error for a name that another session of the owner has.
pub(crate) fn name_taken(name: &str) -> ApiError {
    ApiError::new(
        ErrorCode::NameTaken,
        format!("you already have a session with the name `{name}`"),
        "use that session by its name, choose another name, or delete it first",
    )
}
