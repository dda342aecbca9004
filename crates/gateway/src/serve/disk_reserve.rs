//! Keeps the reserve of the data folder, and says when its disk is full and when it is not any more.

use std::time::Duration;

use headwater_store::{Free, Reserve};

use crate::state::Gateway;

/// Between two looks: the reserve is made again this soon after there is room.
const LOOK: Duration = Duration::from_secs(5);

impl Gateway {
    /// What the disk of the data folder lacks, in words; none if there is enough.
    pub(crate) async fn shortage(&self) -> Option<String> {
        let data = self.config.data.clone();
        let free = tokio::task::spawn_blocking(move || Free::of(&data)).await;
        free.ok()?.ok()?.shortage()
    }

    /// Runs until the server stops.
    pub(crate) async fn keep_reserve(&self) {
        let mut was_full = false;
        loop {
            let shortage = self.shortage().await;
            match &shortage {
                Some(shortage) if !was_full => tracing::error!("{shortage}: nothing new can be started"),
                None if was_full => tracing::info!("the disk of the data folder has room again"),
                _ => {}
            }
            was_full = shortage.is_some();
            let reserve = Reserve::of(&self.config.data);
            if let Ok(Err(error)) = tokio::task::spawn_blocking(move || reserve.ensure()).await {
                tracing::warn!(%error, "the reserve of the data folder cannot be made");
            }
            tokio::select! {
                () = self.background.stopping.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}
