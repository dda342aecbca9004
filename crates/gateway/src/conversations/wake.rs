//! The end of a command that runs on in the background begins a turn, if the conversation wants that.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_agent::{Journal, Place};
use headwater_protocol::ExecutionId;
use headwater_protocol::conversation::{ConversationId, Part};
use headwater_store::{ExecutionFilter, MAX_PAGE, PageRequest, StateFilter};
use headwater_tools::{Agent, Ending};
use tokio::sync::broadcast::error::RecvError;

use super::Settings;
use super::place::ConversationPlace;
use crate::error::ApiError;
use crate::state::Gateway;

/// The conversations whose agents are watched.
#[derive(Debug, Default)]
pub(super) struct Watched(Mutex<HashSet<ConversationId>>);

impl Watched {
    fn begin(&self, id: &ConversationId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone())
    }

    fn end(&self, id: &ConversationId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// A command that the last server left running.
#[derive(Debug)]
pub(crate) struct LeftRunning {
    conversation: ConversationId,
    execution: ExecutionId,
}

impl Gateway {
    /// The commands of conversations whose ends are not stored. They may have ended since.
    pub(crate) async fn left_running(&self) -> Vec<LeftRunning> {
        let filter = ExecutionFilter { state: Some(StateFilter::Running), ..ExecutionFilter::default() };
        let (mut left, mut page) = (Vec::new(), PageRequest::first(MAX_PAGE));
        loop {
            let rows = match self.store.executions(&filter, page).await {
                Ok(rows) => rows,
                Err(error) => {
                    tracing::error!(%error, "the ends of commands in the background wake nobody");
                    return left;
                }
            };
            left.extend(rows.items.into_iter().filter_map(|row| {
                let conversation = row.conversation_id?.parse().ok()?;
                Some(LeftRunning { conversation, execution: row.id })
            }));
            match rows.next {
                Some(_) => page.cursor = rows.next,
                None => return left,
            }
        }
    }

    /// Waits for the ends of commands that the agents of the last server left running.
    pub(crate) async fn await_left(self: &Arc<Self>, left: Vec<LeftRunning>) {
        for one in left {
            if let Err(error) = self.await_one(&one).await {
                tracing::warn!(conversation = %one.conversation, message = %error.message, "not woken");
            }
        }
    }

    async fn await_one(self: &Arc<Self>, left: &LeftRunning) -> Result<(), ApiError> {
        let Some(row) = self.store.conversation(&left.conversation).await? else { return Ok(()) };
        let Some(who) = self.auth.agent_of(&row).await?.filter(|_| Settings::of(&row).wakes) else {
            return Ok(());
        };
        let live = self.conversations.of(&row).await?;
        // Anybody can put any id into the metadata of their own executions.
        let is_own = live.fold().messages.iter().flat_map(|message| &message.parts).any(|part| match part {
            Part::ToolCall(call) => call.execution_ids.contains(&left.execution),
            _ => false,
        });
        let place = ConversationPlace::new(self, row, who);
        if is_own && let Ok(Some(agent)) = place.existing_tools().await {
            agent.await_end(&self.worker.execution(left.execution).await?);
        }
        Ok(())
    }

    /// Waits for the ends of commands of an agent, as long as the agent is remembered.
    pub(super) fn watch_endings(self: &Arc<Self>, id: &ConversationId, agent: &Agent) {
        if !self.conversations.watched.begin(id) {
            return;
        }
        let (gateway, id, mut endings) = (Arc::clone(self), id.clone(), agent.endings());
        self.background.until_stopped(async move {
            loop {
                match endings.recv().await {
                    Ok(ending) => {
                        if let Err(error) = gateway.wake(&id, &ending).await {
                            tracing::warn!(conversation = %id, message = %error.message, "not woken");
                        }
                    }
                    // The agent learns of all of them with its next call.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => break,
                }
            }
            gateway.conversations.watched.end(&id);
        });
    }

    /// Begins a turn about the end of a command, unless the result of a tool says it.
    async fn wake(self: &Arc<Self>, id: &ConversationId, ending: &Ending) -> Result<(), ApiError> {
        let Some(row) = self.store.conversation(id).await? else { return Ok(()) };
        let settings = Settings::of(&row);
        let Some(who) = self.auth.agent_of(&row).await?.filter(|_| settings.wakes) else { return Ok(()) };
        let live = self.conversations.of(&row).await?;
        let place = ConversationPlace::new(self, row, who);
        let Ok(Some(agent)) = place.existing_tools().await else { return Ok(()) };
        let journal = Arc::clone(&live) as Arc<dyn Journal>;
        let woken = headwater_agent::wake(&journal, &agent, ending, settings.model).await;
        if woken.map_err(|error| super::create::unwritten(&error))? {
            self.run_turns(&live);
        }
        Ok(())
    }
}
