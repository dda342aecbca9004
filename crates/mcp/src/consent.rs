//! Consent of the person in front of the client, by elicitation.
//!
//! Clients with a handshake are sent a request and answer it. Clients of 2026-07-28 get `input_required`, and repeat the
//! call with the answer; what they send back names a question that is asked once and forgotten.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use headwater_tools::policy::Question;
use rmcp::ErrorData;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::tools::cancelled;

type Context = RequestContext<RoleServer>;

/// The key of the one question of a call.
const KEY: &str = "consent";
/// Questions that clients of 2026-07-28 have not answered yet. The oldest are forgotten.
const MAX_PENDING: usize = 64;
/// The field of the form.
const FIELD: &str = "decision";
const ONCE: &str = "allow_once";
const ALWAYS: &str = "allow_always";
const REFUSE: &str = "refuse";

/// What the person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This command may run now.
    Once,
    /// Commands that begin like this may run from now on.
    Always,
    /// It may not run.
    Refused,
}

/// How a question is asked.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The person has answered.
    Answered(Answer),
    /// The client asks, and repeats the call.
    Later(Box<InputRequiredResult>),
    /// The client cannot ask.
    Impossible,
}

/// Questions that were passed to clients of 2026-07-28.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<VecDeque<(String, Question)>>);

impl Pending {
    fn put(&self, question: Question) -> String {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = headwater_protocol::SessionId::random().to_string();
        if all.len() >= MAX_PENDING {
            all.pop_front();
        }
        all.push_back((id.clone(), question));
        id
    }

    /// The question of this id and its answer. Each question is answered once.
    pub(crate) fn take(
        &self,
        state: Option<&str>,
        responses: Option<&InputResponses>,
    ) -> Option<(Question, Answer)> {
        let (state, response) = (state?, responses?.get(KEY)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(id, _)| id == state)?;
        let (_, question) = all.remove(at)?;
        let result = serde_json::from_value::<ElicitResult>(response.clone()).ok();
        Some((question, result.map_or(Answer::Refused, |result| answer(&result))))
    }
}

/// Asks the person.
pub(crate) async fn ask(
    pending: &Pending,
    question: &Question,
    context: &Context,
) -> Result<Asked, ErrorData> {
    let capability = context.client_capabilities().and_then(|client| client.elicitation);
    // Without a mode it is the form, which was the only one at first.
    let has_form = capability.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
    let Some(form) = form(question).filter(|_| has_form) else { return Ok(Asked::Impossible) };
    if context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        let requests =
            InputRequests::from([(KEY.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form)))]);
        let state = pending.put(question.clone());
        return Ok(Asked::Later(Box::new(InputRequiredResult::new(Some(requests), Some(state)))));
    }
    tokio::select! {
        () = context.ct.cancelled() => Err(cancelled()),
        result = context.peer.create_elicitation(form) => Ok(match result {
            Ok(result) => Asked::Answered(answer(&result)),
            Err(error) => {
                tracing::debug!(%error, "the client could not ask");
                Asked::Impossible
            }
        }),
    }
}

fn form(question: &Question) -> Option<ElicitRequestParams> {
    let mut choices = vec![(ONCE, "Allow this once".to_owned())];
    choices.extend(question.rule_text().map(|text| (ALWAYS, text)));
    choices.push((REFUSE, "Refuse".to_owned()));
    let (names, titles): (Vec<_>, Vec<_>) = choices.into_iter().unzip();
    let form = json!({
        "mode": "form",
        "message": question.text(),
        "requestedSchema": {
            "type": "object",
            "properties": {FIELD: {
                "type": "string", "title": "Decision", "enum": names, "enumNames": titles,
            }},
            "required": [FIELD],
        },
    });
    serde_json::from_value(form).inspect_err(|error| tracing::error!(%error, "a form")).ok()
}

/// Only a clear yes is one.
fn answer(result: &ElicitResult) -> Answer {
    let chosen = result.content.as_ref().and_then(|content| content.get(FIELD)).and_then(Value::as_str);
    match (&result.action, chosen) {
        (ElicitationAction::Accept, Some(ONCE)) => Answer::Once,
        (ElicitationAction::Accept, Some(ALWAYS)) => Answer::Always,
        _ => Answer::Refused,
    }
}

#[cfg(test)]
mod tests {
    use headwater_tools::policy::{Action, Rule, Wanted};

    use super::*;

    fn question(rule: Option<Rule>) -> Question {
        let argv = ["bash", "-lc", "make"].map(str::to_owned).to_vec();
        let wanted = Wanted { argv, workdir: "/w".into(), ..Wanted::default() };
        Question { wanted, reason: "it is not known to only read".into(), justification: None, rule }
    }

    #[test]
    fn only_a_clear_yes_is_a_consent() {
        let result = |value: Value| answer(&serde_json::from_value(value).unwrap());
        assert_eq!(result(json!({"action": "accept", "content": {"decision": "allow_once"}})), Answer::Once);
        assert_eq!(
            result(json!({"action": "accept", "content": {"decision": "allow_always"}})),
            Answer::Always
        );
        for no in [
            json!({"action": "accept", "content": {"decision": "refuse"}}),
            json!({"action": "accept", "content": {"decision": true}}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"decision": "allow_once"}}),
            json!({"action": "cancel", "content": {"decision": "allow_once"}}),
        ] {
            assert_eq!(result(no.clone()), Answer::Refused, "{no}");
        }
    }

    #[test]
    fn a_form_offers_a_rule_only_if_there_is_one() {
        let text = |rule| serde_json::to_string(&form(&question(rule)).unwrap()).unwrap();
        assert!(text(None).contains("make") && !text(None).contains("allow_always"));
        assert!(text(Some(Rule::new(&["make"], Action::Allow))).contains("allow_always"));
    }

    #[test]
    fn a_question_is_answered_once_and_only_by_its_state() {
        let pending = Pending::default();
        let state = pending.put(question(None));
        let yes = json!({"action": "accept", "content": {"decision": "allow_once"}});
        let responses = InputResponses::from([(KEY.to_owned(), yes)]);
        assert!(pending.take(Some("another"), Some(&responses)).is_none());
        assert!(pending.take(None, Some(&responses)).is_none());
        assert!(pending.take(Some(&state), None).is_none());
        let (asked, given) = pending.take(Some(&state), Some(&responses)).unwrap();
        assert_eq!((asked, given), (question(None), Answer::Once));
        assert!(pending.take(Some(&state), Some(&responses)).is_none());
        let first = pending.put(question(None));
        for _ in 0..MAX_PENDING {
            pending.put(question(None));
        }
        assert!(pending.take(Some(&first), Some(&responses)).is_none());
    }
}
