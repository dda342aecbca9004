//! Turns: from the message of a person to the end of the agent's work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use headwater_protocol::conversation::{
    Conversation, ConversationEvent, Delivery, MessageId, MessageRole, QueuedMessage, Turn, TurnOutcome,
};

use crate::compaction::{self, Compaction};
use crate::journal::JournalError;
use crate::mcp::Servers;
use crate::model::{FinishReason, Model};
use crate::step::{Step, StepEnd, step};
use crate::submit::{added, delivered, next_of, turn_started};
use crate::tools::{Toolbox, end_attached};
use crate::turn::TurnContext;
use crate::work::{Work, read};
use crate::{calls, instructions, notebook, prompt, resume};

/// How often the end of a turn is written if the log cannot be written.
const MAX_ENDS: u32 = 6;
/// The time before the second attempt; it doubles.
const END_DELAY: Duration = Duration::from_millis(500);

/// How a turn ended.
pub(crate) struct End {
    outcome: TurnOutcome,
    /// What went wrong, for a person.
    error: Option<String>,
}

impl End {
    pub(crate) const fn of(outcome: TurnOutcome) -> Self {
        Self { outcome, error: None }
    }

    fn failed(error: impl Into<String>) -> Self {
        Self { outcome: TurnOutcome::Failed, error: Some(error.into()) }
    }
}

/// Works on the turn that the log says is running, and on those that queued messages begin after it. Returns when no turn
/// runs: at once if none does.
///
/// It never panics, and ends every turn that it works on: `TurnEnded` with [`TurnOutcome::Failed`] has a sentence for a
/// person. The caller makes sure that only one call works on a conversation. A turn that was interrupted by a crash is
/// continued from the log; nothing but the log is needed for that.
///
/// After a turn that was stopped or has failed, queued messages wait: the next turn gets them.
pub async fn run(context: TurnContext) {
    loop {
        let Some(turn) = read(context.journal.as_ref(), |now| now.running().cloned()) else { return };
        let working = AssertUnwindSafe(work_on(&context, turn.clone()).boxed()).catch_unwind();
        let end = match working.await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => End::failed(error.to_string()),
            Err(_) => End::failed("the agent failed by a fault of its own; send the message again"),
        };
        if !end_turn(&context, turn.turn_id, end).await {
            return;
        }
    }
}

/// Ends a turn, and begins the next one if messages wait. Returns whether it did.
async fn end_turn(context: &TurnContext, turn_id: String, end: End) -> bool {
    let End { outcome, error } = end;
    let goes_on =
        matches!(outcome, TurnOutcome::Completed | TurnOutcome::StepLimit) && !context.stop.is_cancelled();
    let model = context.model.as_ref().map(|model| model.name().to_owned());
    for attempt in 0..MAX_ENDS {
        let (turn_id, error, model) = (turn_id.clone(), error.clone(), model.clone());
        let decide = move |now: &Conversation| {
            if now.running().is_none_or(|running| running.turn_id != turn_id) {
                return Vec::new();
            }
            let mut events = vec![ConversationEvent::TurnEnded { turn_id, outcome, error }];
            if goes_on && !now.queue.is_empty() {
                events.extend(deliveries(now, next_of(&now.queue)));
                events.push(turn_started(model.as_deref()));
            }
            events
        };
        match context.journal.update(Box::new(decide)).await {
            Ok(entries) => return entries.len() > 1,
            Err(error) => {
                tracing::error!(%error, conversation = %context.journal.id(), "a turn cannot be ended");
            }
        }
        tokio::time::sleep(END_DELAY * 2_u32.pow(attempt)).await;
    }
    false
}

/// Messages that waited, at the end of the current branch.
fn deliveries(now: &Conversation, queued: &[QueuedMessage]) -> Vec<ConversationEvent> {
    let mut parent = now.leaf.clone();
    let deliver = |one| {
        let event = delivered(one, parent.clone());
        parent = Some(one.message_id.clone());
        event
    };
    queued.iter().map(deliver).collect()
}

async fn work_on(context: &TurnContext, turn: Turn) -> Result<End, JournalError> {
    let Some(model) = context.model.clone() else {
        let work = Work::new(context.clone(), turn, Toolbox::new(&context.settings, Servers::default()));
        return notebook::run(&work).await;
    };
    let servers = if context.settings.is_plan_mode {
        Servers::default()
    } else {
        tokio::select! {
            () = context.stop.cancelled() => Servers::default(),
            servers = Servers::connect(context.place.as_ref(), context.journal.id().as_str()) => servers,
        }
    };
    let mut work = Work::new(context.clone(), turn, Toolbox::new(&context.settings, servers));
    let end = steps(&work, &model).await;
    end_attached(&work).await;
    work.tools.servers.close().await;
    end
}

/// Calls the model and runs its tools until it has answered.
async fn steps(work: &Work, model: &Arc<dyn Model>) -> Result<End, JournalError> {
    let mut is_repeated = resume::end_open_step(work).await?;
    let (mut system, mut used) = (None, 0);
    let mut was_too_long = false;
    loop {
        calls::run_open(work).await?;
        if work.is_stopped() {
            return Ok(End::of(TurnOutcome::Stopped));
        }
        steer(work).await?;
        let made = work.steps();
        if made >= work.context.settings.max_steps {
            return Ok(step_limit(made));
        }
        let system = match &system {
            Some(text) => text,
            None => system.insert(instructions::build(work).await),
        };
        let mut prompt = prompt::build(work, system).await;
        if was_too_long || compaction::is_full(model.as_ref(), &prompt, used) {
            match compaction::compact(work, model).await? {
                Compaction::Done => prompt = prompt::build(work, system).await,
                Compaction::Stopped => return Ok(End::of(TurnOutcome::Stopped)),
                Compaction::Nothing if was_too_long => return Ok(End::failed(TOO_LONG)),
                Compaction::Failed(error) if was_too_long => return Ok(End::failed(error.message)),
                // It may still fit; the next step tries again.
                Compaction::Nothing | Compaction::Failed(_) => {}
            }
        }
        let next = next_step(work, model.name(), made + 1, std::mem::take(&mut is_repeated));
        match step(work, model, &prompt, next).await? {
            StepEnd::Finished(reason, usage) => {
                (was_too_long, used) =
                    (false, usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens));
                if work.open_calls().is_empty() {
                    notice(work, reason).await?;
                    return Ok(End::of(TurnOutcome::Completed));
                }
            }
            StepEnd::Stopped => {}
            StepEnd::TooLong if !was_too_long => was_too_long = true,
            StepEnd::TooLong => return Ok(End::failed(TOO_LONG)),
            StepEnd::Failed(error) => {
                calls::abandon_open(work).await?;
                return Ok(End::failed(error.message));
            }
        }
    }
}

const TOO_LONG: &str = "the conversation is longer than the model can read, even as a summary: begin a new conversation, or \
    choose a model with a longer context";

fn step_limit(made: u32) -> End {
    let error = format!(
        "the agent has made {made} steps, the most that one turn may have: send a message to let it go on"
    );
    End { outcome: TurnOutcome::StepLimit, error: Some(error) }
}

/// The next step, in the agent's message. A new message begins if a person has said something since, or if a summary covers
/// the last one.
fn next_step(work: &Work, model: &str, number: u32, is_repeated: bool) -> Step {
    let attempt = if is_repeated { 2 } else { 1 };
    let open = work.message().filter(|id| !work.read(|now| now.summaries.contains_key(id)));
    if let Some(message_id) = open {
        return Step { message_id, number, attempt, before: Vec::new() };
    }
    let message_id = MessageId::random();
    let parent = work.read(|now| now.leaf.clone());
    let author = Some(model.to_owned());
    let before = vec![added(message_id.clone(), parent, MessageRole::Assistant, author, Vec::new())];
    Step { message_id, number, attempt, before }
}

/// Gives the agent what people have said during the turn.
async fn steer(work: &Work) -> Result<(), JournalError> {
    let decide = |now: &Conversation| {
        let steering: Vec<_> =
            now.queue.iter().filter(|one| one.delivery == Delivery::Steer).cloned().collect();
        deliveries(now, &steering)
    };
    work.context.journal.update(Box::new(decide)).await.map(drop)
}

/// Says it if an answer is not what it seems to be.
async fn notice(work: &Work, reason: FinishReason) -> Result<(), JournalError> {
    let text = match reason {
        FinishReason::Stop | FinishReason::ToolCalls => return Ok(()),
        FinishReason::Length => "The answer ends here because the model has written as much as it may.",
        FinishReason::ContentFilter => "The provider withheld the rest of this answer.",
    };
    let Some(message_id) = work.message() else { return Ok(()) };
    work.append(vec![ConversationEvent::Noticed { message_id, text: text.to_owned() }]).await
}
