//! The server as the host of tools: programs start with the rights and the quotas of the caller, and are recorded like
//! any other execution.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use headwater_contract::Client;
use headwater_protocol::api::ErrorCode;
use headwater_protocol::{Execution, ExecutionId, SessionId, StartSpec};
use headwater_tools::{Host, ToolError};

use crate::auth::{Area, Identity};
use crate::error::ApiError;
use crate::executions::start::{ExecutionSpec, Starts};
use crate::http::idempotency::RequestKey;
use crate::routes::home;
use crate::worker::Worker;

/// The host of one agent.
#[derive(Debug)]
pub(super) struct ToolHost {
    worker: Arc<Worker>,
    starts: Arc<Starts>,
    /// The caller and the origin of the server, as its newest request had them.
    sender: Mutex<(Identity, String)>,
}

impl ToolHost {
    pub(super) fn new(worker: Arc<Worker>, starts: Arc<Starts>, who: Identity, origin: &str) -> Self {
        let host = Self { worker, starts, sender: Mutex::new((who.clone(), String::new())) };
        host.set_sender(who, origin);
        host
    }

    /// Uses the identity of a new request: the role of a caller can change.
    pub(super) fn set_sender(&self, mut who: Identity, origin: &str) {
        // Whichever tool starts a program: a program is an execution.
        who.bounds.area = Area::Executions;
        *self.sender() = (who, origin.to_owned());
    }

    fn sender(&self) -> MutexGuard<'_, (Identity, String)> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Host for ToolHost {
    fn calls(&self) -> &Client {
        self.worker.calls()
    }

    fn streams(&self) -> &Client {
        self.worker.streams()
    }

    async fn start(&self, session: SessionId, spec: StartSpec) -> Result<Execution, ToolError> {
        let execution = ExecutionSpec { session: Some(session), spec, request_key: RequestKey::default() };
        let who = self.sender().0.clone();
        self.starts.start(&who, execution).await.map_err(|error| tool_error(&error))
    }

    fn live_page(&self, id: ExecutionId) -> Option<String> {
        Some(format!("{}{}", self.sender().1, home::live_page(id)))
    }
}

/// The error for a model, which has tools and no routes.
pub(crate) fn tool_error(error: &ApiError) -> ToolError {
    let hint = match error.code {
        ErrorCode::QuotaExceeded | ErrorCode::Exhausted => {
            "Wait for a command to end (wait), or end one (kill); list_executions shows them"
        }
        ErrorCode::DiskFull | ErrorCode::DiskLimit => {
            "Delete files that are no longer needed, then call the tool again"
        }
        ErrorCode::Unavailable | ErrorCode::Internal => "Call the tool again in a moment",
        _ => return ToolError::new(error.message.clone()).hint(error.hint.clone()),
    };
    ToolError::new(error.message.clone()).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_what_it_can_do_with_its_tools() {
        let full = tool_error(&ApiError::no_space());
        assert_eq!(
            full.to_string(),
            "the server's disk is full. Delete files that are no longer needed, then call the tool again"
        );
        let invalid = tool_error(&ApiError::invalid("`x` is not a language").hint("use `python`"));
        assert_eq!(invalid.to_string(), "`x` is not a language. use `python`");
    }
}
