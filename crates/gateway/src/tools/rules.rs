//! The rules of sessions: what people allowed their agents to run from now on, kept in the store. On a server a project
//! is a session.

use std::sync::Arc;

use async_trait::async_trait;
use headwater_protocol::SessionId;
use headwater_store::{SessionRuleRow, Store, StoreError};
use headwater_tools::policy::{PolicyError, Rule, RuleKeeper, Rules};
use serde_json::{Value, json};

use crate::audit::Audit;
use crate::auth::Identity;
use crate::now_ms;

/// Rules of one session, of all its users.
const MAX_RULES: u32 = 200;

/// Keeps the rules of one session for the agents of one user. Only an answer of the person to a question adds one.
#[derive(Debug)]
pub(super) struct SessionKeeper {
    store: Arc<dyn Store>,
    audit: Arc<Audit>,
    session: SessionId,
    who: Identity,
}

impl SessionKeeper {
    pub(super) fn new(store: Arc<dyn Store>, audit: Arc<Audit>, session: SessionId, who: Identity) -> Self {
        Self { store, audit, session, who }
    }
}

#[async_trait]
impl RuleKeeper for SessionKeeper {
    async fn rules(&self) -> Result<Rules, PolicyError> {
        let rows = self.store.session_rules(self.session, Some(&self.who.owner)).await;
        let rows = rows.map_err(|error| broken(&error))?;
        Ok(Rules::of(rows.iter().filter_map(rule_of)))
    }

    async fn add(&self, rule: Rule) -> Result<(), PolicyError> {
        rule.check()?;
        let row = SessionRuleRow {
            number: 0,
            session_id: self.session,
            owner: self.who.owner.clone(),
            subject: json!([rule.prefix, rule.workdir]).to_string(),
            rule: serde_json::to_value(&rule).map_err(|error| PolicyError::Keeper(error.to_string()))?,
            created_at_ms: now_ms(),
        };
        match self.store.put_session_rule(&row, MAX_RULES).await {
            Ok(true) => {}
            Ok(false) => return Err(PolicyError::Keeper(too_many(self.session))),
            Err(StoreError::Conflict { .. }) => {
                return Err(PolicyError::Keeper("the session was deleted".to_owned()));
            }
            Err(error) => return Err(broken(&error)),
        }
        self.audit.record(
            &self.who,
            "rule.add",
            self.session.to_string(),
            format!("subject={}", row.subject),
        );
        Ok(())
    }
}

/// The rule of a row; `None` if a later version has written it.
pub(crate) fn rule_of(row: &SessionRuleRow) -> Option<Rule> {
    let rule = serde_json::from_value(Value::clone(&row.rule));
    rule.inspect_err(|error| tracing::warn!(%error, session = %row.session_id, "a rule is not read")).ok()
}

fn too_many(session: SessionId) -> String {
    format!(
        "the command was not run: the session has {MAX_RULES} rules, and no more are kept. Ask the person to allow it \
         once, or to remove rules (DELETE /v1/sessions/{session}/rules/NUMBER)"
    )
}

fn broken(error: &StoreError) -> PolicyError {
    tracing::error!(%error, "the rules of a session cannot be read or kept");
    PolicyError::Keeper(
        "the command was not run: the server cannot read its rules now. Call the tool again in a moment"
            .to_owned(),
    )
}
