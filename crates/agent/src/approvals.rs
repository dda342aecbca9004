//! Consent of a person: questions and answers go through the log, so that a restart loses neither.

use std::collections::HashSet;

use headwater_protocol::conversation::{
    Approval, ApprovalDecision, Conversation, ConversationEvent, MessageId, Part, ToolCall, Turn,
};
use headwater_tools::extra_of;
use headwater_tools::policy::{ApprovalPolicy, Decision, Extra, Policy, Question, Rule, Rules};
use headwater_tools::schema::Permissions;
use serde_json::Value;

use crate::journal::JournalError;
use crate::work::Work;

/// The tool by which the agent asks for rights.
pub(crate) const REQUEST_PERMISSIONS: &str = "request_permissions";

/// What a person has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may run.
    Allowed,
    /// It must not, for this reason.
    Denied(Option<String>),
    /// The turn was stopped before there was an answer.
    Stopped,
}

impl Answer {
    fn of(approval: &Approval) -> Option<Self> {
        Some(match approval.decision? {
            ApprovalDecision::AllowOnce | ApprovalDecision::AllowConversation => Self::Allowed,
            ApprovalDecision::Deny => Self::Denied(approval.reason.clone()),
        })
    }
}

/// The question of the tools, for the log.
pub(crate) fn approval(question: &Question) -> Approval {
    let rule = question.rule.as_ref().and_then(|rule| serde_json::to_value(rule).ok());
    let (text, fingerprint) = (question.text(), question.wanted.fingerprint());
    Approval { rule_text: question.rule_text(), rule, ..new(text, fingerprint) }
}

/// A question without a rule.
pub(crate) fn new(text: String, fingerprint: String) -> Approval {
    Approval {
        approval_id: MessageId::random().to_string().replacen("msg_", "apr_", 1),
        text,
        rule_text: None,
        rule: None,
        fingerprint,
        decision: None,
        reason: None,
        decided_by: None,
    }
}

/// Asks a person, and waits for the answer. A question that was asked before a restart is not asked again, and an answer
/// that was given meanwhile holds.
pub(crate) async fn ask(work: &Work, call_id: &str, approval: Approval) -> Result<Answer, JournalError> {
    let mut changes = work.context.journal.changes();
    let (id, wanted) = (call_id.to_owned(), approval.fingerprint.clone());
    let decide = move |now: &Conversation| {
        let asked = now.tool_call(&id).and_then(|call| call.approval.as_ref());
        if asked.is_some_and(|asked| asked.fingerprint == approval.fingerprint) {
            return Vec::new();
        }
        vec![ConversationEvent::ApprovalRequested { tool_call_id: id, approval }]
    };
    work.context.journal.update(Box::new(decide)).await?;
    loop {
        let answer = work.read(|now| {
            let asked = now.tool_call(call_id)?.approval.as_ref()?;
            Answer::of(asked).filter(|_| asked.fingerprint == wanted)
        });
        if let Some(answer) = answer {
            return Ok(answer);
        }
        tokio::select! {
            biased;
            () = work.context.stop.cancelled() => return Ok(Answer::Stopped),
            event = changes.changed() => event.map_err(|_| closed())?,
        }
    }
}

/// The log takes no more events.
pub(crate) fn closed() -> JournalError {
    JournalError("it was closed".to_owned())
}

/// Whether a person has allowed this for the conversation: exactly this, or by a rule.
pub(crate) fn is_allowed(now: &Conversation, question: &Question) -> bool {
    let kept = |call: &&ToolCall| decision(call) == Some(ApprovalDecision::AllowConversation);
    let kept: Vec<&Approval> = calls(now).filter(kept).filter_map(|call| call.approval.as_ref()).collect();
    let fingerprints: HashSet<&str> = kept.iter().map(|approval| approval.fingerprint.as_str()).collect();
    if fingerprints.contains(question.wanted.fingerprint().as_str()) {
        return true;
    }
    let mut rules = Rules::default();
    for approval in kept {
        let rule = approval.rule.as_ref().and_then(|rule| serde_json::from_value::<Rule>(rule.clone()).ok());
        if let Some(rule) = rule {
            // One that is not valid allows nothing.
            let _ = rules.add(rule);
        }
    }
    // The strictest policy, so that only a rule can allow it.
    let policy = |rules| Policy { approval: ApprovalPolicy::UnlessTrusted, rules, ..Policy::default() };
    let runs = |rules| policy(rules).decide(&question.wanted) == Decision::Run;
    runs(rules) && !runs(Rules::default())
}

/// The rights that a person has granted to the commands of this conversation, or of this turn.
pub(crate) fn granted(now: &Conversation, turn: &Turn) -> Extra {
    let mut all = Extra::default();
    for message in &now.messages {
        let is_of_turn = message.created_at_ms >= turn.started_at_ms;
        for call in message.parts.iter().filter_map(call_of) {
            let holds = match decision(call) {
                Some(ApprovalDecision::AllowConversation) => true,
                Some(ApprovalDecision::AllowOnce) => is_of_turn,
                Some(ApprovalDecision::Deny) | None => false,
            };
            if holds && call.tool == REQUEST_PERMISSIONS {
                all.merge(wanted(call.input.as_ref()).unwrap_or_default());
            }
        }
    }
    all
}

/// The rights that a call of `request_permissions` asks for.
fn wanted(input: Option<&Value>) -> Option<Extra> {
    let permissions = input?.get("permissions")?.clone();
    extra_of(&serde_json::from_value::<Permissions>(permissions).ok()?).ok()
}

fn decision(call: &ToolCall) -> Option<ApprovalDecision> {
    call.approval.as_ref()?.decision
}

fn call_of(part: &Part) -> Option<&ToolCall> {
    if let Part::ToolCall(call) = part { Some(call) } else { None }
}

fn calls(now: &Conversation) -> impl Iterator<Item = &ToolCall> {
    now.messages.iter().flat_map(|message| message.parts.iter().filter_map(call_of))
}
