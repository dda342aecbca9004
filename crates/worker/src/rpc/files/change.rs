//! Changes several files: receives everything first, then carries it out.

use std::sync::Arc;

use headwater_contract::{Fault, FaultKind, v1};
use tonic::{Status, Streaming};

use crate::detached::blocking;
use crate::engine::Engine;
use crate::files::change::{Draft, commit};
use crate::files::open_workspace::OpenWorkspace;

/// Messages are collected up to this size before they are staged: each time needs another thread.
const GATHER_BYTES: usize = 1 << 20;
/// The same in messages.
const GATHER_MESSAGES: usize = 256;

/// Receives the whole request, and then carries it out, to the end even if the caller goes away.
pub(crate) async fn change(
    engine: &Arc<Engine>,
    mut messages: Streaming<v1::ChangeFilesRequest>,
) -> Result<v1::ChangeFilesResponse, Status> {
    let nothing = || Fault::new(FaultKind::Invalid, "the request has no head");
    let mut first = messages.message().await?.ok_or_else(nothing)?;
    let head = first.head.take().ok_or_else(nothing)?;
    let (engine, session) = (Arc::clone(engine), head.session_id.parse().map_err(Fault::from)?);
    let begin = move || {
        let open = OpenWorkspace::open(&engine, session)?;
        let draft = open.attempt(Draft::new)?;
        Ok((open, draft))
    };
    let (mut open, mut draft) = blocking(begin).await?;
    let (mut gathered, mut bytes) = (Vec::new(), 0);
    let mut next = Some(first);
    loop {
        let Some(message) = next else {
            let fault = Fault::new(FaultKind::Invalid, "the request was incomplete: nothing was changed");
            return Err(fault.into());
        };
        let is_last = message.last;
        bytes += size_of_content(&message);
        gathered.push(message);
        if is_last || bytes >= GATHER_BYTES || gathered.len() >= GATHER_MESSAGES {
            let batch = std::mem::take(&mut gathered);
            bytes = 0;
            (open, draft) = blocking(move || stage(open, draft, batch)).await?;
        }
        if is_last {
            break;
        }
        next = messages.message().await?;
    }
    let lock = open.lock().await;
    let changed = blocking(move || {
        let changed = open.attempt(|open| commit(open, draft, &head.change_id));
        drop(lock);
        changed
    });
    Ok(changed.await?)
}

fn stage(
    open: OpenWorkspace,
    mut draft: Draft,
    batch: Vec<v1::ChangeFilesRequest>,
) -> Result<(OpenWorkspace, Draft), Fault> {
    open.attempt(|open| {
        batch.into_iter().try_for_each(|message| draft.add(open, &message.data, message.changes))
    })?;
    Ok((open, draft))
}

/// The bytes that a message holds in memory, about.
fn size_of_content(message: &v1::ChangeFilesRequest) -> usize {
    use v1::file_change::Action;
    let content = |change: &v1::FileChange| match &change.action {
        Some(Action::Write(bytes)) => bytes.len(),
        Some(Action::Move(moved)) => moved.write.as_ref().map_or(0, bytes::Bytes::len),
        Some(Action::Remove(_)) | None => 0,
    };
    message.data.len() + message.changes.iter().map(content).sum::<usize>()
}
