//! Finds a match in output that earlier results have shown, for a call that waited for it in vain.

use std::time::Duration;

use headwater_contract::FollowOptions;
use headwater_protocol::{EventKind, ExecutionId, Seq};

use super::Context;
use super::condition::shown;
use super::find::number_of;
use super::matcher::{Matcher, compile};

/// How long earlier output is searched: the call is over, and the note is only help.
const PATIENCE: Duration = Duration::from_secs(2);

/// A note about the first match in the output up to `last`, with the position to read it from.
pub(super) async fn note(context: &Context<'_>, id: ExecutionId, pattern: &str, last: Seq) -> Option<String> {
    let (line, after) = tokio::time::timeout(PATIENCE, find(context, id, pattern, last)).await.ok()??;
    Some(format!(
        "an earlier result has shown a match{}; match finds only newer output. read_output with session_id {} \
         and after_seq {} reads it again",
        shown(&line, context.agent.secrets()),
        number_of(id),
        after.0,
    ))
}

/// The line of the first match, and the last event before the one that completes it.
async fn find(context: &Context<'_>, id: ExecutionId, pattern: &str, last: Seq) -> Option<(String, Seq)> {
    let mut matcher = Matcher::new(compile("match", pattern).ok()?);
    let options = FollowOptions { until_closed: true, no_wait: true, ..FollowOptions::default() };
    let streams = context.agent.host().streams();
    let mut follower = streams.retry(|client| client.follow(id, options.clone())).await.ok()?;
    let mut after = Seq(0);
    while after < last {
        let event = follower.next().await.ok()??;
        if let EventKind::Output { bytes, .. } = &event.kind
            && let Some(line) = matcher.push(bytes)
        {
            return Some((line, after));
        }
        after = event.seq;
    }
    None
}
