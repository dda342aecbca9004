//! The end of a command that runs on in the background begins a turn, if the conversation wants that.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_agent::{Journal, Place};
use headwater_protocol::conversation::ConversationId;
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

impl Gateway {
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
