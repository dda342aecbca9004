//! `request_permissions`: rights besides those of the session, which a person grants and the walls enforce.

use std::fmt::Write as _;

use headwater_protocol::conversation::ToolCall;
use headwater_tools::policy::{ApprovalPolicy, Extra, Wanted};
use headwater_tools::schema::Permissions;
use headwater_tools::{extra_of, nothing_to_grant};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::shape;
use crate::approvals::{self, Answer, REQUEST_PERMISSIONS};
use crate::calls::Done;
use crate::journal::JournalError;
use crate::model::ToolSpec;
use crate::work::Work;

/// The longest reason that is shown, in characters.
const MAX_REASON: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What your commands need besides.
    permissions: Permissions,
    /// Why, in one sentence for the person.
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    shape::spec::<Arguments>(
        REQUEST_PERMISSIONS,
        "Asks the person to let your commands use the network, write to paths outside the workspace, or have higher limits. \
         Once granted, each exec_command that names it in additional_permissions gets it without another question.",
    )
}

pub(super) async fn request(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let Arguments { permissions, reason } = match shape::arguments(REQUEST_PERMISSIONS, call.input.as_ref()) {
        Ok(arguments) => arguments,
        Err(wrong) => return Ok(*wrong),
    };
    let extra = match extra_of(&permissions) {
        Ok(extra) => extra,
        Err(error) => return Ok(Done::failed(error.to_string())),
    };
    if work.read(|now| approvals::granted(now, &work.turn)).covers(&extra) {
        return Ok(granted(&permissions));
    }
    if work.context.settings.approval == ApprovalPolicy::Never {
        let text = "Nothing is granted here: nobody is asked (approval policy `never`). Go on with the rights of the session.";
        return Ok(Done::failed(text));
    }
    match work.agent().await {
        Ok(agent) if agent.host().can_grant() => {}
        Ok(_) => return Ok(Done::failed(nothing_to_grant().to_string())),
        Err(error) => return Ok(Done::failed(error.to_string())),
    }
    let asked = approvals::new(question(&extra, reason.as_deref()), fingerprint(&extra));
    match approvals::ask(work, &call.tool_call_id, asked).await? {
        Answer::Denied(reason) => Ok(Done::denied(reason.as_deref())),
        Answer::Stopped => Ok(Done::stopped("The turn was stopped before the person answered.")),
        Answer::Allowed => {
            // The commands that follow find the grant in the log; those that run already keep the rights that they have.
            Ok(granted(&permissions))
        }
    }
}

fn question(extra: &Extra, reason: Option<&str>) -> String {
    let mut text = format!("Let the commands of this conversation have this?\n\n    {}", extra.describe());
    if let Some(reason) = reason {
        let said: String = reason.chars().take(MAX_REASON).collect();
        let _ = write!(text, "\n\nThe agent says: {said:?}");
    }
    text
}

fn fingerprint(extra: &Extra) -> String {
    Wanted { extra: extra.clone(), ..Wanted::default() }.fingerprint()
}

fn granted(permissions: &Permissions) -> Done {
    let mut done = Done::json(json!({"granted": permissions}));
    done.output.text = format!(
        "Granted. A command gets it with exec_command and these arguments: \
         {{\"sandbox_permissions\": \"with_additional_permissions\", \"additional_permissions\": {}}}. Commands without \
         them keep the rights of the session.",
        json!(permissions),
    );
    done
}
