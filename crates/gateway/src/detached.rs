//! Work that is brought to its end, whether or not somebody still waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// Runs where it is waited for, which costs no hop to another thread and back; only when nobody waits any more does it
/// become a task of its own.
pub(crate) struct ToTheEnd<'a, F: Future<Output: Send> + Send + 'static> {
    work: Option<Pin<Box<F>>>,
    tasks: &'a TaskTracker,
}

impl<'a, F: Future<Output: Send> + Send + 'static> ToTheEnd<'a, F> {
    /// This work, which goes on among `tasks` if it must.
    pub(crate) fn new(tasks: &'a TaskTracker, work: F) -> Self {
        Self { work: Some(Box::pin(work)), tasks }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for ToTheEnd<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out: work that panics is not gone on with. What is done is not polled again by anybody who awaits.
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

impl<F: Future<Output: Send> + Send + 'static> Drop for ToTheEnd<'_, F> {
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
    async fn work_that_is_waited_for_answers() {
        let tasks = TaskTracker::new();
        assert_eq!(ToTheEnd::new(&tasks, async { 7 }).await, 7);
        assert!(tasks.is_empty());
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_any_more_goes_on() {
        let tasks = TaskTracker::new();
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let mut work = Box::pin(ToTheEnd::new(&tasks, async move {
            gone.await.unwrap();
            tell.send(7).unwrap();
        }));
        assert!(futures_util::poll!(work.as_mut()).is_pending());
        drop(work);
        go.send(()).unwrap();
        assert_eq!(told.await.unwrap(), 7);
        tasks.close();
        tasks.wait().await;
    }
}
