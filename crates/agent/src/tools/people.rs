//! `request_user_input`: questions to the person.

use headwater_protocol::conversation::{
    Conversation, ConversationEvent, InputQuestion, QuestionOption, ToolCall,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};

use super::shape;
use crate::approvals::closed;
use crate::calls::Done;
use crate::journal::JournalError;
use crate::model::ToolSpec;
use crate::work::Work;

const NAME: &str = "request_user_input";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// One to three questions.
    #[schemars(length(min = 1, max = 3))]
    questions: Vec<Question>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Unique in this call.
    id: String,
    /// A few words.
    header: String,
    /// The question.
    #[allow(clippy::struct_field_names, reason = "the name that models know")]
    question: String,
    /// Answers to choose from; the person may always write another one.
    #[serde(default)]
    options: Vec<Choice>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Choice {
    /// The answer, in a few words.
    label: String,
    /// What it means.
    #[serde(default)]
    description: String,
}

pub(super) fn spec() -> ToolSpec {
    shape::spec::<Arguments>(
        NAME,
        "Asks the person one to three short questions and waits for the answers. Use it only if you cannot go on without.",
    )
}

pub(super) async fn ask(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let Arguments { questions } = match shape::arguments(NAME, call.input.as_ref()) {
        Ok(arguments) => arguments,
        Err(wrong) => return Ok(*wrong),
    };
    let questions: Vec<InputQuestion> = questions.into_iter().map(InputQuestion::from).collect();
    if let Some(problem) = problem(&questions) {
        return Ok(Done::failed(format!("{problem}: call {NAME} again")));
    }
    let mut changes = work.context.journal.changes();
    let id = call.tool_call_id.clone();
    let decide = move |now: &Conversation| {
        // A question that was asked before a restart is not asked again.
        if now.tool_call(&id).is_some_and(|call| call.input_request.is_some()) {
            return Vec::new();
        }
        vec![ConversationEvent::InputRequested { tool_call_id: id, questions }]
    };
    work.context.journal.update(Box::new(decide)).await?;
    loop {
        let answers =
            work.read(|now| now.tool_call(&call.tool_call_id)?.input_request.as_ref()?.answers.clone());
        if let Some(answers) = answers {
            let answers: Map<_, _> = answers.into_iter().map(|one| (one.id, json!(one.answer))).collect();
            return Ok(Done::json(json!({"answers": answers})));
        }
        tokio::select! {
            biased;
            () = work.context.stop.cancelled() => {
                return Ok(Done::stopped("The turn was stopped before the person answered."));
            }
            event = changes.changed() => event.map_err(|_| closed())?,
        }
    }
}

fn problem(questions: &[InputQuestion]) -> Option<String> {
    if !(1..=3).contains(&questions.len()) {
        return Some(format!("there are {} questions, and there must be one to three", questions.len()));
    }
    let is_double =
        |(n, one): (usize, &InputQuestion)| questions.iter().take(n).any(|other| other.id == one.id);
    let double = questions.iter().enumerate().find(|pair| is_double(*pair)).map(|(_, one)| &one.id);
    if let Some(id) = double {
        return Some(format!("two questions have the id {id:?}"));
    }
    let has_text = |one: &InputQuestion| !one.question.trim().is_empty();
    (!questions.iter().all(has_text)).then(|| "a question has no text".to_owned())
}

impl From<Question> for InputQuestion {
    fn from(asked: Question) -> Self {
        let Question { id, header, question, options } = asked;
        let options =
            options.into_iter().map(|Choice { label, description }| QuestionOption { label, description });
        Self { id, header, question, options: options.collect() }
    }
}
