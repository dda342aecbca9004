//! Deleting conversations, and what begins and ends with the server.

use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::conversation::ConversationId;

use crate::auth::conversations::no_conversation;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::state::Gateway;

/// Time between two looks for conversations that rest.
const DROP_INTERVAL: Duration = Duration::from_secs(30);

impl Gateway {
    /// Deletes a conversation and those of its sub-agents, after ending their turns. Its session stays.
    pub(crate) async fn delete_conversation(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
    ) -> Result<(), ApiError> {
        self.auth.may_use_conversation(who, Need::Own, id).await?;
        let (gateway, who, id) = (Arc::clone(self), who.clone(), id.clone());
        let deleted = async move {
            let (mut tree, mut at) = (vec![id.clone()], 0);
            while let Some(id) = tree.get(at) {
                let live = gateway.conversations.open(id).await?;
                gateway.interrupt(&live, None).await;
                live.set_gone();
                // It starts no more sub-agents: these are all.
                let children = gateway.store.child_conversations(id).await?;
                tree.extend(children);
                at += 1;
            }
            if !gateway.store.remove_conversation(&id).await? {
                return Err(no_conversation(&id)); // somebody else did
            }
            gateway.audit.record(&who, "conversation.delete", id.to_string(), String::new());
            Ok(())
        };
        self.background.detached(deleted).await
    }

    /// Resumes the turns that the last server left running.
    pub(crate) async fn resume_turns(self: &Arc<Self>) {
        let running = match self.store.running_conversations().await {
            Ok(running) => running,
            Err(error) => return tracing::error!(%error, "turns that were running are not resumed"),
        };
        for id in running {
            match self.conversations.open(&id).await {
                Ok(live) => self.run_turns(&live),
                Err(error) => {
                    tracing::error!(conversation = %id, message = %error.message, "a turn is not resumed");
                }
            }
        }
    }

    /// Drops conversations that rest from memory. Runs until the server stops.
    pub(crate) async fn drop_idle_conversations(&self) {
        loop {
            tokio::select! {
                () = self.background.stopping.cancelled() => return,
                () = tokio::time::sleep(DROP_INTERVAL) => self.conversations.drop_idle(),
            }
        }
    }
}
