//! What the agent asks the person: consent to a command, and questions.

use std::collections::HashSet;

use headwater_protocol::api::{AnswersRequest, ApprovalRequest};
use headwater_protocol::conversation::{
    Answer, Approval, ApprovalDecision, Conversation, InputQuestion, Part, ToolCall, ToolCallState,
};

use crate::escape::printable;

/// What a person is asked now.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Whether a command may run.
    Approval(Box<Approval>),
    /// Questions of a call, one after the other, and the answers so far.
    Questions(String, Vec<InputQuestion>, Vec<Answer>),
}

/// What the person's line means.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// A decision about this approval.
    Decision(String, ApprovalRequest),
    /// The answers to all questions of this call.
    Answers(String, AnswersRequest),
    /// There is another question.
    Next,
    /// It is none; ask again.
    Unclear,
}

/// The first thing in the running turn that nobody has answered, and that was not `done` here.
pub fn first(now: &Conversation, done: &HashSet<String>) -> Option<Ask> {
    now.running()?;
    let parts = now.branch().into_iter().flat_map(|message| &message.parts);
    let calls = parts.filter_map(|part| match part {
        Part::ToolCall(call) if call.state == ToolCallState::Waiting => Some(call),
        _ => None,
    });
    calls.into_iter().find_map(|call| of(call, done))
}

fn of(call: &ToolCall, done: &HashSet<String>) -> Option<Ask> {
    if let Some(approval) = call.approval.as_ref().filter(|asked| asked.decision.is_none())
        && !done.contains(&approval.approval_id)
    {
        return Some(Ask::Approval(Box::new(approval.clone())));
    }
    let asked = call.input_request.as_ref().filter(|asked| asked.answers.is_none())?;
    (!done.contains(&call.tool_call_id))
        .then(|| Ask::Questions(call.tool_call_id.clone(), asked.questions.clone(), Vec::new()))
}

impl Ask {
    /// What identifies it: nothing is asked twice.
    pub fn id(&self) -> &str {
        match self {
            Self::Approval(approval) => &approval.approval_id,
            Self::Questions(call, ..) => call,
        }
    }

    /// The question that is open.
    pub fn question(&self) -> Option<&InputQuestion> {
        match self {
            Self::Approval(_) => None,
            Self::Questions(_, questions, answers) => questions.get(answers.len()),
        }
    }

    /// What stands before the person's answer.
    pub fn prompt(&self) -> String {
        match (self, self.question()) {
            (Self::Approval(_), _) => {
                "Allow? [y]es, [a]lways in this conversation, [n]o, or why not > ".to_owned()
            }
            (_, Some(question)) if !question.options.is_empty() => "A number, or your answer > ".to_owned(),
            _ => "Your answer > ".to_owned(),
        }
    }

    /// The lines of a question.
    pub fn question_lines(&self) -> Vec<String> {
        let Some(question) = self.question() else { return Vec::new() };
        let mut lines = vec![format!("? {}: {}", printable(&question.header), printable(&question.question))];
        for (at, option) in question.options.iter().enumerate() {
            let about = if option.description.is_empty() { "" } else { ": " };
            let about = format!("{about}{}", printable(&option.description));
            lines.push(format!("  {}. {}{about}", at + 1, printable(&option.label)));
        }
        lines
    }

    /// The meaning of a line.
    pub fn reply(&mut self, line: &str) -> Reply {
        let line = line.trim();
        if line.is_empty() {
            return Reply::Unclear;
        }
        match self {
            Self::Approval(approval) => {
                let (decision, reason) = match line.to_ascii_lowercase().as_str() {
                    "y" | "yes" => (ApprovalDecision::AllowOnce, None),
                    "a" | "always" => (ApprovalDecision::AllowConversation, None),
                    "n" | "no" => (ApprovalDecision::Deny, None),
                    // Whatever else is said is no consent.
                    _ => (ApprovalDecision::Deny, Some(line.to_owned())),
                };
                Reply::Decision(approval.approval_id.clone(), ApprovalRequest { decision, reason })
            }
            Self::Questions(call, questions, answers) => {
                let Some(question) = questions.get(answers.len()) else { return Reply::Unclear };
                let chosen = line.parse::<usize>().ok().and_then(|n| question.options.get(n.checked_sub(1)?));
                let answer = chosen.map_or_else(|| line.to_owned(), |option| option.label.clone());
                answers.push(Answer { id: question.id.clone(), answer });
                if answers.len() < questions.len() {
                    return Reply::Next;
                }
                Reply::Answers(call.clone(), AnswersRequest { answers: std::mem::take(answers) })
            }
        }
    }

    /// The reply if nobody can be asked: no consent, and no answer.
    pub fn without_a_person(&self) -> Reply {
        match self {
            Self::Approval(approval) => {
                let reason = Some("nobody can be asked now".to_owned());
                let request = ApprovalRequest { decision: ApprovalDecision::Deny, reason };
                Reply::Decision(approval.approval_id.clone(), request)
            }
            Self::Questions(call, questions, _) => {
                let answer = "(nobody can answer now: decide yourself)".to_owned();
                let answers =
                    questions.iter().map(|one| Answer { id: one.id.clone(), answer: answer.clone() });
                Reply::Answers(call.clone(), AnswersRequest { answers: answers.collect() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::conversation::QuestionOption;

    use super::*;

    fn approval() -> Ask {
        let approval = Approval {
            approval_id: "a".into(),
            text: "rm -r /".into(),
            rule_text: None,
            rule: None,
            fingerprint: "f".into(),
            decision: None,
            reason: None,
            decided_by: None,
        };
        Ask::Approval(Box::new(approval))
    }

    #[test]
    fn only_yes_and_always_are_consent() {
        let decided = |line: &str| match approval().reply(line) {
            Reply::Decision(_, request) => Some((request.decision, request.reason)),
            _ => None,
        };
        assert_eq!(decided("y"), Some((ApprovalDecision::AllowOnce, None)));
        assert_eq!(decided(" Always "), Some((ApprovalDecision::AllowConversation, None)));
        assert_eq!(decided("n"), Some((ApprovalDecision::Deny, None)));
        for other in ["yes please", "ja", "use git instead", "yn", "/quit"] {
            assert_eq!(decided(other), Some((ApprovalDecision::Deny, Some(other.to_owned()))));
        }
        assert_eq!(decided(" "), None, "an empty line decides nothing");
        assert!(matches!(
            approval().without_a_person(),
            Reply::Decision(_, ApprovalRequest { decision: ApprovalDecision::Deny, .. })
        ));
    }

    #[test]
    fn questions_are_answered_one_after_the_other_by_number_or_in_words() {
        let question = |id: &str, labels: &[&str]| InputQuestion {
            id: id.into(),
            header: "h".into(),
            question: "q".into(),
            options: labels
                .iter()
                .map(|label| QuestionOption { label: (*label).into(), description: String::new() })
                .collect(),
        };
        let mut ask =
            Ask::Questions("c".into(), vec![question("1", &["red", "blue"]), question("2", &[])], Vec::new());
        assert_eq!(ask.reply("2"), Reply::Next);
        let Reply::Answers(call, request) = ask.reply("2") else { panic!("no answers") };
        let texts: Vec<_> = request.answers.iter().map(|one| one.answer.as_str()).collect();
        assert_eq!((call.as_str(), texts), ("c", vec!["blue", "2"]));
    }
}
