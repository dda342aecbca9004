//! What a person answers to the agent: consent, and answers to its questions. Only a request of an authenticated person
//! becomes such an answer: nothing that a program prints or a model writes does.

use headwater_protocol::api::{AnswersRequest, ApprovalRequest};
use headwater_protocol::conversation::{
    Answer, Approval, ApprovalDecision, Conversation, ConversationEvent, ConversationId, InputRequest, Part,
    ToolCall,
};

use super::limits::MAX_ANSWER_BYTES;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::state::Gateway;

impl Gateway {
    /// Answers a request for consent. What is allowed uses the rights of the owner: others may only refuse.
    pub(crate) async fn answer_approval(
        &self,
        who: &Identity,
        id: &ConversationId,
        approval_id: String,
        request: ApprovalRequest,
    ) -> Result<Approval, ApiError> {
        let need = if request.decision == ApprovalDecision::Deny { Need::Write } else { Need::Own };
        let row = self.auth.may_use_conversation(who, need, id).await?;
        check_length("reason", request.reason.as_deref().unwrap_or_default())?;
        let live = self.conversations.of(&row).await?;
        let (by, wanted, decision) = (who.owner.clone(), approval_id.clone(), request.decision);
        let appended = live
            .decide(move |now| {
                let call = call_of(now, &wanted).ok_or_else(is_decided)?;
                let asked = call.approval.as_ref().ok_or_else(is_decided)?;
                match asked.decision {
                    // Sent again.
                    Some(decided) if decided == decision && asked.decided_by.as_ref() == Some(&by) => {
                        return Ok(Vec::new());
                    }
                    Some(_) => return Err(is_decided()),
                    None if call.state.is_end() => return Err(is_decided()),
                    None => {}
                }
                Ok(vec![ConversationEvent::ApprovalAnswered {
                    tool_call_id: call.tool_call_id.clone(),
                    approval_id: wanted,
                    decision,
                    reason: request.reason,
                    by: Some(by),
                }])
            })
            .await?;
        if !appended.is_empty() {
            let detail = format!("approval={approval_id:?} decision={decision:?}");
            self.audit.record(who, "approval.answer", id.to_string(), detail);
        }
        let now = live.fold();
        let call = call_of(&now, &approval_id).and_then(|call| call.approval.clone());
        call.ok_or_else(is_decided)
    }

    /// Answers questions of the agent.
    pub(crate) async fn answer_questions(
        &self,
        who: &Identity,
        id: &ConversationId,
        tool_call_id: String,
        request: AnswersRequest,
    ) -> Result<InputRequest, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        for answer in &request.answers {
            check_length("answers", &answer.answer)?;
        }
        let live = self.conversations.of(&row).await?;
        let wanted = tool_call_id.clone();
        live.decide(move |now| {
            let call = now.tool_call(&wanted).ok_or_else(is_decided)?;
            let asked = call.input_request.as_ref().ok_or_else(is_decided)?;
            match &asked.answers {
                Some(answers) if *answers == request.answers => return Ok(Vec::new()),
                Some(_) => return Err(is_decided()),
                None if call.state.is_end() => return Err(is_decided()),
                None => check_answers(asked, &request.answers)?,
            }
            Ok(vec![ConversationEvent::InputAnswered { tool_call_id: wanted, answers: request.answers }])
        })
        .await?;
        let now = live.fold();
        let asked = now.tool_call(&tool_call_id).and_then(|call| call.input_request.clone());
        asked.ok_or_else(is_decided)
    }
}

/// The tool call that this consent is asked for.
fn call_of<'a>(now: &'a Conversation, approval_id: &str) -> Option<&'a ToolCall> {
    let parts = now.messages.iter().rev().flat_map(|message| message.parts.iter().rev());
    let mut calls = parts.filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.as_ref()),
        _ => None,
    });
    calls.find(|call| call.approval.as_ref().is_some_and(|asked| asked.approval_id == approval_id))
}

fn check_answers(asked: &InputRequest, answers: &[Answer]) -> Result<(), ApiError> {
    for question in &asked.questions {
        if answers.iter().filter(|answer| answer.id == question.id).count() != 1 {
            let message = format!("`answers` must have one answer to the question `{}`", question.id);
            return Err(ApiError::invalid(message));
        }
    }
    if answers.len() > asked.questions.len() {
        return Err(ApiError::invalid("`answers` has an answer to a question that was not asked"));
    }
    Ok(())
}

fn check_length(field: &str, text: &str) -> Result<(), ApiError> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(ApiError::invalid(format!("`{field}` may have at most {MAX_ANSWER_BYTES} bytes")));
    }
    Ok(())
}

/// It was never asked, somebody else was faster, or the turn has ended (409).
fn is_decided() -> ApiError {
    ApiError::conflict(
        "nobody waits for this answer",
        "read the conversation again: it has the calls that wait",
    )
}
