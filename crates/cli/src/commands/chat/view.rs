//! The events of a conversation for a person: the answer as it is written, and one line for everything else.

use std::collections::{HashMap, HashSet};

use headwater_protocol::conversation::{
    Conversation, ConversationEvent, LogEntry, Message, MessageId, MessageRole, Part, ToolCall, TurnOutcome,
};

use super::screen::{Screen, cut};
use super::summary;
use crate::escape::{self, printable};

/// The columns that belong to a line besides the summary of a call.
const MARGIN: usize = 24;

/// What was shown so far.
#[derive(Debug, Default)]
pub struct View {
    /// Whether the answer is shown as it is written; otherwise only the last text of the turn is the answer, at its end.
    is_streamed: bool,
    /// Bytes of each text that were shown.
    shown: HashMap<(MessageId, String), usize>,
    /// Texts that are reasoning, which is not shown.
    hidden: HashSet<(MessageId, String)>,
    /// Messages that the person has just typed.
    own: HashSet<MessageId>,
}

impl View {
    /// Nothing was shown yet.
    pub fn new(is_streamed: bool) -> Self {
        Self { is_streamed, ..Self::default() }
    }

    /// Whether the answer is shown as it is written.
    pub const fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// A message that the person sees already.
    pub fn typed(&mut self, id: MessageId) {
        self.own.insert(id);
    }

    /// Shows an event, after the conversation has it.
    pub fn show(&mut self, screen: &mut Screen, now: &Conversation, entry: &LogEntry) {
        use ConversationEvent as E;
        match &entry.event {
            E::MessageAdded { message }
                if message.role == MessageRole::User && !self.own.remove(&message.id) =>
            {
                person(screen, message);
            }
            E::TextStarted { message_id, part_id, reasoning: true } => {
                self.hidden.insert((message_id.clone(), part_id.clone()));
            }
            E::TextDelta { message_id, part_id, text } => self.delta(screen, message_id, part_id, text),
            E::TextEnded { message_id, part_id, reasoning: false, text, .. } => {
                self.text_ended(screen, message_id, part_id, text);
            }
            E::StepDiscarded { reason, .. } => {
                note(
                    screen,
                    &format!("the answer broke off ({}); the model is called again", printable(reason)),
                );
            }
            E::ToolCallReady { message_id, tool_call_id, .. } if !self.is_streamed => {
                text_before(screen, now, message_id, tool_call_id);
            }
            E::ToolCallRunning { tool_call_id, execution_id: Some(_), .. } => {
                if let Some(call) = now.tool_call(tool_call_id) {
                    let line = cut(&summary::call(call), screen.columns().saturating_sub(2));
                    screen.note(&format!("{} {line}", screen.style.cyan("•")));
                }
            }
            E::PlanUpdated { plan, .. } => {
                screen.note(&screen.style.bold("Plan"));
                for line in &summary::plan(plan, screen.style) {
                    screen.note(line);
                }
            }
            E::Noticed { text, .. } => note(screen, &printable(text)),
            E::Compacted { .. } => {
                note(screen, "the beginning of the conversation is a summary for the model from now on");
            }
            E::MessageQueued { message_id, .. } if self.own.contains(message_id) => {
                note(screen, "the agent gets it at its next step");
            }
            E::TurnEnded { outcome, error, .. } => self.turn_ended(screen, now, *outcome, error.as_deref()),
            _ => {}
        }
    }

    fn delta(&mut self, screen: &mut Screen, message: &MessageId, part: &str, text: &str) {
        let key = (message.clone(), part.to_owned());
        if self.is_streamed && !self.hidden.contains(&key) {
            screen.answer(text);
            *self.shown.entry(key).or_default() += text.len();
        }
    }

    /// The end of a text has all of it: what was not shown before, for example because the connection was lost, is now.
    fn text_ended(&mut self, screen: &mut Screen, message: &MessageId, part: &str, text: &str) {
        if !self.is_streamed {
            return;
        }
        let shown = self.shown.remove(&(message.clone(), part.to_owned())).unwrap_or(0);
        screen.answer(text.get(shown..).unwrap_or_default());
        screen.end_line();
    }

    /// The end of a call, on one line.
    pub fn call_ended(screen: &mut Screen, call: &ToolCall, runs_on: bool) {
        let (sign, about) = summary::end(call, screen.style);
        let line = cut(&summary::call(call), screen.columns().saturating_sub(MARGIN).max(MARGIN));
        let about = if runs_on { "(runs on in the background)".to_owned() } else { about };
        screen.note(&format!("{sign} {line} {}", screen.style.dim(&about)));
    }

    fn turn_ended(&self, screen: &mut Screen, now: &Conversation, outcome: TurnOutcome, error: Option<&str>) {
        if !self.is_streamed {
            screen.answer(&last_text(now));
            screen.answer("\n");
        }
        screen.end_line();
        let error = error.map(escape::message);
        match (outcome, error) {
            (TurnOutcome::Completed, _) => {}
            (TurnOutcome::Stopped, _) => note(screen, "interrupted"),
            (_, Some(error)) => screen.note(&format!("{} {error}", screen.style.red("error:"))),
            (_, None) => screen.note(&format!("{} the turn has failed", screen.style.red("error:"))),
        }
    }

    /// Shows the end of a conversation that is resumed: the last messages of the current branch.
    pub fn recall(&mut self, screen: &mut Screen, now: &Conversation, messages: usize) {
        let branch = now.branch();
        for message in branch.iter().skip(branch.len().saturating_sub(messages)) {
            if message.role == MessageRole::User {
                person(screen, message);
                continue;
            }
            for part in &message.parts {
                self.recall_part(screen, &message.id, part);
            }
        }
    }

    fn recall_part(&mut self, screen: &mut Screen, message: &MessageId, part: &Part) {
        match part {
            Part::Text(text) if self.is_streamed => {
                screen.answer(&text.text);
                if text.is_streaming {
                    self.shown.insert((message.clone(), text.part_id.clone()), text.text.len());
                } else {
                    screen.end_line();
                }
            }
            Part::Reasoning(text) if text.is_streaming => {
                self.hidden.insert((message.clone(), text.part_id.clone()));
            }
            Part::ToolCall(call) if call.state.is_end() => Self::call_ended(screen, call, false),
            Part::Notice { text } => note(screen, &printable(text)),
            _ => {}
        }
    }
}

/// Our own words.
pub fn note(screen: &mut Screen, text: &str) {
    let line = screen.style.dim(text);
    screen.note(&line);
}

/// A message of a person.
fn person(screen: &mut Screen, message: &Message) {
    for part in &message.parts {
        match part {
            Part::Text(text) => {
                let text = escape::lines(&text.text).replace('\n', "\n  ");
                screen.note(&format!("{} {text}", screen.style.bold(">")));
            }
            Part::Attachment(file) => note(screen, &format!("  with {}", printable(&file.name))),
            _ => {}
        }
    }
}

/// What the agent says before a call is not its answer.
fn text_before(screen: &mut Screen, now: &Conversation, message: &MessageId, call: &str) {
    let Some(message) = now.message(message) else { return };
    let is_call = |part: &Part| matches!(part, Part::ToolCall(one) if one.tool_call_id == call);
    let Some(at) = message.parts.iter().position(is_call) else { return };
    if let Some(Part::Text(text)) = at.checked_sub(1).and_then(|at| message.parts.get(at)) {
        screen.note(&escape::lines(text.text.trim_end()));
    }
}

/// The last text of the agent: what it says after its last call.
pub fn last_text(now: &Conversation) -> String {
    let last = now.leaf.as_ref().and_then(|id| now.message(id));
    let Some(last) = last.filter(|message| message.role == MessageRole::Assistant) else {
        return String::new();
    };
    let after = last.parts.iter().rposition(|part| matches!(part, Part::ToolCall(_))).map_or(0, |at| at + 1);
    let texts = last.parts[after..].iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.trim_end()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
