//! The screen of a terminal, for a viewer that missed too much output.

use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Seq};

use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::socket::outgoing::Screen;

/// Resets an emulator to its initial state, so that it shows nothing but the screen that follows.
const RESET: &[u8] = b"\x1bc";

/// A viewer that missed more than this gets the screen instead; a browser's emulator needs a twentieth of a
/// second for it.
pub(crate) const MAX_MISSED_BYTES: u64 = 256 << 10;

/// How a terminal's log is followed: until its shell has ended. A viewer that falls behind meets a gap, which
/// is replaced by the screen.
pub(crate) fn options(after: Seq) -> FollowOptions {
    FollowOptions { after, tail_bytes: Some(MAX_MISSED_BYTES), ..FollowOptions::default() }
}

/// The current screen, and a follower that continues after it. None if the worker has no screen; the log is
/// read instead.
pub(crate) async fn screen(
    gateway: &Gateway,
    id: ExecutionId,
    scrollback_lines: Option<u32>,
) -> Result<Option<Screen>, ApiError> {
    let mut snapshot = match gateway.worker.snapshot(id, scrollback_lines).await {
        Ok(snapshot) => snapshot,
        Err(error) if error.is_disconnected() => return Err(error.into()),
        Err(error) => {
            tracing::debug!(%error, %id, "the worker has no screen of this terminal");
            return Ok(None);
        }
    };
    if !snapshot.data.starts_with(RESET) {
        snapshot.data = [RESET, &snapshot.data].concat().into();
    }
    let follower = gateway.worker.follow(id, options(snapshot.seq)).await?;
    Ok(Some((snapshot, follower)))
}
