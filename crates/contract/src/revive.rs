//! What a client does when its worker goes away: look for it, have it brought back if somebody can, ask again.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::Client;
use crate::error::ContractError;

type Result<T> = std::result::Result<T, ContractError>;

/// How often a lost worker is looked for.
pub(crate) const RETRY: Duration = Duration::from_millis(25);
/// How long a lost worker is waited for before its callers are told.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What [`Reviver::revive`] answers with; the error ends the waiting, in words for people.
pub type Revival<'a> = Pin<Box<dyn Future<Output = std::result::Result<(), String>> + Send + 'a>>;

/// Brings back a worker that does not answer.
pub trait Reviver: fmt::Debug + Send + Sync {
    /// Called each time the worker was looked for and not found; it has been lost for so long. To do nothing means
    /// to wait for somebody else to bring it back.
    fn revive(&self, lost_for: Duration) -> Revival<'_>;
}

impl Client {
    /// Waits for the worker to be there again, or brings it back.
    pub async fn come_back(&self) -> Result<Self> {
        let lost = Instant::now();
        loop {
            // The connection makes itself anew, for all who share it.
            let error = match self.info().await {
                Err(error) if error.is_disconnected() => error,
                found => return found.map(|_| self.clone()),
            };
            if lost.elapsed() >= PATIENCE {
                return Err(error);
            }
            if let Some(reviver) = self.reviver() {
                reviver.revive(lost.elapsed()).await.map_err(ContractError::Disconnected)?;
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Asks, and asks again over a restart of the worker: for calls that can be asked twice.
    pub async fn insist<T>(&self, call: impl AsyncFn(&Self) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let mut client = self.clone();
        loop {
            match call(&client).await {
                Err(error) if error.is_disconnected() && begun.elapsed() < PATIENCE => {
                    client = client.come_back().await?;
                }
                answer => return answer,
            }
            // A worker that takes connections and breaks each one is not asked in a tight loop.
            tokio::time::sleep(RETRY).await;
        }
    }
}
