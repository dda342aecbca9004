//! Reports that a resource has changed.

use std::ops::ControlFlow;

use bytes::Bytes;
use headwater_contract::v1::ChangeType;
use headwater_contract::{ContractError, FollowOptions, reconnect_backoff};
use headwater_protocol::{EventKind, ExecutionId, Seq, Stream};
use headwater_tools::Agent;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::uri::Target;
use crate::progress::INTERVAL;

/// Output that a watch may lag behind before it skips: it reports only that there is more.
const SKIPPED_BEYOND_BYTES: u64 = 64 << 10;

/// Calls `changed` for each change of the resource, at most ten times a second, until it breaks or nothing can
/// change any more. `ready` is dropped when no change is missed from then on.
pub(super) async fn watch<F, C>(agent: &Agent, target: &Target, ready: oneshot::Sender<()>, mut changed: C)
where
    C: FnMut() -> F,
    F: Future<Output = ControlFlow<()>>,
{
    let ended = match target {
        Target::Output(id, stream) => output(agent, *id, *stream, ready, &mut changed).await,
        Target::File(path) => file(agent, path, ready, &mut changed).await,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a subscription has ended");
    }
}

async fn output<F, C>(
    agent: &Agent,
    id: ExecutionId,
    stream: Option<Stream>,
    ready: oneshot::Sender<()>,
    changed: &mut C,
) -> Result<(), ContractError>
where
    C: FnMut() -> F,
    F: Future<Output = ControlFlow<()>>,
{
    let client = agent.host().streams();
    // From now on: a subscriber reads what exists by itself.
    let now = agent.host().calls().retry(|client| client.execution(id)).await?.last_seq;
    let options = FollowOptions {
        after: Seq(now.0),
        until_closed: true,
        // A watch does not read what it reports.
        tail_bytes: Some(SKIPPED_BEYOND_BYTES),
        batch_ms: u32::try_from(INTERVAL.as_millis()).unwrap_or(u32::MAX),
        streams: Vec::from_iter(stream),
        ..FollowOptions::default()
    };
    let mut follower = client.follow(id, options).await?;
    drop(ready);
    while let Some(event) = follower.next().await? {
        let is_news =
            matches!(event.kind, EventKind::Output { .. } | EventKind::Exited(_) | EventKind::Gap { .. });
        if is_news {
            if changed().await.is_break() {
                return Ok(());
            }
            sleep(INTERVAL).await;
        }
    }
    Ok(())
}

async fn file<F, C>(
    agent: &Agent,
    path: &[u8],
    ready: oneshot::Sender<()>,
    changed: &mut C,
) -> Result<(), ContractError>
where
    C: FnMut() -> F,
    F: Future<Output = ControlFlow<()>>,
{
    let (folder, _) = split(path);
    let mut attempts = reconnect_backoff();
    let mut ready = Some(ready);
    loop {
        let watched =
            agent.host().streams().watch_tree(agent.session(), Bytes::copy_from_slice(folder), false).await;
        let mut messages = match watched {
            Ok(messages) => messages,
            Err(error) if error.is_disconnected() && attempts.pause().await => continue,
            Err(error) => return Err(error),
        };
        attempts = reconnect_backoff();
        loop {
            let message = match messages.next().await {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(error) if error.is_disconnected() => break,
                Err(error) => return Err(error),
            };
            let mut is_news = false;
            for change in &message.changes {
                is_news |= match change.r#type() {
                    // A watch that was set up again may have missed a change.
                    ChangeType::Ready => ready.take().is_none(),
                    ChangeType::Overflow | ChangeType::Rescan => true,
                    _ => change.path == path || change.from == path || path.is_empty(),
                };
            }
            if is_news {
                if changed().await.is_break() {
                    return Ok(());
                }
                sleep(INTERVAL).await;
            }
        }
    }
}

/// The folder and the name of a path.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_watched_in_its_folder() {
        assert_eq!(split(b"src/lib/a.rs"), (&b"src/lib"[..], &b"a.rs"[..]));
        assert_eq!(split(b"a.rs"), (&b""[..], &b"a.rs"[..]));
    }
}
