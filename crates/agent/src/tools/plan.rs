//! `update_plan`: the plan that people see beside the conversation.

use headwater_protocol::conversation::{ConversationEvent, PlanStep, PlanStepStatus, ToolCall};
use schemars::JsonSchema;
use serde::Deserialize;

use super::shape;
use crate::calls::Done;
use crate::journal::JournalError;
use crate::model::ToolSpec;
use crate::work::Work;

const NAME: &str = "update_plan";
/// More steps than this are no plan.
const MAX_STEPS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// All steps, in order.
    plan: Vec<Step>,
    /// Why the plan changes.
    #[serde(default)]
    explanation: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What is to be done.
    step: String,
    /// Where it stands.
    status: Status,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

pub(super) fn spec() -> ToolSpec {
    shape::spec::<Arguments>(
        NAME,
        "Shows the person your plan for a task of several steps. At most one step is in_progress.",
    )
}

pub(super) async fn update(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let Arguments { plan, explanation } = match shape::arguments(NAME, call.input.as_ref()) {
        Ok(arguments) => arguments,
        Err(wrong) => return Ok(*wrong),
    };
    let in_progress = plan.iter().filter(|step| matches!(step.status, Status::InProgress)).count();
    if in_progress > 1 {
        return Ok(Done::failed(format!(
            "{in_progress} steps are in_progress, at most one can be: call update_plan again with one"
        )));
    }
    if plan.len() > MAX_STEPS {
        return Ok(Done::failed(format!(
            "a plan has at most {MAX_STEPS} steps: call update_plan again with fewer"
        )));
    }
    let plan =
        plan.into_iter().map(|Step { step, status }| PlanStep { step, status: status.into() }).collect();
    work.append(vec![ConversationEvent::PlanUpdated { plan, explanation }]).await?;
    Ok(Done::text("Plan updated"))
}

impl From<Status> for PlanStepStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Completed => Self::Completed,
        }
    }
}
