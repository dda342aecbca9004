//! Maintains the disk reserve of the data folder, and logs when the disk becomes full and when it has space again.

use std::time::Duration;

use headwater_store::{Free, Reserve};

use crate::state::Gateway;

/// Time between two checks of the disk.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

impl Gateway {
    /// What the disk of the data folder lacks, as a message; `None` if it has enough space.
    pub(crate) async fn shortage(&self) -> Option<String> {
        let data = self.config.data.clone();
        let free = tokio::task::spawn_blocking(move || Free::of(&data)).await;
        free.ok()?.ok()?.shortage()
    }

    /// Maintains the reserve until the server stops.
    pub(crate) async fn keep_reserve(&self) {
        let mut was_full = false;
        loop {
            let shortage = self.shortage().await;
            match &shortage {
                Some(shortage) if !was_full => tracing::error!("{shortage}: nothing new can be started"),
                None if was_full => tracing::info!("the disk of the data folder has space again"),
                _ => {}
            }
            was_full = shortage.is_some();
            let reserve = Reserve::of(&self.config.data);
            if let Ok(Err(error)) = tokio::task::spawn_blocking(move || reserve.ensure()).await {
                tracing::warn!(%error, "cannot create the disk reserve of the data folder");
            }
            tokio::select! {
                () = self.background.stopping.cancelled() => return,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
    }
}
