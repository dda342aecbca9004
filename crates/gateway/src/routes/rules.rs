//! `/v1/sessions/{id}/rules`: what people allowed their agents to run in a session from now on.
//!
//! There is no route that adds one: only the answer of a person to a question does.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::SessionId;
use headwater_protocol::api::Timestamp;
use headwater_store::SessionRuleRow;
use headwater_tools::policy::{Action, Rule};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{NoQuery, Path};
use crate::http::openapi::{Common, NamesSession};
use crate::state::Gateway;
use crate::tools::rules::rule_of;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(delete))
}

/// A rule by which commands run without a question.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionRule, examples(json!({
    "number": 3, "user": "ann", "prefix": ["cargo", "fetch"], "workdir": "/workspace",
    "grants": {"network": true}, "created_at": "2026-01-02T03:04:05.678Z"
})))]
struct RuleBody {
    /// Its number in this server.
    number: i64,
    /// The user for whose agents it holds.
    user: String,
    /// The first words of the commands, each compared as a whole.
    prefix: Vec<String>,
    /// Only in this working directory.
    workdir: Option<String>,
    /// What such a command may get besides the rights of its session.
    #[schema(value_type = Object)]
    grants: Value,
    /// When a person added it.
    created_at: Timestamp,
}

impl RuleBody {
    fn of(row: &SessionRuleRow) -> Option<Self> {
        let Rule { prefix, action, workdir, grants, .. } = rule_of(row)?;
        let grants = serde_json::to_value(grants).ok()?;
        let (number, user, created_at) = (row.number, row.owner.clone(), Timestamp(row.created_at_ms));
        (action == Action::Allow).then_some(Self { number, user, prefix, workdir, grants, created_at })
    }
}

/// The rules of a session.
#[derive(Debug, Serialize, ToSchema)]
struct RuleList {
    /// Oldest first.
    items: Vec<RuleBody>,
}

/// Lists the rules by which commands of agents run in a session without a question.
///
/// A person adds a rule with the answer "Always allow" to a question of `/mcp`; nothing else does.
#[utoipa::path(get, path = "/v1/sessions/{id}/rules", operation_id = "listRules", tag = "tools",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = RuleList), Common, NamesSession))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<Json<RuleList>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let rows = gateway.store.session_rules(id, None).await?;
    Ok(Json(RuleList { items: rows.iter().filter_map(RuleBody::of).collect() }))
}

/// Removes a rule of a session: a person is asked again.
#[utoipa::path(delete, path = "/v1/sessions/{id}/rules/{number}", operation_id = "deleteRule", tag = "tools",
    params(("id" = String, Path, description = "the session"), ("number" = i64, Path, description = "the rule's number")),
    responses((status = 204, description = "it was removed"), Common, NamesSession))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, number)): Path<(SessionId, String)>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let missing = || ApiError::not_found("rule", &number).hint("`GET .../rules` lists them");
    let parsed = number.parse().map_err(|_| missing())?;
    if !gateway.store.remove_session_rule(id, parsed).await? {
        return Err(missing());
    }
    gateway.audit.record(&who, "rule.delete", id.to_string(), format!("number={parsed}"));
    Ok(StatusCode::NO_CONTENT)
}
