//! Retrying calls over a restart of the worker: waits for it, or has it restarted, and repeats the call. This
//! is the only place where calls are repeated; [`ResumingStream`](crate::resume::ResumingStream) uses it for
//! streams.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::ContractError;

type Result<T> = std::result::Result<T, ContractError>;

/// The first delay after losing the worker: about as long as a restart takes.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(25);
/// The longest delay between two attempts.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long a lost worker is awaited before callers get an error.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The attempts of one caller to reach a worker that is lost, or that breaks each connection.
pub fn reconnect_backoff() -> Backoff {
    Backoff::new(FIRST_RETRY_DELAY, MAX_RETRY_DELAY).within(RECONNECT_TIMEOUT)
}

/// The result of [`WorkerRestarter::restart`]. An error ends the waiting; its text is for people.
pub type WorkerRestart<'a> = Pin<Box<dyn Future<Output = std::result::Result<(), String>> + Send + 'a>>;

/// Restarts a worker that does not answer.
pub trait WorkerRestarter: fmt::Debug + Send + Sync {
    /// Called after each failed attempt to reach the worker, which has been lost for this long. An
    /// implementation that does nothing waits for another process to restart it.
    fn restart(&self, lost_for: Duration) -> WorkerRestart<'_>;
}

impl Client {
    /// Waits until the worker answers again, or restarts it.
    async fn reconnect(&self) -> Result<()> {
        let lost = Instant::now();
        let mut attempts = reconnect_backoff();
        loop {
            // The channel reconnects by itself, for all its clones.
            let error = match self.info().await {
                Err(error) if error.is_disconnected() => error,
                found => return found.map(drop),
            };
            if let Some(restarter) = self.restarter() {
                restarter.restart(lost.elapsed()).await.map_err(ContractError::Disconnected)?;
            }
            if !attempts.pause().await {
                return Err(error);
            }
        }
    }

    /// Waits after `error`, a lost connection, until the worker answers again. Fails with `error` if the
    /// attempts have run out: a worker that accepts connections and breaks each one is not retried for ever.
    pub(crate) async fn recover(&self, attempts: &mut Backoff, error: ContractError) -> Result<()> {
        if !attempts.pause().await {
            return Err(error);
        }
        self.reconnect().await
    }

    /// Makes a call, and repeats it over a restart of the worker. Only for calls that are safe to repeat.
    pub async fn retry<'a, T, F>(&'a self, call: impl Fn(&'a Self) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.retry_within(&mut reconnect_backoff(), call).await
    }

    /// The same, with the given attempts.
    pub(crate) async fn retry_within<'a, T, F>(
        &'a self,
        attempts: &mut Backoff,
        call: impl Fn(&'a Self) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        loop {
            match call(self).await {
                Err(error) if error.is_disconnected() => self.recover(attempts, error).await?,
                answer => return answer,
            }
        }
    }
}
