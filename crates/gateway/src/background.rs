//! Work besides requests: background tasks, and requests that complete even if their client disconnects.

use std::pin::Pin;
use std::task::{Context, Poll};

use headwater_contract::panics;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::error::ApiError;

/// The tasks of the gateway, and the signal that ends them. Clones share both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Background {
    /// Everything that the server waits for before it exits.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server stops: streams end, and clients reconnect to the next gateway.
    pub(crate) stopping: CancellationToken,
}

impl Background {
    /// Completes `work` even if the caller is dropped half-way.
    pub(crate) async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        Detached::new(&self.tasks, work.in_current_span()).await
    }

    /// Runs `work` in the background until the server stops. The next gateway does what is left.
    pub(crate) fn until_stopped(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = work => {}
                () = stopping.cancelled() => {}
            }
        });
    }

    /// Runs a task in the background, and starts it again if it panics. The task itself ends when the server stops.
    pub(crate) fn restarting<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn() -> F + Send + 'static,
    ) {
        self.tasks.spawn(panics::restarting(name, work));
    }
}

/// Runs inside its caller, which costs no switch to another task; becomes a task only if the caller is dropped.
struct Detached<'a, F: Future<Output: Send> + Send + 'static> {
    work: Option<Pin<Box<F>>>,
    tasks: &'a TaskTracker,
}

impl<'a, F: Future<Output: Send> + Send + 'static> Detached<'a, F> {
    /// `work`, which continues in `tasks` if its caller is dropped.
    fn new(tasks: &'a TaskTracker, work: F) -> Self {
        Self { work: Some(Box::pin(work)), tasks }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Detached<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out, so that work that panics is not continued. `await` does not poll completed work again.
        let Some(mut work) = self.work.take() else {
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Detached<'_, F> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && Handle::try_current().is_ok()
        {
            self.tasks.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn detached_work_returns_its_result_to_the_caller() {
        let tasks = TaskTracker::new();
        assert_eq!(Detached::new(&tasks, async { 7 }).await, 7);
        assert!(tasks.is_empty());
    }

    #[tokio::test]
    async fn detached_work_continues_when_its_caller_is_dropped() {
        let tasks = TaskTracker::new();
        let (go, gone) = oneshot::channel::<()>();
        let (sender, result) = oneshot::channel();
        let mut work = Box::pin(Detached::new(&tasks, async move {
            gone.await.unwrap();
            sender.send(7).unwrap();
        }));
        assert!(futures_util::poll!(work.as_mut()).is_pending());
        drop(work);
        go.send(()).unwrap();
        assert_eq!(result.await.unwrap(), 7);
        tasks.close();
        tasks.wait().await;
    }
}
