//! A model that follows a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use headwater_agent::model::{
    FinishReason, Model, ModelError, ModelErrorKind, ModelEvent, ModelStream, Prompt,
};

/// What the model does when it is called.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// It writes this, and then its stream ends.
    Events(Vec<Result<ModelEvent, ModelError>>),
    /// It writes this, and then nothing.
    Hangs(Vec<ModelEvent>),
    /// It cannot be called.
    Refused(ModelError),
}

impl Answer {
    pub(crate) fn whole(events: Vec<ModelEvent>, reason: FinishReason) -> Self {
        Self::Events(events.into_iter().chain([ModelEvent::Finished(reason)]).map(Ok).collect())
    }
}

/// An answer that breaks off after this text.
pub(crate) fn broken_off(text: &str) -> Answer {
    let event = ModelEvent::Text { part: 0, delta: text.into() };
    Answer::Events(vec![Ok(event), Err(error(ModelErrorKind::BrokenOff, "the connection was lost"))])
}

/// A call that fails.
pub(crate) fn refused(kind: ModelErrorKind, message: &str) -> Answer {
    Answer::Refused(error(kind, message))
}

fn error(kind: ModelErrorKind, message: &str) -> ModelError {
    let retry_after = Some(std::time::Duration::ZERO);
    ModelError { kind, message: message.into(), retry_after }
}

#[derive(Debug)]
pub(crate) struct Script {
    answers: Mutex<VecDeque<Answer>>,
    prompts: Mutex<Vec<Prompt>>,
    context_tokens: u64,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Self::with_context(100_000, answers)
    }

    pub(crate) fn with_context(context_tokens: u64, answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, prompts: Mutex::default(), context_tokens })
    }

    /// What it was asked so far.
    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().unwrap().clone()
    }

    /// The last prompt as text.
    pub(crate) fn last_prompt(&self) -> String {
        format!("{:#?}", self.prompts().last().expect("a prompt"))
    }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn context_tokens(&self) -> u64 {
        self.context_tokens
    }

    async fn call(&self, prompt: &Prompt) -> Result<ModelStream, ModelError> {
        self.prompts.lock().unwrap().push(prompt.clone());
        let next = self.answers.lock().unwrap().pop_front();
        match next.expect("the script has an answer for each call") {
            Answer::Events(events) => Ok(stream::iter(events).boxed()),
            Answer::Hangs(events) => {
                Ok(stream::iter(events.into_iter().map(Ok)).chain(stream::pending()).boxed())
            }
            Answer::Refused(error) => Err(error),
        }
    }

    async fn check(&self) -> Result<(), ModelError> {
        Ok(())
    }
}
