//! Sub-agents: each is a conversation of its own, in the same session, linked to the call that started it.

mod arguments;
mod end;
mod status;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::select_all;
use headwater_protocol::conversation::{ConversationEvent, ConversationId, MessageId, ToolCall};
use serde_json::json;
use tokio::time::Instant;

use self::arguments::{CloseAgent, ResumeAgent, SendInput, SpawnAgent, WaitAgent, message_of};
use super::{Own, shape};
use crate::calls::Done;
use crate::compaction::transcript;
use crate::journal::{Journal, JournalError};
use crate::model::ToolSpec;
use crate::place::ChildSpec;
use crate::submit::{NewMessage, submit};
use crate::work::{Work, read};

pub(crate) use end::end_attached;

/// Sub-agents of one conversation that are not closed.
const MAX_OPEN: usize = 8;
/// Names for people, in turn.
const NICKNAMES: [&str; 8] = ["Ada", "Blaise", "Carl", "Dorothy", "Emmy", "Felix", "Grace", "Henri"];
/// The bounds of a wait, in milliseconds.
const WAIT_MS: std::ops::RangeInclusive<u64> = 10_000..=3_600_000;
/// The context that a sub-agent gets of its parent's conversation, in bytes.
const FORK_BYTES: usize = 64 << 10;

pub(super) fn specs() -> Vec<(Own, ToolSpec)> {
    vec![
        (
            Own::Spawn,
            shape::spec::<SpawnAgent>(
                "spawn_agent",
                "Starts a sub-agent on a task of its own, in the same workspace. It works at the same time; wait_agent returns its answer.",
            ),
        ),
        (Own::Send, shape::spec::<SendInput>("send_input", "Sends a message to a sub-agent.")),
        (
            Own::Wait,
            shape::spec::<WaitAgent>(
                "wait_agent",
                "Waits until one of these sub-agents has answered. Returns the status of each.",
            ),
        ),
        (Own::Resume, shape::spec::<ResumeAgent>("resume_agent", "Opens a sub-agent again that was closed.")),
        (
            Own::Close,
            shape::spec::<CloseAgent>(
                "close_agent",
                "Closes a sub-agent that is no longer needed, and ends what it left running.",
            ),
        ),
    ]
}

macro_rules! arguments {
    ($call:expr) => {
        match shape::arguments(&$call.tool, $call.input.as_ref()) {
            Ok(arguments) => arguments,
            Err(wrong) => return Ok(*wrong),
        }
    };
}

/// The log of a sub-agent, or the result that says what to do.
async fn child(work: &Work, id: &str) -> Result<(ConversationId, Arc<dyn Journal>), Box<Done>> {
    let unknown = || {
        let known: Vec<String> = work.read(status::children).iter().map(ToString::to_string).collect();
        let next = if known.is_empty() { "spawn_agent starts one".to_owned() } else { known.join(", ") };
        Box::new(Done::failed(format!("There is no sub-agent {id:?}. Your sub-agents: {next}")))
    };
    let id: ConversationId = id.parse().map_err(|_| unknown())?;
    match work.context.place.child(&id).await {
        Ok(Some(journal)) => Ok((id, journal)),
        Ok(None) => Err(unknown()),
        Err(error) => Err(Box::new(Done::failed(error.to_string()))),
    }
}

pub(super) async fn spawn(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    if let Some(id) = &call.child_id {
        // It was started before a restart of the server.
        return Ok(Done::json(json!({"agent_id": id})));
    }
    let asked: SpawnAgent = arguments!(call);
    let Some(mut text) = message_of(asked.message.as_deref(), &asked.items) else {
        return Ok(Done::failed("the sub-agent has no task: call spawn_agent again with a message"));
    };
    if work.read(status::open).len() >= MAX_OPEN {
        return Ok(Done::failed(format!(
            "{MAX_OPEN} sub-agents are open, which is the limit: close one with close_agent first"
        )));
    }
    if let Some(role) = &asked.agent_type {
        text = format!("Your role: {role}\n\n{text}");
    }
    if asked.fork_context {
        let so_far = work.read(|now| transcript(&now.branch(), FORK_BYTES));
        text = format!("The conversation that your task comes from:\n\n{so_far}\n\nYour task:\n\n{text}");
    }
    let count = work.read(|now| status::children(now).len());
    let nickname = NICKNAMES[count % NICKNAMES.len()].to_owned();
    let spec = ChildSpec {
        tool_call_id: call.tool_call_id.clone(),
        nickname: nickname.clone(),
        model: asked.model,
        is_detached: asked.detached,
    };
    let journal = match work.context.place.create_child(spec).await {
        Ok(journal) => journal,
        Err(error) => return Ok(Done::failed(error.to_string())),
    };
    let id = journal.id().clone();
    let running = ConversationEvent::ToolCallRunning {
        tool_call_id: call.tool_call_id.clone(),
        execution_id: None,
        child_id: Some(id.clone()),
    };
    work.append(vec![running]).await?;
    match give(work, &id, journal.as_ref(), text).await? {
        Ok(_) => Ok(Done::json(json!({"agent_id": id, "nickname": nickname}))),
        Err(done) => Ok(*done),
    }
}

/// Gives a sub-agent a message, and starts its turn if none runs. Returns the id of the message.
async fn give(
    work: &Work,
    id: &ConversationId,
    journal: &dyn Journal,
    text: String,
) -> Result<Result<MessageId, Box<Done>>, JournalError> {
    let message = NewMessage::text(text);
    let (message_id, model) = (message.id.clone(), model_of(work, journal));
    journal.update(Box::new(move |now| submit(now, message, model.as_deref()))).await?;
    let started = work.context.place.start_child(id).await;
    Ok(started.map(|()| message_id).map_err(|error| Box::new(Done::failed(error.to_string()))))
}

/// The model of a sub-agent's last turn, or that of its parent.
fn model_of(work: &Work, journal: &dyn Journal) -> Option<String> {
    let last = read(journal, |now| now.turn.as_ref().and_then(|turn| turn.model.clone()));
    last.or_else(|| work.turn.model.clone())
}

pub(super) async fn send(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let asked: SendInput = arguments!(call);
    let Some(text) = message_of(asked.message.as_deref(), &asked.items) else {
        return Ok(Done::failed("the message is empty: call send_input again with a message"));
    };
    let (id, journal) = match child(work, &asked.id).await {
        Ok(found) => found,
        Err(done) => return Ok(*done),
    };
    if work.read(|now| status::is_closed(now, &id)) {
        return Ok(Done::failed("the sub-agent is closed: call resume_agent first"));
    }
    if asked.interrupt
        && let Err(error) = work.context.place.stop_child(&id).await
    {
        return Ok(Done::failed(error.to_string()));
    }
    Ok(match give(work, &id, journal.as_ref(), text).await? {
        Ok(message) => Done::json(json!({"submission_id": message})),
        Err(done) => *done,
    })
}

pub(super) async fn wait(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let asked: WaitAgent = arguments!(call);
    if asked.ids.is_empty() {
        return Ok(Done::failed("no sub-agent is named: call wait_agent again with the ids"));
    }
    let wait_ms = asked.timeout_ms.clamp(*WAIT_MS.start(), *WAIT_MS.end());
    let deadline = Instant::now() + Duration::from_millis(wait_ms);
    let mut found = Vec::new();
    for id in &asked.ids {
        let known = id.parse::<ConversationId>().ok();
        let journal = match &known {
            Some(id) => work.context.place.child(id).await.ok().flatten(),
            None => None,
        };
        found.push((id.clone(), known.filter(|_| journal.is_some()), journal));
    }
    let status = |(_, known, journal): &(String, Option<ConversationId>, Option<Arc<dyn Journal>>)| {
        let (Some(known), Some(journal)) = (known, journal) else { return json!("not_found") };
        if work.read(|now| status::is_closed(now, known)) {
            json!("shutdown")
        } else {
            status::of(journal.as_ref())
        }
    };
    let mut changes: Vec<_> =
        found.iter().filter_map(|(_, _, journal)| Some(journal.as_ref()?.changes())).collect();
    let timed_out = loop {
        if found.iter().map(status).any(|status| status != json!("running")) {
            break false;
        }
        let any = select_all(changes.iter_mut().map(|one| one.changed().boxed()));
        tokio::select! {
            () = work.context.stop.cancelled() => return Ok(Done::stopped("The turn was stopped while you waited.")),
            () = tokio::time::sleep_until(deadline) => break true,
            _ = any => {}
        }
    };
    let all: serde_json::Map<_, _> = found.iter().map(|one| (one.0.clone(), status(one))).collect();
    Ok(Done::json(json!({"status": all, "timed_out": timed_out})))
}

pub(super) async fn resume(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let asked: ResumeAgent = arguments!(call);
    let (id, journal) = match child(work, &asked.id).await {
        Ok(found) => found,
        Err(done) => return Ok(*done),
    };
    if work.read(|now| status::is_closed(now, &id)) && work.read(status::open).len() >= MAX_OPEN {
        return Ok(Done::failed(format!(
            "{MAX_OPEN} sub-agents are open, which is the limit: close one first"
        )));
    }
    Ok(Done::json(json!({"status": status::of(journal.as_ref())})))
}

pub(super) async fn close(work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
    let asked: CloseAgent = arguments!(call);
    let (id, journal) = match child(work, &asked.id).await {
        Ok(found) => found,
        Err(done) => return Ok(*done),
    };
    let before = status::of(journal.as_ref());
    Ok(match end::end(work, &id).await {
        Ok(()) => Done::json(json!({"status": before})),
        Err(error) => Done::failed(error.to_string()),
    })
}
