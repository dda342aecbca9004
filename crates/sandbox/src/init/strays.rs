//! What outlived its init. Behind walls nothing does: the pid namespace ends with it. Without walls programs go on,
//! and carry the tags that tell whose they were.

use std::time::Duration;

use headwater_protocol::SessionId;

use super::tag::Tags;
use super::tree;

/// Passes at most, and the rest between two.
const PASSES: u32 = 400;
const REST: Duration = Duration::from_millis(5);

/// Ends every process that an init set up for `session` has started without walls, by its tag. To be called when that
/// init is gone. False if some could not be ended. Blocks.
pub fn end_strays(session: SessionId) -> bool {
    let all = Tags::of(session).all();
    for _ in 0..PASSES {
        if tree::kill(|tag| all.contains(&tag)) == Ok(true) {
            return true;
        }
        std::thread::sleep(REST);
    }
    false
}
