//! What outlived its init. Behind walls nothing does: the pid namespace ends with it. Without walls programs go on,
//! and carry the tags that tell whose they were.

use std::time::Duration;

use headwater_protocol::SessionId;

use super::process_tree;
use super::tag::Tags;

/// Passes at most, and the rest between two.
const MAX_PASSES: u32 = 400;
const PASS_INTERVAL: Duration = Duration::from_millis(5);

/// Ends every process that an init set up for `session` has started without walls, by its tag. To be called when that
/// init is gone. False if some could not be ended. Blocks.
pub fn kill_stray_processes(session: SessionId) -> bool {
    let all = Tags::of(session).all();
    for _ in 0..MAX_PASSES {
        if process_tree::kill(|tag| all.contains(&tag)) == Ok(true) {
            return true;
        }
        std::thread::sleep(PASS_INTERVAL);
    }
    false
}
