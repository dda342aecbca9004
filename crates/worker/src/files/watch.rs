//! Telling what changes in a workspace, as it changes.
//!
//! The kernel tells us ([`notes`]), changes that follow each other closely become one ([`pending`]), and what is told is bounded
//! whatever programs do and however slowly somebody reads: what cannot be kept is said to be missing.

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
use crate::files::watch::inotify::Notes;

/// Changes within so long are told together.
const TOGETHER: Duration = Duration::from_millis(75);
/// Messages that wait for their reader; each has at most [`MESSAGE`] changes.
const MESSAGES: usize = 4;
const MESSAGE: usize = 512;

type Message = Result<v1::WatchResponse, Status>;

/// Begins to watch; the messages end with the session.
pub(crate) async fn watch(
    workspace: Workspace,
    path: WorkspacePath,
    recursive: bool,
    over: impl Future<Output = ()> + Send + 'static,
    permit: Permit,
) -> Result<Receiver<Message>, Fault> {
    let notes = blocking(move || Notes::begin(workspace, path, recursive)).await?;
    let inotify = register(notes.inotify(), Interest::READABLE).map_err(|error| disk_fault(&error))?;
    let (sender, receiver) = mpsc::channel(MESSAGES);
    tokio::spawn(async move {
        let watcher = Watcher { inotify, sender, due: Some(Instant::now()) };
        tokio::select! {
            () = watcher.run(notes) => {}
            () = over => {}
        }
        drop(permit);
    });
    Ok(receiver)
}

struct Watcher {
    inotify: AsyncFd<Arc<OwnedFd>>,
    sender: mpsc::Sender<Message>,
    /// When what waits is to be told, if something does.
    due: Option<Instant>,
}

impl Watcher {
    async fn run(mut self, mut notes: Notes) {
        loop {
            let is_due = self.due.is_some_and(|due| due <= Instant::now());
            let later = self.due.unwrap_or_else(Instant::now);
            tokio::select! {
                () = self.sender.closed() => return,
                // Read even while nobody takes what we have: the kernel's own queue must not overflow.
                ready = self.inotify.readable() => {
                    let Ok(mut ready) = ready else { return };
                    let read = blocking(move || Ok((notes.read(), notes))).await;
                    let Ok((drained, read)) = read else { return };
                    if drained {
                        ready.clear_ready();
                    }
                    notes = read;
                    if notes.has_more() {
                        self.due.get_or_insert_with(|| Instant::now() + TOGETHER);
                    }
                }
                () = sleep_until(later), if self.due.is_some() && !is_due => {}
                permit = self.sender.reserve(), if is_due => {
                    let Ok(permit) = permit else { return };
                    let changes = notes.take(MESSAGE);
                    if !changes.is_empty() {
                        permit.send(Ok(v1::WatchResponse { changes }));
                    }
                    self.due = notes.has_more().then(Instant::now);
                }
            }
        }
    }
}
