//! Calls for sessions.

use headwater_protocol::SessionId;
use headwater_protocol::api::{PageBody, SessionBody, SessionPatch, SessionRequest, SessionStateName};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use crate::Result;
use crate::client::Client;
use crate::executions::IdempotencyKey;
use crate::http::{CALL_TIMEOUT, json_body};

/// Which sessions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those in this state.
    pub state: Option<SessionStateName>,
    /// Only those with this name.
    pub name: Option<String>,
    /// The maximum number of items on a page.
    pub limit: Option<u32>,
    /// The cursor of the page.
    pub cursor: Option<String>,
}

impl Client {
    /// Creates a session. With a key, repeating the call creates only one.
    pub async fn create_session(
        &self,
        request: &SessionRequest,
        key: Option<&IdempotencyKey>,
    ) -> Result<SessionBody> {
        let (url, body) = (self.route("v1/sessions")?, json_body(request)?);
        let make = || {
            let request = self.request(Method::POST, url.clone()).timeout(CALL_TIMEOUT);
            Ok(IdempotencyKey::on(key, request.header(CONTENT_TYPE, "application/json").body(body.clone())))
        };
        if key.is_some() {
            self.json(self.send_idempotent(make)).await
        } else {
            self.json(self.send(make()?)).await
        }
    }

    /// Returns a session by its id.
    pub async fn session(&self, id: SessionId) -> Result<SessionBody> {
        self.get_json(&format!("v1/sessions/{id}")).await
    }

    /// A page of sessions, newest first.
    pub async fn sessions(&self, filter: &SessionFilter) -> Result<PageBody<SessionBody>> {
        let mut url = self.route("v1/sessions")?;
        {
            let mut query = url.query_pairs_mut();
            match filter.state {
                Some(SessionStateName::Ready) => _ = query.append_pair("state", "ready"),
                Some(SessionStateName::Hibernated) => _ = query.append_pair("state", "hibernated"),
                Some(SessionStateName::Ended) => _ = query.append_pair("state", "ended"),
                None => {}
            }
            for (name, value) in [("name", &filter.name), ("cursor", &filter.cursor)] {
                if let Some(value) = value {
                    query.append_pair(name, value);
                }
            }
            if let Some(limit) = filter.limit {
                query.append_pair("limit", &limit.to_string());
            }
        }
        self.json(self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()).timeout(CALL_TIMEOUT))))
            .await
    }

    /// Changes a session; absent fields stay as they are.
    pub async fn patch_session(&self, id: SessionId, patch: &SessionPatch) -> Result<SessionBody> {
        let url = self.route(&format!("v1/sessions/{id}"))?;
        let make = || Ok(self.request(Method::PATCH, url.clone()).timeout(CALL_TIMEOUT).json(patch));
        self.json(self.send_idempotent(make)).await
    }

    /// Ends a session and its programs, and deletes its workspace and, unless `keep_logs`, its executions and
    /// their logs.
    pub async fn delete_session(&self, id: SessionId, keep_logs: bool) -> Result<()> {
        let mut url = self.route(&format!("v1/sessions/{id}"))?;
        if keep_logs {
            url.set_query(Some("keep_logs=true"));
        }
        let make = || Ok(self.request(Method::DELETE, url.clone()).timeout(CALL_TIMEOUT));
        self.send_idempotent(make).await.map(drop)
    }
}
