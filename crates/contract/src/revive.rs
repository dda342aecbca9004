//! What a client does when its worker goes away: look for it, have it brought back if somebody can, ask again.

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
pub fn attempts() -> Backoff {
    Backoff::new(FIRST_WAIT, LONGEST_WAIT).within(PATIENCE)
}

/// A stream that lasted this long was not broken by what broke the one before it.
const SETTLED: Duration = Duration::from_secs(1);

/// How a stream that breaks is opened again: not in a tight loop, also where each new one opens and breaks at once.
#[derive(Debug)]
pub(crate) struct Reopening {
    attempts: Backoff,
    opened: Instant,
}

impl Reopening {
    pub(crate) fn new() -> Self {
        Self { attempts: attempts(), opened: Instant::now() }
    }

    /// A stream is open.
    pub(crate) fn has_opened(&mut self) {
        self.opened = Instant::now();
    }

    /// Waits before the next attempt; false when the patience has run out.
    pub(crate) async fn pause(&mut self) -> bool {
        if self.opened.elapsed() >= SETTLED {
            self.attempts.reset();
            self.opened = Instant::now();
        }
        self.attempts.pause().await
    }
}

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
        let mut attempts = attempts();
        loop {
            // The connection makes itself anew, for all who share it.
            let error = match self.info().await {
                Err(error) if error.is_disconnected() => error,
                found => return found.map(|_| self.clone()),
            };
            if let Some(reviver) = self.reviver() {
                reviver.revive(lost.elapsed()).await.map_err(ContractError::Disconnected)?;
            }
            if !attempts.pause().await {
                return Err(error);
            }
        }
    }

    /// Asks, and asks again over a restart of the worker: for calls that can be asked twice.
    pub async fn insist<T>(&self, call: impl AsyncFn(&Self) -> Result<T>) -> Result<T> {
        let mut attempts = attempts();
        let mut client = self.clone();
        loop {
            match call(&client).await {
                // A worker that takes connections and breaks each one is not asked in a tight loop.
                Err(error) if error.is_disconnected() => {
                    if !attempts.pause().await {
                        return Err(error);
                    }
                    client = client.come_back().await?;
                }
                answer => return answer,
            }
        }
    }
}
