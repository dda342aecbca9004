//! The end of sub-agents.

use headwater_protocol::CONVERSATION_METADATA;
use headwater_protocol::conversation::ConversationId;

use super::status;
use crate::place::PlaceError;
use crate::work::{Work, read};

/// Ends a sub-agent: its turn, and the commands that it left running.
pub(super) async fn end(work: &Work, id: &ConversationId) -> Result<(), PlaceError> {
    work.context.place.stop_child(id).await?;
    let Some(agent) = work.context.place.existing_tools().await? else { return Ok(()) };
    let (client, session) = (agent.host().calls(), agent.session());
    let failed = |error: headwater_tools::ToolError| PlaceError(error.to_string());
    let running = client.retry(|client| client.running_in_brief(Some(session))).await;
    for execution in running.map_err(|error| failed(error.into()))? {
        if execution.spec.metadata.get(CONVERSATION_METADATA).map(String::as_str) == Some(id.as_str()) {
            // An error means that it has ended meanwhile.
            let _ = client.retry(|client| client.cancel(execution.id, None)).await;
        }
    }
    Ok(())
}

/// Ends the sub-agents that work on when the turn of their parent is over, unless they were started to do that.
pub(crate) async fn end_attached(work: &Work) {
    for id in work.read(|now| status::attached(now, work.turn.started_at_ms)) {
        let is_running = match work.context.place.child(&id).await {
            Ok(Some(journal)) => read(journal.as_ref(), |now| now.running().is_some()),
            _ => false,
        };
        if is_running && let Err(error) = end(work, &id).await {
            tracing::warn!(%error, child = %id, "a sub-agent cannot be ended");
        }
    }
}
