//! Without a model the chat is a notebook: `/run` lines and code blocks of a message run, and their output is in cards.

mod cells;

use headwater_protocol::conversation::{ConversationEvent, MessageId, MessageRole, Part, TurnOutcome};

use self::cells::{Cell, cells};
use crate::calls;
use crate::journal::JournalError;
use crate::resume;
use crate::run::End;
use crate::submit::added;
use crate::work::Work;

const NO_MODEL: &str = "No model is configured, so I can only run what you send: a line `/run COMMAND`, or a code block. To \
    add a model, put a `[models.NAME]` section with `api`, `base_url` and `model` into the configuration.";

/// Runs the cells of the last message, one after the other.
pub(crate) async fn run(work: &Work) -> Result<End, JournalError> {
    resume::end_open_step(work).await?;
    if work.message().is_none() {
        write(work).await?;
    }
    calls::run_in_order(work).await?;
    Ok(End::of(if work.is_stopped() { TurnOutcome::Stopped } else { TurnOutcome::Completed }))
}

/// Writes the answer: a call for each cell.
async fn write(work: &Work) -> Result<(), JournalError> {
    let text = work.read(|now| {
        let last = now.leaf.as_ref().and_then(|id| now.message(id));
        let texts = last.into_iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::Text(text) => Some(text.text.clone()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    });
    let (id, parent) = (MessageId::random(), work.read(|now| now.leaf.clone()));
    let mut events = vec![
        added(id.clone(), parent, MessageRole::Assistant, None, Vec::new()),
        ConversationEvent::StepStarted { message_id: id.clone(), step: 1, attempt: 1 },
    ];
    let cells = cells(&text);
    if cells.is_empty() {
        events.extend(sentence(&id, NO_MODEL));
    }
    events.extend(cells.into_iter().map(|cell| ready(&id, cell)));
    events.push(ConversationEvent::StepEnded { message_id: id, usage: None });
    work.append(events).await
}

fn sentence(id: &MessageId, text: &str) -> [ConversationEvent; 2] {
    let (part_id, reasoning) = ("1".to_owned(), false);
    [
        ConversationEvent::TextStarted { message_id: id.clone(), part_id: part_id.clone(), reasoning },
        ConversationEvent::TextEnded {
            message_id: id.clone(),
            part_id,
            reasoning,
            text: text.to_owned(),
            opaque: None,
        },
    ]
}

fn ready(id: &MessageId, cell: Cell) -> ConversationEvent {
    let Cell { tool, input } = cell;
    let tool_call_id = MessageId::random().to_string().replacen("msg_", "call_", 1);
    ConversationEvent::ToolCallReady { message_id: id.clone(), tool_call_id, tool: tool.to_owned(), input }
}
