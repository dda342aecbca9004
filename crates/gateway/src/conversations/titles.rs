//! The titles that models write, in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_agent::Journal;

use super::Live;
use crate::state::Gateway;

impl Gateway {
    /// Lets the model write the title of a conversation whose turn has ended. No request and no turn waits for it, and if it
    /// fails, the beginning of the first message stays the title.
    pub(super) fn give_title(self: &Arc<Self>, live: &Arc<Live>) {
        let named = live.fold().turn.as_ref().and_then(|turn| turn.model.clone());
        let Some(model) = self.conversations.models.get(named.as_deref()) else { return };
        if live.is_titled.load(Ordering::Relaxed) {
            return;
        }
        let live = Arc::clone(live);
        self.background.until_stopped(async move {
            let journal = Arc::clone(&live) as Arc<dyn Journal>;
            match headwater_agent::title(&journal, &model).await {
                Ok(false) => {}
                Ok(true) => live.is_titled.store(true, Ordering::Relaxed),
                Err(error) => tracing::warn!(conversation = %live.id(), %error, "the title is not written"),
            }
        });
    }
}
