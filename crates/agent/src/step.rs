//! One step: a call of the model, from the prompt to the events of its answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use headwater_protocol::conversation::{ConversationEvent, MessageId, ModelUsage};

use crate::journal::JournalError;
use crate::model::{FinishReason, Model, ModelError, ModelErrorKind, ModelEvent, ModelStream, Prompt};
use crate::recorder::Recorder;
use crate::work::Work;
use crate::writer::Writer;

/// How often the model is called for one step.
const MAX_ATTEMPTS: u32 = 3;
/// The time before the second attempt; it doubles.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest time that a provider can ask us to wait.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// What a step is about.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) message_id: MessageId,
    pub(crate) number: u32,
    /// The number of its first attempt.
    pub(crate) attempt: u32,
    /// Events that come before it.
    pub(crate) before: Vec<ConversationEvent>,
}

/// How a step ended. The log says it too, except for the reason of a failure.
#[derive(Debug)]
pub(crate) enum StepEnd {
    /// The answer is complete.
    Finished(FinishReason, Option<ModelUsage>),
    /// A person stopped the turn.
    Stopped,
    /// The prompt is longer than the model can read.
    TooLong,
    /// The model cannot be called.
    Failed(ModelError),
}

/// Why an attempt failed.
enum Failure {
    /// The model could not be called. It was tried as often as that helps.
    Call(ModelError),
    /// The answer broke off.
    Stream(ModelError),
}

/// How an attempt ended.
enum Attempt {
    Finished(FinishReason, Option<ModelUsage>),
    Stopped,
    Failed(Failure, Recorder),
}

/// Calls the model, again if the answer breaks off.
pub(crate) async fn step(
    work: &Work,
    model: &Arc<dyn Model>,
    prompt: &Prompt,
    step: Step,
) -> Result<StepEnd, JournalError> {
    let Step { message_id, number, attempt: first, before } = step;
    let mut before = Some(before);
    for attempt in first.. {
        let mut head = before.take().unwrap_or_default();
        head.push(ConversationEvent::StepStarted { message_id: message_id.clone(), step: number, attempt });
        let journal = work.journal();
        let is_taken =
            Box::new(move |id: &str| crate::work::read(journal.as_ref(), |now| now.tool_call(id).is_some()));
        let recorder = Recorder::new(message_id.clone(), number, attempt, is_taken);
        let (failure, mut recorder) = match call(work, model, prompt, head, recorder).await? {
            Attempt::Finished(reason, usage) => return Ok(StepEnd::Finished(reason, usage)),
            Attempt::Stopped => return Ok(StepEnd::Stopped),
            Attempt::Failed(failure, recorder) => (failure, recorder),
        };
        match failure {
            Failure::Call(error) | Failure::Stream(error) if error.kind == ModelErrorKind::ContextTooLong => {
                let reason = "the conversation is longer than the model can read".to_owned();
                work.append(vec![ConversationEvent::StepDiscarded { message_id, reason }]).await?;
                return Ok(StepEnd::TooLong);
            }
            Failure::Stream(error) if error.kind.is_temporary() && attempt + 1 < first + MAX_ATTEMPTS => {
                let reason = format!("the answer of the model broke off and is repeated: {error}");
                let message_id = message_id.clone();
                work.append(vec![ConversationEvent::StepDiscarded { message_id, reason }]).await?;
                let delay = error.retry_after.unwrap_or(FIRST_DELAY * 2_u32.pow(attempt - first));
                tokio::select! {
                    () = work.context.stop.cancelled() => return Ok(StepEnd::Stopped),
                    () = tokio::time::sleep(delay.min(MAX_DELAY)) => {}
                }
            }
            Failure::Call(error) | Failure::Stream(error) => {
                let mut events = Vec::new();
                recorder
                    .break_off("the answer of the model broke off before the call was complete", &mut events);
                events.push(ConversationEvent::StepEnded { message_id, usage: recorder.usage });
                work.append(events).await?;
                return Ok(StepEnd::Failed(error));
            }
        }
    }
    // The attempts end by a return: there are no more than `MAX_ATTEMPTS`.
    Ok(StepEnd::Stopped)
}

/// A call of the model and its answer.
struct Calling<'a> {
    opening: Option<BoxFuture<'a, Result<ModelStream, ModelError>>>,
    answer: Option<ModelStream>,
}

impl Calling<'_> {
    /// The next event. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Result<ModelEvent, Failure>> {
        if let Some(opening) = &mut self.opening {
            let opened = opening.await;
            self.opening = None;
            match opened {
                Ok(answer) => self.answer = Some(answer),
                Err(error) => return Some(Err(Failure::Call(error))),
            }
        }
        let event = self.answer.as_mut()?.next().await?;
        Some(event.map_err(Failure::Stream))
    }
}

/// Calls the model once.
async fn call(
    work: &Work,
    model: &Arc<dyn Model>,
    prompt: &Prompt,
    head: Vec<ConversationEvent>,
    mut recorder: Recorder,
) -> Result<Attempt, JournalError> {
    let mut writer = Writer::new(work.journal());
    writer.push(head);
    let mut answer = Calling { opening: Some(model.call(prompt)), answer: None };
    let mut events = Vec::new();
    let failure = loop {
        tokio::select! {
            biased;
            () = work.context.stop.cancelled() => break None,
            written = writer.write() => written?,
            event = answer.next(), if writer.has_room() => match event {
                Some(Ok(event)) => {
                    recorder.push(event, &mut events);
                    writer.push(events.drain(..));
                    if let Some(reason) = recorder.finish {
                        writer.push([ended(&recorder)]);
                        writer.finish().await?;
                        return Ok(Attempt::Finished(reason, recorder.usage));
                    }
                }
                Some(Err(failure)) => break Some(failure),
                None => break Some(Failure::Stream(broken_off())),
            },
        }
    };
    if failure.is_none() {
        recorder.break_off("the turn was stopped before the call was complete", &mut events);
        writer.push(events.drain(..));
        writer.push([ended(&recorder)]);
    }
    writer.finish().await?;
    Ok(failure.map_or(Attempt::Stopped, |failure| Attempt::Failed(failure, recorder)))
}

fn ended(recorder: &Recorder) -> ConversationEvent {
    ConversationEvent::StepEnded { message_id: recorder.message_id().clone(), usage: recorder.usage }
}

fn broken_off() -> ModelError {
    ModelError {
        kind: ModelErrorKind::BrokenOff,
        message: "the connection was closed before the answer was complete".to_owned(),
        retry_after: None,
    }
}
