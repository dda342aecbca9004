//! Processes that outlive their init. Behind walls none do: the pid namespace ends with init. Without walls
//! they keep running, and carry the tags that identify their session.

use std::time::Duration;

use headwater_protocol::SessionId;

use super::process_tree;
use super::tag::Tags;

/// The maximum number of kill passes, and the pause between two.
const MAX_PASSES: u32 = 400;
const PASS_INTERVAL: Duration = Duration::from_millis(5);

/// Kills every process that an init of `session` started without walls, found by its tag. Call it when that
/// init is gone. False if some are still running. Blocks.
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
