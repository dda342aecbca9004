//! The result of a call that ran a program, from the log of its execution.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::FollowOptions;
use headwater_protocol::EventKind;
use tokio::time::{Instant, timeout};

use super::chunk::Chunk;
use super::progress::{ProgressMode, RESULT_BYTES, Running};
use super::result::{CallEnd, CommandOutput};
use crate::state::Gateway;
use crate::streams::feed::{Followed, Subject};

/// How long reading a log may take. After that, the client gets the text that the model got.
const PATIENCE: Duration = Duration::from_secs(5);

/// The chunk with the result of a call that has executions, and whether its program still runs.
pub(super) async fn result(gateway: Arc<Gateway>, end: CallEnd) -> (Chunk, bool) {
    let output = timeout(PATIENCE, read(gateway, &end)).await.ok().flatten();
    match output {
        Some(output) => (end.command(&output), output.exit_code.is_none()),
        None => (end.plain(), false),
    }
}

/// The end of the output of the newest execution; `None` if nothing of it is kept.
async fn read(gateway: Arc<Gateway>, end: &CallEnd) -> Option<CommandOutput> {
    let id = *end.metadata.execution_ids.last()?;
    let row = gateway.store.execution(id).await.ok()??;
    let number = row.number;
    let subject = Subject::new(row);
    let options = FollowOptions {
        // Both streams may be at the end.
        tail_bytes: Some(2 * RESULT_BYTES as u64),
        no_wait: true,
        ..FollowOptions::default()
    };
    let mut followed = Followed::new(gateway, number, subject.clone(), options);
    let mut output = Running::new(id, subject, RESULT_BYTES);
    loop {
        let (next, event) = followed.next().await;
        let Some(event) = event.ok()? else { return Some(output.so_far()) };
        output.take(&event, ProgressMode::Tail, Instant::now());
        if let EventKind::Exited(verdict) = &event.kind {
            return Some(output.ended(verdict));
        }
        followed = next;
    }
}
