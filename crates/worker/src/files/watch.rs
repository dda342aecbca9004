//! Reports changes in a workspace as they happen.
//!
//! The kernel reports them ([`inotify`]), and changes that follow each other closely are merged ([`pending`]). The memory
//! is limited whatever programs do and however slow the reader is: changes that are dropped are reported as missing.

mod inotify;
pub(crate) mod instances;
mod pending;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Fault, v1};
use headwater_limits::permits::Permit;
use headwater_workspace::{Workspace, WorkspacePath};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use crate::async_fd::register;
use crate::detached::blocking;
use crate::files::open_workspace::disk_fault;
use crate::files::watch::inotify::InotifyWatch;

/// Changes within this time are sent together.
const BATCH_INTERVAL: Duration = Duration::from_millis(75);
/// Messages that wait for the reader; each has at most [`MAX_MESSAGE_CHANGES`] changes.
const MAX_QUEUED_MESSAGES: usize = 4;
const MAX_MESSAGE_CHANGES: usize = 512;

type Message = Result<v1::WatchResponse, Status>;

/// Starts a watch; the messages end with the session.
pub(crate) async fn watch(
    workspace: Workspace,
    path: WorkspacePath,
    recursive: bool,
    over: impl Future<Output = ()> + Send + 'static,
    permit: Permit,
) -> Result<Receiver<Message>, Fault> {
    let inotify_watch = blocking(move || InotifyWatch::begin(workspace, path, recursive)).await?;
    let inotify =
        register(inotify_watch.inotify(), Interest::READABLE).map_err(|error| disk_fault(&error))?;
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_MESSAGES);
    tokio::spawn(async move {
        let watcher = Watcher { inotify, sender, due: Some(Instant::now()) };
        tokio::select! {
            () = watcher.run(inotify_watch) => {}
            () = over => {}
        }
        drop(permit);
    });
    Ok(receiver)
}

struct Watcher {
    inotify: AsyncFd<Arc<OwnedFd>>,
    sender: mpsc::Sender<Message>,
    /// When to send the pending changes, if there are any.
    due: Option<Instant>,
}

impl Watcher {
    async fn run(mut self, mut inotify_watch: InotifyWatch) {
        loop {
            let is_due = self.due.is_some_and(|due| due <= Instant::now());
            let later = self.due.unwrap_or_else(Instant::now);
            tokio::select! {
                () = self.sender.closed() => return,
                // Read even while the reader is slow: the kernel's own queue must not overflow.
                ready = self.inotify.readable() => {
                    let Ok(mut ready) = ready else { return };
                    let read = blocking(move || Ok((inotify_watch.read(), inotify_watch))).await;
                    let Ok((drained, read)) = read else { return };
                    if drained {
                        ready.clear_ready();
                    }
                    inotify_watch = read;
                    if inotify_watch.has_more() {
                        self.due.get_or_insert_with(|| Instant::now() + BATCH_INTERVAL);
                    }
                }
                () = sleep_until(later), if self.due.is_some() && !is_due => {}
                permit = self.sender.reserve(), if is_due => {
                    let Ok(permit) = permit else { return };
                    let changes = inotify_watch.take(MAX_MESSAGE_CHANGES);
                    if !changes.is_empty() {
                        permit.send(Ok(v1::WatchResponse { changes }));
                    }
                    self.due = inotify_watch.has_more().then(Instant::now);
                }
            }
        }
    }
}
