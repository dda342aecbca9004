//! A turn that a crash interrupted: what was said is kept, and the agent goes on from the log.

use headwater_protocol::conversation::{
    Conversation, ConversationEvent, OpenStep, Part, ToolCallState, ToolOutput,
};

use crate::journal::JournalError;
use crate::work::Work;

const NOTICE: &str = "The server was restarted during this answer; the model was called again.";
const UNFINISHED: &str = "The server was restarted before the model had written this call; it did not run.";

/// Ends the step that was open, with what the log has of it. Returns whether there was one: the next step repeats it.
pub(crate) async fn end_open_step(work: &Work) -> Result<bool, JournalError> {
    let events = work.read(|now| now.open_step.as_ref().map(|step| ends(now, step)).unwrap_or_default());
    let was_open = !events.is_empty();
    work.append(events).await?;
    Ok(was_open)
}

fn ends(now: &Conversation, step: &OpenStep) -> Vec<ConversationEvent> {
    let message_id = step.message_id.clone();
    let parts = now.message(&message_id).map(|message| message.parts.as_slice()).unwrap_or_default();
    let mut events: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) | Part::Reasoning(text) if text.is_streaming => {
                Some(ConversationEvent::TextEnded {
                    message_id: message_id.clone(),
                    part_id: text.part_id.clone(),
                    reasoning: matches!(part, Part::Reasoning(_)),
                    text: text.text.clone(),
                    opaque: None,
                })
            }
            Part::ToolCall(call) if call.state == ToolCallState::Writing => {
                Some(ConversationEvent::ToolCallEnded {
                    tool_call_id: call.tool_call_id.clone(),
                    state: ToolCallState::Stopped,
                    output: ToolOutput {
                        text: UNFINISHED.to_owned(),
                        is_error: true,
                        ..ToolOutput::default()
                    },
                    execution_ids: Vec::new(),
                })
            }
            _ => None,
        })
        .collect();
    events.push(ConversationEvent::Noticed { message_id: message_id.clone(), text: NOTICE.to_owned() });
    events.push(ConversationEvent::StepEnded { message_id, usage: None });
    events
}
