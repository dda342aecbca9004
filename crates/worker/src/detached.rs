//! Work that continues when its caller goes away.

use headwater_contract::{Fault, FaultKind};
use tokio::task::JoinError;
use tracing::Instrument;

/// Runs blocking work on a thread; it runs to its end even if the caller goes away.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(join_fault(&error)))
}

/// Runs a call in its own task, so that it completes even if the caller goes away.
pub(crate) async fn detached<T: Send + 'static>(
    call: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    tokio::spawn(call.in_current_span()).await.unwrap_or_else(|error| Err(join_fault(&error)))
}

fn join_fault(error: &JoinError) -> Fault {
    if error.is_panic() {
        return Fault::new(FaultKind::Internal, "the call panicked; the worker's log has the cause");
    }
    Fault::new(FaultKind::Unavailable, "the worker is stopping").hint("try again when it is running again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_an_internal_fault_and_other_work_is_answered() {
        assert_eq!(blocking(|| Ok(7)).await.unwrap(), 7);
        assert_eq!(detached(async { Ok(7) }).await.unwrap(), 7);
        let broken = blocking(|| Ok("no number".parse::<u8>().unwrap())).await;
        assert_eq!(broken.unwrap_err().kind, FaultKind::Internal);
        let broken = detached(async { Ok("no number".parse::<u8>().unwrap()) }).await;
        assert_eq!(broken.unwrap_err().kind, FaultKind::Internal);
    }
}
