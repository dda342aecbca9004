//! Turns: from the message of a person to the end of the agent's work.

use headwater_protocol::conversation::{ConversationEvent, TurnOutcome};

use crate::turn::TurnContext;

/// Works on the turn that the log says is running, and on those that queued messages begin after it. Returns when no turn
/// runs: at once if none does.
///
/// It never panics, and ends every turn that it works on: `TurnEnded` with [`TurnOutcome::Failed`] has a sentence for a
/// person. The caller makes sure that only one call works on a conversation. A turn that was interrupted by a crash is
/// continued from the log; nothing but the log is needed for that.
pub async fn run(context: TurnContext) {
    let running = context.journal.conversation().read().ok().and_then(|now| now.running().cloned());
    let Some(turn) = running else { return };
    let ended = ConversationEvent::TurnEnded {
        turn_id: turn.turn_id,
        outcome: TurnOutcome::Failed,
        error: Some("the agent of this build cannot answer yet".to_owned()),
    };
    if let Err(error) = context.journal.append(vec![ended]).await {
        tracing::error!(%error, "a turn cannot be ended");
    }
}
