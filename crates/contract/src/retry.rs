//! What a client does when its worker goes away: look for it, have it brought back if somebody can, ask again.
//! This is the only place where calls are repeated; [`ResumingStream`](crate::resume::ResumingStream) uses it for streams.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::ContractError;

type Result<T> = std::result::Result<T, ContractError>;

/// The first wait for a lost worker: about as long as a restart takes.
const FIRST_WAIT: Duration = Duration::from_millis(25);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How long a lost worker is waited for before its callers are told.
const PATIENCE: Duration = Duration::from_secs(30);

/// The attempts of one caller to reach a worker that is lost, or that breaks each connection.
pub fn reconnect_backoff() -> Backoff {
    Backoff::new(FIRST_WAIT, LONGEST_WAIT).within(PATIENCE)
}

/// What [`WorkerRestarter::revive`] answers with; the error ends the waiting, in words for people.
pub type WorkerRestart<'a> = Pin<Box<dyn Future<Output = std::result::Result<(), String>> + Send + 'a>>;

/// Brings back a worker that does not answer.
pub trait WorkerRestarter: fmt::Debug + Send + Sync {
    /// Called each time the worker was looked for and not found; it has been lost for so long. To do nothing means
    /// to wait for somebody else to bring it back.
    fn restart(&self, lost_for: Duration) -> WorkerRestart<'_>;
}

impl Client {
    /// Waits for the worker to be there again, or brings it back.
    async fn come_back(&self) -> Result<()> {
        let lost = Instant::now();
        let mut attempts = reconnect_backoff();
        loop {
            // The connection makes itself anew, for all who share it.
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

    /// Waits after `error`, a lost connection, until the worker is there again. Fails with `error` if the attempts have
    /// run out: a worker that accepts connections and breaks each one is not asked for ever.
    pub(crate) async fn recover(&self, attempts: &mut Backoff, error: ContractError) -> Result<()> {
        if !attempts.pause().await {
            return Err(error);
        }
        self.come_back().await
    }

    /// Makes a call, and repeats it over a restart of the worker. Only for calls that may be made twice.
    pub async fn retry<'a, T, F>(&'a self, call: impl Fn(&'a Self) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.retry_within(&mut reconnect_backoff(), call).await
    }

    /// The same, within the given attempts.
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
