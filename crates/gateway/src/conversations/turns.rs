//! Runs turns: one runner for each conversation at most.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_agent::{Journal, TurnContext, TurnSettings};
use headwater_contract::panics;
use headwater_protocol::api::ConversationMode;
use headwater_protocol::conversation::{ConversationEvent, TurnOutcome};
use headwater_store::ConversationRow;
use tokio_util::sync::CancellationToken;

use super::place::ConversationPlace;
use super::{Live, Settings};
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::state::Gateway;

/// How long a stop waits for the end of the turn: longer than a program gets between SIGTERM and SIGKILL.
const STOP_WAIT: Duration = Duration::from_secs(15);
/// How deep sub-agents may be below the conversation of a person.
const MAX_DEPTH: u32 = 8;

/// Who runs the turns of a conversation.
#[derive(Debug, Default)]
pub(super) struct Runner(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Interrupts the turn; `None` while nobody runs any.
    stop: Option<CancellationToken>,
    /// Whether another turn may have begun since the runner looked.
    again: bool,
}

impl Runner {
    /// Becomes the runner, unless there is one, which then looks again.
    fn begin(&self) -> Option<CancellationToken> {
        let mut state = self.state();
        if state.stop.is_some() {
            state.again = true;
            return None;
        }
        let stop = CancellationToken::new();
        state.stop = Some(stop.clone());
        Some(stop)
    }

    /// Goes on with the next turn, or is the runner no more.
    fn next(&self, has_more: bool) -> Option<CancellationToken> {
        let mut state = self.state();
        let goes_on = std::mem::take(&mut state.again) || has_more;
        state.stop = goes_on.then(CancellationToken::new);
        state.stop.clone()
    }

    /// Interrupts the turn that runs.
    fn stop(&self) {
        if let Some(stop) = &self.state().stop {
            stop.cancel();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that runs, counted in the metrics.
struct RunningTurn<'a>(&'a Metrics);

impl<'a> RunningTurn<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.turns.inc();
        metrics.turns_running.inc();
        Self(metrics)
    }
}

impl Drop for RunningTurn<'_> {
    fn drop(&mut self) {
        self.0.turns_running.dec();
    }
}

impl Gateway {
    /// Runs what the log says is to be run, in the background. If the server stops meanwhile, the log still says it, and
    /// the next server goes on.
    pub(crate) fn run_turns(self: &Arc<Self>, live: &Arc<Live>) {
        if live.fold().running().is_none() {
            return;
        }
        let Some(mut stop) = live.runner.begin() else { return };
        let (gateway, live) = (Arc::clone(self), Arc::clone(live));
        self.background.until_stopped(async move {
            loop {
                let went_on = gateway.run_turn(&live, stop).await;
                let has_more = went_on && live.fold().running().is_some();
                match live.runner.next(has_more) {
                    Some(next) => stop = next,
                    None => return gateway.give_title(&live),
                }
            }
        });
    }

    /// Runs the turn that the log says is running, and those that follow it. Returns false if that did not change the log.
    async fn run_turn(self: &Arc<Self>, live: &Arc<Live>, stop: CancellationToken) -> bool {
        let before = live.fold().last_seq;
        let ran = panics::caught(self.try_to_run(live, stop)).await;
        let failure = match ran {
            Some(Ok(())) => "the agent has left the turn without an end".to_owned(),
            Some(Err(error)) => error.message.into_owned(),
            None => "the agent has failed because of a bug; the server's log has the cause".to_owned(),
        };
        let running = live.fold().running().map(|turn| turn.turn_id.clone());
        if let Some(turn_id) = running.filter(|_| !live.is_gone() && live.fold().last_seq == before) {
            // Otherwise it would be run again and again.
            let ended =
                ConversationEvent::TurnEnded { turn_id, outcome: TurnOutcome::Failed, error: Some(failure) };
            if let Err(error) = live.append(vec![ended]).await {
                tracing::error!(conversation = %live.id(), %error, "a turn is not ended");
            }
        }
        live.fold().last_seq > before
    }

    async fn try_to_run(self: &Arc<Self>, live: &Arc<Live>, stop: CancellationToken) -> Result<(), ApiError> {
        let row = self.conversation_row(live.id()).await?;
        // A sub-agent's parent holds a permit, and waits for it.
        let _permit = if row.parent_id.is_some() {
            None
        } else {
            tokio::select! {
                permit = self.conversations.permits.acquire(&row.owner) => Some(permit),
                () = stop.cancelled() => None,
            }
        };
        let context = self.turn_context(live, row, stop).await?;
        let _running = RunningTurn::new(&self.metrics);
        headwater_agent::run(context).await;
        Ok(())
    }

    async fn turn_context(
        self: &Arc<Self>,
        live: &Arc<Live>,
        row: ConversationRow,
        stop: CancellationToken,
    ) -> Result<TurnContext, ApiError> {
        let settings = Settings::of(&row);
        let named = live.fold().running().and_then(|turn| turn.model.clone());
        let model = self.conversations.models.get(named.as_deref());
        if let (Some(named), None) = (named, &model) {
            let message = format!("the model `{named}` is not in the server's configuration any more");
            return Err(ApiError::conflict(message, "choose another model"));
        }
        let who = self.auth.agent_of(&row).await?;
        let who =
            who.ok_or_else(|| ApiError::forbidden("the owner's account is disabled", "ask an operator"))?;
        let depth = self.depth_of(&row).await?;
        let instructions = settings.instructions.clone();
        let is_plan_mode = settings.mode == ConversationMode::Plan;
        let (approval, web_search) = (settings.approval(), settings.web_search);
        Ok(TurnContext {
            journal: Arc::clone(live) as _,
            place: Arc::new(ConversationPlace::new(self, row, who)),
            model,
            settings: TurnSettings {
                is_plan_mode,
                approval,
                depth,
                instructions,
                web_search,
                ..TurnSettings::default()
            },
            stop,
        })
    }

    /// How deep a conversation is below that of a person.
    async fn depth_of(&self, row: &ConversationRow) -> Result<u32, ApiError> {
        let (mut depth, mut parent) = (0, row.parent_id.clone());
        while let Some(id) = parent.take().filter(|_| depth < MAX_DEPTH) {
            depth += 1;
            parent = self.store.conversation(&id).await?.and_then(|row| row.parent_id);
        }
        Ok(depth)
    }

    /// Interrupts the turn that runs, or only a certain one, and waits for its end. Returns whether it ran.
    pub(crate) async fn interrupt(self: &Arc<Self>, live: &Arc<Live>, only: Option<&str>) -> bool {
        let mut changes = live.changes();
        let running = live.fold().running().map(|turn| turn.turn_id.clone());
        let Some(turn_id) = running.filter(|id| only.is_none_or(|only| only == id)) else { return false };
        // There is none if the turn was left by an earlier server and is not resumed yet.
        self.run_turns(live);
        live.runner.stop();
        let runs = || live.fold().running().is_some_and(|turn| turn.turn_id == turn_id);
        let ended = async { while runs() && changes.changed().await.is_ok() {} };
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(STOP_WAIT) => {
                tracing::warn!(conversation = %live.id(), "a turn takes long to stop");
            }
            () = self.background.stopping.cancelled() => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_has_one_runner_which_looks_again_before_it_leaves() {
        let runner = Runner::default();
        let stop = runner.begin().unwrap();
        assert!(runner.begin().is_none(), "there is one");
        assert!(runner.next(false).is_some(), "somebody came meanwhile");
        assert!(!stop.is_cancelled());
        let next = runner.next(true).unwrap();
        runner.stop();
        assert!(next.is_cancelled());
        assert!(runner.next(false).is_none());
        runner.stop();
        assert!(!runner.begin().unwrap().is_cancelled(), "a stop is for the turn that runs");
    }
}
