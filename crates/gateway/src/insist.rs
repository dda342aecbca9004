//! Asking the worker over its restarts, in tasks that may move between threads.
//!
//! The contract's own `insist` lends the client to each attempt, which the compiler cannot prove to be safe to send
//! where the attempt borrows more; here each attempt owns what it needs.

use headwater_contract::{Client, ContractError, FaultKind, attempts};

/// Asks, and asks again over a restart of the worker: for calls that can be asked twice.
pub(crate) async fn insist<T, F>(
    client: &Client,
    call: impl Fn(Client) -> F + Send + Sync,
) -> Result<T, ContractError>
where
    F: Future<Output = Result<T, ContractError>> + Send,
{
    let mut attempts = attempts();
    let mut client = client.clone();
    loop {
        match call(client.clone()).await {
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

/// What a question for all of something tells. Nothing, where there is more of it than one answer can carry: whoever
/// asks must then be able to ask for each by itself, or one user with many things would leave none to the others.
pub(crate) fn if_it_fits<T>(told: Result<Vec<T>, ContractError>) -> Result<Vec<T>, ContractError> {
    match told {
        Err(ContractError::Fault(fault)) if fault.kind == FaultKind::Invalid => {
            tracing::warn!(%fault, "the worker has more to tell than fits into one answer");
            Ok(Vec::new())
        }
        told => told,
    }
}

#[cfg(test)]
mod tests {
    use headwater_contract::Fault;

    use super::*;

    #[test]
    fn only_an_answer_that_is_too_large_is_done_without() {
        let refused = |kind| if_it_fits::<()>(Err(Fault::new(kind, "no").into()));
        assert_eq!(refused(FaultKind::Invalid).unwrap(), []);
        assert!(refused(FaultKind::Internal).is_err());
        assert!(if_it_fits::<()>(Err(ContractError::Disconnected("gone".into()))).is_err());
        assert_eq!(if_it_fits(Ok(vec![1])).unwrap(), [1]);
    }
}
