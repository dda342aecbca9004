//! The screen of a terminal, for a viewer that misses more than is worth sending.

use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Seq};

use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::socket::outgoing::Screen;

/// Makes an emulator as it was when it was new, so that the screen that follows is all that it shows.
const RESET: &[u8] = b"\x1bc";

/// Who misses more than this gets the screen instead: at the pace of a browser's emulator it is a twentieth of a second.
const MISSED_BYTES: u64 = 256 << 10;

/// How a terminal's log is followed: until its shell has ended, and whoever falls behind is told of a gap, in whose
/// place it gets the screen.
pub(crate) fn options(after: Seq) -> FollowOptions {
    FollowOptions { after, tail_bytes: Some(MISSED_BYTES), ..FollowOptions::default() }
}

/// The screen now, and who goes on after it. None where the worker has none to give: then the log is read instead.
pub(crate) async fn screen(
    gateway: &Gateway,
    id: ExecutionId,
    scrollback_lines: Option<u32>,
) -> Result<Option<Screen>, ApiError> {
    let mut snapshot = match gateway.worker.snapshot(id, scrollback_lines).await {
        Ok(snapshot) => snapshot,
        Err(error) if error.is_disconnected() => return Err(error.into()),
        Err(error) => {
            tracing::debug!(%error, %id, "a terminal has no screen");
            return Ok(None);
        }
    };
    if !snapshot.data.starts_with(RESET) {
        snapshot.data = [RESET, &snapshot.data].concat().into();
    }
    let follower = gateway.worker.follow(id, options(snapshot.seq)).await?;
    Ok(Some((snapshot, follower)))
}
