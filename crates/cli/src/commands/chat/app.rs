//! The loop of a conversation: what the agent does, what the person types, and what is shown.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::api::MessageRequest;
use headwater_protocol::conversation::{
    Attachment, Conversation, ConversationEvent, LogEntry, MessageId, MessageRole, Part, ToolCall,
    ToolCallState, TurnOutcome,
};
use headwater_protocol::now_ms;
use serde_json::json;
use tokio::time::Instant;

use super::ask::{self, Ask, Reply};
use super::screen::{Key, Keys, Line, Screen, cut};
use super::slash::{self, Slash};
use super::source::{Chat, Chats};
use super::summary;
use super::tails::{Tail, Tails, What};
use super::view::{View, note};
use crate::error::CommandError;
use crate::escape::{self, printable};
use crate::exit;
use crate::humanize;
use crate::input::Input;
use crate::live::Interrupts;

/// How often the line that changes is drawn while the agent works.
const TICK: Duration = Duration::from_millis(100);
/// How long the last output of a command that has ended is awaited.
const LAST_OUTPUT: Duration = Duration::from_secs(3);
/// Messages that are shown of a conversation that is resumed.
const RECALLED: usize = 2;
/// Tools that start a program. Others show the output of programs that were started before.
const STARTS: [&str; 6] =
    ["exec_command", "shell", "shell_command", "run_code", "code_execution", "runCommand"];
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// A paste is one text, also if it has several lines.
const PASTE_ON: &str = "\u{1b}[?2004h";
const PASTE_OFF: &str = "\u{1b}[?2004l";

type Result<T> = std::result::Result<T, CommandError>;

/// How the command is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One answer.
    Once,
    /// A conversation.
    Interactive,
}

/// What was asked for on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub mode: Mode,
    pub json: bool,
    /// Everything that the agent asks for is allowed.
    pub yes: bool,
}

/// A conversation on the screen.
pub struct App {
    pub(super) chats: Box<dyn Chats>,
    pub(super) chat: Box<dyn Chat>,
    options: Options,
    pub(super) now: Conversation,
    pub(super) log: Vec<LogEntry>,
    pub(super) screen: Screen,
    view: View,
    tails: Tails,
    /// Calls that have ended while the last output of their programs is awaited.
    ending: Vec<(String, Instant)>,
    ask: Option<Ask>,
    /// What was answered here.
    answered: HashSet<String>,
    input: Option<Input>,
    keys: Keys,
    line: Line,
    interrupts: Interrupts,
    /// Ctrl+C since the turn began, or since a key.
    pressed: u32,
    /// The message that was sent last.
    sent: Option<MessageId>,
    /// Messages that wait until a command of the person has ended.
    pub(super) waiting: Vec<String>,
    /// The exit code with which the loop ends.
    pub(super) leaves: Option<u8>,
}

impl App {
    /// A conversation that was created or opened. With `input`, a person is at the keyboard.
    pub fn new(
        chats: Box<dyn Chats>,
        chat: Box<dyn Chat>,
        options: Options,
        input: Option<Input>,
        is_streamed: bool,
    ) -> Result<Self> {
        let tails = Tails::new(chats.engine().clone(), options.json);
        Ok(Self {
            chats,
            chat,
            options,
            now: Conversation::default(),
            log: Vec::new(),
            screen: Screen::new(),
            view: View::new(is_streamed),
            tails,
            ending: Vec::new(),
            ask: None,
            answered: HashSet::new(),
            input,
            keys: Keys::default(),
            line: Line::default(),
            interrupts: Interrupts::listen()?,
            pressed: 0,
            sent: None,
            waiting: Vec::new(),
            leaves: None,
        })
    }

    /// Reads what happened before, and shows the end of it.
    pub async fn recall(&mut self) -> Result<()> {
        let past = self.chat.past();
        while self.now.last_seq < past {
            let entry = self.chat.next().await?;
            self.now.apply(&entry);
            self.log.push(entry);
        }
        let texts = self.now.messages.iter().filter(|message| message.role == MessageRole::User);
        for part in texts.flat_map(|message| &message.parts) {
            if let Part::Text(text) = part {
                self.line.remember(&text.text);
            }
        }
        if !self.options.json {
            let messages = match self.options.mode {
                Mode::Interactive => RECALLED,
                Mode::Once => usize::from(self.now.running().is_some()),
            };
            self.view.recall(&mut self.screen, &self.now, messages);
        }
        let open = self.now.branch().into_iter().flat_map(|message| &message.parts);
        for part in open {
            if let Part::ToolCall(call) = part
                && call.state == ToolCallState::Running
            {
                call.execution_ids.iter().for_each(|id| self.tails.follow(&call.tool_call_id, *id));
            }
        }
        Ok(())
    }

    /// Whether a turn runs.
    pub fn is_running(&self) -> bool {
        self.now.running().is_some()
    }

    /// Sends a message. An empty text as `model` runs it without one.
    pub async fn send(
        &mut self,
        text: String,
        attachments: Vec<Attachment>,
        model: Option<String>,
    ) -> Result<()> {
        let id = MessageId::random();
        self.view.typed(id.clone());
        self.sent = Some(id.clone());
        self.pressed = 0;
        let message = MessageRequest { id: Some(id), text, attachments, model, ..MessageRequest::default() };
        self.chat.send(message).await
    }

    /// Shows the conversation until it is left, and returns the exit code.
    pub async fn run(mut self) -> Result<u8> {
        if self.options.json {
            self.screen.json(&escape::json(&json!({"type": "conversation", "id": self.chat.id()})));
        }
        if self.input.is_some() {
            self.screen.control(PASTE_ON);
        }
        let ended = self.until_left().await;
        self.screen.bottom(None);
        if self.input.is_some() {
            self.screen.control(PASTE_OFF);
        }
        let left = self.chat.leave().await;
        let code = ended?;
        left?;
        if self.options.mode == Mode::Interactive && !self.now.messages.is_empty() {
            note(&mut self.screen, &format!("`headwater chat --resume {}` goes on", self.chat.id()));
        }
        self.screen.finish().await?;
        Ok(code)
    }

    async fn until_left(&mut self) -> Result<u8> {
        loop {
            self.settle_ask().await?;
            self.finish_calls();
            if let Some(code) = self.leaves.filter(|_| self.ending.is_empty() && !self.screen.is_behind()) {
                return Ok(code);
            }
            let bottom = self.bottom();
            self.screen.bottom(bottom);
            let is_behind = self.screen.is_behind();
            let reads = !is_behind && self.ending.is_empty() && self.leaves.is_none();
            let ticks = self.is_running() || !self.ending.is_empty();
            tokio::select! {
                biased;
                () = self.interrupts.next() => self.interrupted().await?,
                bytes = next_input(&mut self.input) => self.typed(bytes).await?,
                flushed = self.screen.flush(), if is_behind => flushed?,
                tail = self.tails.next(), if !is_behind => self.tail(tail),
                entry = self.chat.next(), if reads => self.entry(entry?).await?,
                () = tokio::time::sleep(TICK), if ticks => {}
            }
        }
    }

    /// The next event of the log.
    async fn entry(&mut self, entry: LogEntry) -> Result<()> {
        self.now.apply(&entry);
        if self.options.json {
            let value = serde_json::to_value(&entry).unwrap_or_default();
            self.screen.json(&escape::json(&value));
        } else {
            self.view.show(&mut self.screen, &self.now, &entry);
        }
        match &entry.event {
            ConversationEvent::ToolCallRunning { tool_call_id, execution_id: Some(id), .. } => {
                self.tails.follow(tool_call_id, *id);
            }
            ConversationEvent::ToolCallEnded { tool_call_id, .. } => self.call_ended(tool_call_id).await,
            ConversationEvent::TurnStarted { .. } => self.pressed = 0,
            ConversationEvent::TurnEnded { outcome, .. } => self.turn_ended(*outcome).await?,
            _ => {}
        }
        self.log.push(entry);
        Ok(())
    }

    async fn turn_ended(&mut self, outcome: TurnOutcome) -> Result<()> {
        self.pressed = 0;
        if !self.waiting.is_empty() && self.options.mode == Mode::Interactive {
            let text = std::mem::take(&mut self.waiting).join("\n\n");
            return self.send(text, Vec::new(), None).await;
        }
        let is_answered = self.sent.as_ref().is_none_or(|id| self.now.message(id).is_some());
        let goes_on = matches!(outcome, TurnOutcome::Completed | TurnOutcome::StepLimit)
            && !(is_answered && self.now.queue.is_empty());
        if self.options.mode == Mode::Once && !goes_on {
            self.leaves = Some(match outcome {
                TurnOutcome::Completed => 0,
                TurnOutcome::Failed => 1,
                TurnOutcome::StepLimit => 4,
                TurnOutcome::Stopped => exit::CANCELLED,
            });
        }
        Ok(())
    }

    /// The end of a call is shown after the output of its programs, unless they run on.
    async fn call_ended(&mut self, id: &str) {
        let call = self.now.tool_call(id);
        if let Some(call) = call.filter(|call| STARTS.contains(&call.tool.as_str())) {
            // It was too quick to be seen while it ran.
            call.execution_ids.iter().for_each(|execution| self.tails.follow(id, *execution));
        }
        let mut runs_on = false;
        for execution in self.tails.of(id) {
            let ended = self.chats.engine().execution(execution).await.is_ok_and(|one| one.exit.is_some());
            if ended {
                self.ending.push((id.to_owned(), Instant::now() + LAST_OUTPUT));
            } else {
                runs_on = true;
                self.tails.leave(execution);
            }
        }
        if self.ending.iter().all(|(one, _)| one != id) {
            self.show_end(id, runs_on);
        }
    }

    fn finish_calls(&mut self) {
        let over: Vec<String> = self
            .ending
            .iter()
            .filter(|(id, until)| self.tails.of(id).is_empty() || *until <= Instant::now())
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            self.ending.retain(|(one, _)| *one != id);
            self.show_end(&id, false);
        }
    }

    fn show_end(&mut self, id: &str, runs_on: bool) {
        // A plan is shown as a plan.
        let is_shown = |call: &&ToolCall| {
            !self.options.json && (call.tool != "update_plan" || call.state == ToolCallState::Failed)
        };
        if let Some(call) = self.now.tool_call(id).filter(is_shown) {
            View::call_ended(&mut self.screen, call, runs_on);
        }
    }

    fn tail(&mut self, tail: Tail) {
        match tail.what {
            What::Lines(lines) => {
                let columns = self.screen.columns().saturating_sub(4);
                for line in lines {
                    note(&mut self.screen, &format!("  │ {}", cut(&line, columns)));
                }
            }
            What::Event(mut event) => {
                event["tool_call_id"] = json!(tail.call);
                event["execution_id"] = json!(tail.execution);
                self.screen.json(&escape::json(&event));
            }
            What::End => {}
        }
    }

    /// Shows what the agent asks for, or answers it if nobody is to be asked.
    async fn settle_ask(&mut self) -> Result<()> {
        let first = ask::first(&self.now, &self.answered);
        if first.as_ref().map(Ask::id) == self.ask.as_ref().map(Ask::id) {
            return Ok(());
        }
        self.ask = None;
        let Some(ask) = first else { return Ok(()) };
        // What was typed before the question is no answer to it.
        self.line.clear();
        if let Ask::Approval(approval) = &ask {
            if self.is_notebook_running() {
                // The person has typed this very command.
                let reply = ask.clone().reply("y");
                return self.replied(reply).await;
            }
            if !self.options.json {
                let lines = summary::question(approval);
                let head = self.screen.style.yellow("? The agent asks for consent:");
                self.screen.note(&head);
                for line in &lines {
                    self.screen.note(line);
                }
            }
            if self.options.yes {
                note(&mut self.screen, "allowed by `--yes`");
                let reply = ask.clone().reply("y");
                return self.replied(reply).await;
            }
        }
        if self.input.is_none() || self.options.json {
            if matches!(ask, Ask::Approval(_)) {
                let text =
                    "refused, because nobody can be asked here; `--yes` allows what the agent asks for";
                self.screen.note(&format!("headwater: {text}"));
            }
            return self.replied(ask.without_a_person()).await;
        }
        ask.question_lines().iter().for_each(|line| self.screen.note(line));
        self.ask = Some(ask);
        Ok(())
    }

    async fn replied(&mut self, reply: Reply) -> Result<()> {
        let answered = match reply {
            Reply::Decision(id, request) => {
                let sent = self.chat.approve(&id, request).await;
                self.answered.insert(id);
                sent
            }
            Reply::Answers(call, request) => {
                let sent = self.chat.answer(&call, request).await;
                self.answered.insert(call);
                sent
            }
            Reply::Next => {
                let lines = self.ask.as_ref().map(Ask::question_lines).unwrap_or_default();
                for line in &lines {
                    self.screen.note(line);
                }
                Ok(())
            }
            Reply::Unclear => Ok(()),
        };
        // Somebody else may have answered it meanwhile.
        if let Err(error) = answered {
            self.say_error(&error);
        }
        Ok(())
    }

    /// Shows an error that does not end the conversation.
    pub(super) fn say_error(&mut self, error: &CommandError) {
        let text = error.text(self.screen.style);
        self.screen.note(text.trim_end());
    }

    async fn interrupted(&mut self) -> Result<()> {
        if self.options.mode == Mode::Interactive && !self.line.is_empty() {
            self.line.clear();
            return Ok(());
        }
        self.pressed += 1;
        match (self.is_running() || self.options.mode == Mode::Once, self.pressed) {
            (true, 1) => {
                note(&mut self.screen, "stopping; Ctrl+C again leaves");
                self.chat.stop().await?;
            }
            (false, 1) => note(&mut self.screen, "Ctrl+C again, or /quit, leaves"),
            (true, _) => self.leave(exit::CANCELLED),
            (false, _) => self.leave(0),
        }
        Ok(())
    }

    /// Ends the loop, whatever still runs.
    pub(super) fn leave(&mut self, code: u8) {
        self.ending.clear();
        self.leaves = Some(code);
    }

    /// What the person has typed.
    async fn typed(&mut self, bytes: Option<Bytes>) -> Result<()> {
        let Some(bytes) = bytes else {
            // The terminal is gone.
            self.input = None;
            self.leave(0);
            return Ok(());
        };
        for key in self.keys.push(&bytes) {
            match key {
                Key::Enter => self.entered().await?,
                Key::Tab => slash::complete(&mut self.line),
                Key::EndOfInput if self.line.is_empty() && !self.is_running() => self.leave(0),
                key => {
                    self.line.edit(&key);
                }
            }
            if self.leaves.is_some() {
                break;
            }
        }
        Ok(())
    }

    async fn entered(&mut self) -> Result<()> {
        let text = self.line.take();
        if text.trim().is_empty() {
            return Ok(());
        }
        self.pressed = 0;
        if let Some(mut ask) = self.ask.clone() {
            let shown = escape::lines(&text).replace('\n', "\n  ");
            self.screen.note(&format!("{}{shown}", ask.prompt()));
            let reply = ask.reply(&text);
            self.ask = Some(ask);
            return self.replied(reply).await;
        }
        self.line.remember(&text);
        let shown = escape::lines(&text).replace('\n', "\n  ");
        self.screen.note(&format!("{} {shown}", self.screen.style.bold(">")));
        let done = match slash::parse(&text) {
            Some(command) => self.command(command).await,
            None if self.is_notebook_running() => {
                self.waiting.push(text);
                note(&mut self.screen, "the agent gets it when your command has ended");
                Ok(())
            }
            None => self.send(text, Vec::new(), None).await,
        };
        if let Err(error) = done {
            if error.kind == crate::error::ErrorKind::ReaderGone {
                return Err(error);
            }
            self.say_error(&error);
        }
        Ok(())
    }

    /// Whether a command of the person runs without a model, though there are some.
    fn is_notebook_running(&self) -> bool {
        self.chat.has_notebook() && self.now.running().is_some_and(|turn| turn.model.is_none())
    }

    /// The line that changes.
    fn bottom(&self) -> Option<String> {
        let style = self.screen.style;
        let columns = self.screen.columns();
        if let Some(ask) = self.ask.as_ref().filter(|_| self.input.is_some()) {
            let prompt = ask.prompt();
            return Some(self.line.drawn(&style.yellow(&prompt), prompt.chars().count(), columns));
        }
        let Some(turn) = self.now.running() else {
            let is_idle = self.options.mode == Mode::Interactive && self.input.is_some();
            return is_idle.then(|| self.line.drawn(&format!("{} ", style.bold(">")), 2, columns));
        };
        let elapsed = now_ms().saturating_sub(turn.started_at_ms);
        let frame = usize::try_from(elapsed / 100).unwrap_or(0) % SPINNER.len();
        let what = cut(&self.activity(), columns / 2);
        let plain = format!("{} {what} {} ", SPINNER[frame], humanize::duration(elapsed / 1000 * 1000));
        let width = plain.chars().count();
        if self.line.is_empty() {
            return Some(style.dim(&plain));
        }
        Some(self.line.drawn(&format!("{}> ", style.dim(&plain)), width + 2, columns))
    }

    /// What the agent does now.
    fn activity(&self) -> String {
        let parts = self.now.leaf.as_ref().and_then(|id| self.now.message(id)).map(|message| &message.parts);
        let calls = parts.into_iter().flatten().filter_map(|part| match part {
            Part::ToolCall(call) if !call.state.is_end() => Some(call),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        match calls[..] {
            [] => "thinking".to_owned(),
            [one] if one.state == ToolCallState::Writing => format!("writing {}", printable(&one.tool)),
            [one] => summary::call(one),
            ref all => format!("{} calls", all.len()),
        }
    }

    /// Shows another conversation from now on.
    pub(super) async fn switch(&mut self, chat: Box<dyn Chat>) -> Result<()> {
        let before = std::mem::replace(&mut self.chat, chat);
        before.leave().await?;
        self.tails = Tails::new(self.chats.engine().clone(), self.options.json);
        (self.now, self.log) = (Conversation::default(), Vec::new());
        self.view = View::new(self.view.is_streamed());
        (self.ask, self.sent, self.pressed) = (None, None, 0);
        self.ending.clear();
        self.answered.clear();
        self.waiting.clear();
        self.recall().await
    }

    /// Runs a command that begins with a slash.
    async fn command(&mut self, command: Slash) -> Result<()> {
        super::commands::run(self, command).await
    }
}

async fn next_input(input: &mut Option<Input>) -> Option<Bytes> {
    match input {
        Some(input) => input.recv().await,
        None => std::future::pending().await,
    }
}
