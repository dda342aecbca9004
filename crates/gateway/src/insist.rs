//! Asking the worker over its restarts, in tasks that may move between threads.
//!
//! The contract's own `insist` lends the client to each attempt, which the compiler cannot prove to be safe to send
//! where the attempt borrows more; here each attempt owns what it needs.

use std::time::{Duration, Instant};

use headwater_contract::{Client, ContractError};

/// How long a lost worker is asked for again before the caller is told.
const PATIENCE: Duration = Duration::from_secs(30);
/// A worker that takes connections and breaks each one is not asked in a tight loop.
const RETRY: Duration = Duration::from_millis(25);

/// Asks, and asks again over a restart of the worker: for calls that can be asked twice.
pub(crate) async fn insist<T, F>(
    client: &Client,
    call: impl Fn(Client) -> F + Send + Sync,
) -> Result<T, ContractError>
where
    F: Future<Output = Result<T, ContractError>> + Send,
{
    let begun = Instant::now();
    let mut client = client.clone();
    loop {
        match call(client.clone()).await {
            Err(error) if error.is_disconnected() && begun.elapsed() < PATIENCE => {
                client = client.come_back().await?;
            }
            answer => return answer,
        }
        tokio::time::sleep(RETRY).await;
    }
}
