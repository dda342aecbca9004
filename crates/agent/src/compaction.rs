//! Compaction: when the context is nearly full, the model writes a summary, which takes the place of what it covers. The
//! whole history stays in the log.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::TryStreamExt;
use headwater_protocol::conversation::{
    Conversation, ConversationEvent, Message, MessageId, MessageRole, Part, ToolCall,
};

use crate::journal::JournalError;
use crate::model::{Content, Item, Model, ModelError, ModelEvent, Prompt};
use crate::text::shorten;
use crate::work::Work;

/// The part of the context that a prompt may fill, in percent.
const FULL_PERCENT: u64 = 80;
/// The part that the history may fill for the summary, in percent: a token is not always four bytes.
const TRANSCRIPT_PERCENT: u64 = 50;
/// The estimate of a token, in bytes.
const TOKEN_BYTES: u64 = 4;
/// The estimate of an image, in tokens.
const IMAGE_TOKENS: u64 = 1500;
/// The longest output of a tool in what is summarised, in bytes.
const MAX_RESULT_BYTES: usize = 4 << 10;
/// The last message of the person is kept as it is, up to this length in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 10;

const SYSTEM: &str = "\
You write the summary by which an agent continues a conversation whose beginning it can no longer read. Write down what the \
person wants, in their words where they matter; what was decided and why; what was done, with the exact paths, commands, \
names and numbers; what was learned; what is left to do; and what runs now. Leave out what has no use any more. Do not \
continue the work, and do not call tools.";

/// How a compaction ended.
#[derive(Debug)]
pub(crate) enum Compaction {
    /// The prompt is shorter now.
    Done,
    /// There is nothing that a summary could take the place of.
    Nothing,
    /// A person stopped the turn.
    Stopped,
    /// The model could not be called.
    Failed(ModelError),
}

/// Whether a prompt nearly fills the context. `used` is what the last call used.
pub(crate) fn is_full(model: &dyn Model, prompt: &Prompt, used: u64) -> bool {
    estimate(prompt).max(used) * 100 > model.context_tokens() * FULL_PERCENT
}

/// The tokens of a prompt, by its length.
fn estimate(prompt: &Prompt) -> u64 {
    let content = |content: &Content| match content {
        Content::Text(text) => text.len() as u64 / TOKEN_BYTES,
        Content::Image { .. } => IMAGE_TOKENS,
    };
    let item = |item: &Item| match item {
        Item::User(all) | Item::ToolResult { content: all, .. } => all.iter().map(content).sum(),
        Item::Text(text) => text.len() as u64 / TOKEN_BYTES,
        Item::Reasoning { text, opaque } => {
            let sealed = opaque.as_ref().map_or(0, |opaque| opaque.to_string().len());
            (text.len() + sealed) as u64 / TOKEN_BYTES
        }
        Item::ToolCall { arguments, .. } => arguments.len() as u64 / TOKEN_BYTES,
    };
    let tools: u64 =
        prompt.tools.iter().map(|tool| (tool.description.len() + tool.schema.to_string().len()) as u64).sum();
    prompt.items.iter().map(item).sum::<u64>() + (prompt.system.len() as u64 + tools) / TOKEN_BYTES
}

/// Lets the model summarise the current branch: up to the answer that is being written, or to what came before the message
/// of the person that waits for one.
pub(crate) async fn compact(work: &Work, model: &Arc<dyn Model>) -> Result<Compaction, JournalError> {
    let bytes = model.context_tokens() * TOKEN_BYTES * TRANSCRIPT_PERCENT / 100;
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    let Some(Covered { last, history, request }) = work.read(|now| covered(now, most)) else {
        return Ok(Compaction::Nothing);
    };
    let items = vec![Item::User(vec![Content::Text(history)])];
    let prompt = Prompt { system: SYSTEM.to_owned(), items, ..Prompt::default() };
    let written = tokio::select! {
        () = work.context.stop.cancelled() => return Ok(Compaction::Stopped),
        written = write(model, &prompt) => written,
    };
    let mut summary = match written {
        Ok(summary) => summary,
        Err(error) => return Ok(Compaction::Failed(error)),
    };
    if let Some(request) = request {
        // Writing to a string cannot fail.
        let _ = write!(summary, "\n\nThe last message of the person, as they wrote it:\n\n{request}");
    }
    work.append(vec![ConversationEvent::Compacted { message_id: last, summary }]).await?;
    Ok(Compaction::Done)
}

async fn write(model: &Arc<dyn Model>, prompt: &Prompt) -> Result<String, ModelError> {
    let mut answer = model.call(prompt).await?;
    let mut text = String::new();
    while let Some(event) = answer.try_next().await? {
        if let ModelEvent::Text { delta, .. } = event {
            text.push_str(&delta);
        }
    }
    Ok(text)
}

/// What a summary takes the place of.
struct Covered {
    last: MessageId,
    history: String,
    /// The message of the person that the agent works on, if it is part of it.
    request: Option<String>,
}

fn covered(now: &Conversation, most: usize) -> Option<Covered> {
    let branch = now.branch();
    let first = branch.iter().rposition(|message| now.summaries.contains_key(&message.id));
    let mut messages: Vec<&Message> = branch.iter().skip(first.map_or(0, |at| at + 1)).copied().collect();
    // The messages of the person that wait for an answer stay as they are. An answer that was refused is none.
    while messages.last().is_some_and(|message| message.role == MessageRole::User || says_nothing(message)) {
        messages.pop();
    }
    let last = messages.last()?.id.clone();
    let answered = messages.len() == branch.len() - first.map_or(0, |at| at + 1);
    let request =
        messages.iter().rev().find(|message| message.role == MessageRole::User).filter(|_| answered);
    let request = request.map(|message| shorten(&text_of(message), MAX_REQUEST_BYTES));
    let earlier = first.and_then(|at| now.summaries.get(&branch.get(at)?.id)).cloned().unwrap_or_default();
    let history = format!("{earlier}\n\n{}", transcript(&messages, most.saturating_sub(earlier.len())));
    Some(Covered { last, history, request })
}

/// Whether a message has only marks of its steps.
fn says_nothing(message: &Message) -> bool {
    message.parts.iter().all(|part| matches!(part, Part::Step { .. } | Part::Notice { .. }))
}

/// Messages as a text of at most about this length.
pub(crate) fn transcript(messages: &[&Message], most: usize) -> String {
    let all: Vec<String> = messages.iter().map(|message| text_of(message)).collect();
    shorten(&all.join("\n\n"), most)
}

fn text_of(message: &Message) -> String {
    let who = match message.role {
        MessageRole::User => "Person:",
        MessageRole::Assistant => "Agent:",
    };
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.clone()),
        Part::Attachment(file) => Some(format!("[file {}]", file.path)),
        Part::ToolCall(call) => Some(call_text(call)),
        Part::Reasoning(_) | Part::Step { .. } | Part::Notice { .. } => None,
    });
    std::iter::once(who.to_owned()).chain(parts).collect::<Vec<_>>().join("\n")
}

fn call_text(call: &ToolCall) -> String {
    let input = call.input.as_ref().map(ToString::to_string).unwrap_or_default();
    let output = call.output.as_ref().map(|output| output.text.as_str()).unwrap_or_default();
    let (input, output) = (shorten(&input, MAX_RESULT_BYTES), shorten(output, MAX_RESULT_BYTES));
    format!("[called {} with {input}; it returned: {output}]", call.tool)
}

#[cfg(test)]
mod tests {
    use headwater_protocol::conversation::{LogEntry, TextPart};

    use super::*;

    fn conversation(roles: &[MessageRole]) -> Conversation {
        let mut conversation = Conversation::default();
        for (n, role) in roles.iter().enumerate() {
            let id = |n: usize| format!("m{n}").parse().unwrap();
            let text = TextPart { text: format!("text {n}"), ..TextPart::default() };
            let message = Message {
                id: id(n),
                parent_id: n.checked_sub(1).map(id),
                role: *role,
                author: None,
                created_at_ms: 0,
                parts: vec![Part::Text(text)],
                usage: None,
            };
            let event = ConversationEvent::MessageAdded { message };
            conversation.apply(&LogEntry { seq: n as u64 + 1, at_ms: 0, event });
        }
        conversation
    }

    #[test]
    fn a_summary_covers_what_was_answered_and_keeps_the_request_that_the_agent_works_on() {
        use MessageRole::{Assistant, User};

        let waiting = covered(&conversation(&[User, Assistant, User]), 1000).unwrap();
        assert_eq!((waiting.last.as_str(), waiting.request), ("m1", None));
        assert!(waiting.history.contains("text 0") && !waiting.history.contains("text 2"));
        let working = covered(&conversation(&[User, Assistant, User, Assistant]), 1000).unwrap();
        assert_eq!(working.last.as_str(), "m3");
        assert!(working.request.unwrap().contains("text 2"));
        assert!(covered(&conversation(&[User]), 1000).is_none(), "there is nothing to summarise");
        let mut refused = conversation(&[User, Assistant]);
        refused.messages[1].parts = vec![Part::Notice { text: "too long".into() }];
        assert!(covered(&refused, 1000).is_none(), "a refused answer is nothing to summarise");
    }

    #[test]
    fn an_earlier_summary_is_part_of_the_next_one() {
        use MessageRole::{Assistant, User};

        let mut now = conversation(&[User, Assistant, User, Assistant, User]);
        now.summaries.insert("m1".parse().unwrap(), "the beginning".into());
        let next = covered(&now, 1000).unwrap();
        assert_eq!(next.last.as_str(), "m3");
        assert!(
            next.history.contains("the beginning") && !next.history.contains("text 0"),
            "{}",
            next.history
        );
        now.summaries.insert("m3".parse().unwrap(), "more".into());
        assert!(covered(&now, 1000).is_none());
    }
}
