//! Where the tools run.

mod local;

use std::fmt;

use async_trait::async_trait;
use headwater_contract::Client;
use headwater_protocol::{Execution, ExecutionId, Session, SessionId, StartSpec};

use crate::error::ToolError;
use crate::policy::Extra;

pub use local::LocalHost;

/// A server, which checks quotas and records what starts, or the worker of one machine. The caller of the
/// tools has checked before who may use the session.
#[async_trait]
pub trait Host: fmt::Debug + Send + Sync + 'static {
    /// The connection to the worker for short calls.
    fn calls(&self) -> &Client;

    /// The connection for streams, which must not hold back short calls.
    fn streams(&self) -> &Client {
        self.calls()
    }

    /// Starts a program in a session. It continues if the caller goes away.
    async fn start(&self, session: SessionId, spec: StartSpec) -> Result<Execution, ToolError>;

    /// Whether a program can get more than the rights of its session. If not, nobody is asked for more.
    fn can_grant(&self) -> bool {
        false
    }

    /// Starts a program with more than the rights of its session, which a person has allowed. What is granted holds for
    /// this program only.
    async fn start_with(&self, _: &Session, _: StartSpec, _: &Extra) -> Result<Execution, ToolError> {
        Err(nothing_to_grant())
    }

    /// The sessions besides this one in which programs of its agents run.
    async fn other_sessions(&self, _: SessionId) -> Result<Vec<SessionId>, ToolError> {
        Ok(Vec::new())
    }

    /// The address of the page that shows an execution live, if there is one.
    fn live_page(&self, _: ExecutionId) -> Option<String> {
        None
    }
}

/// The error where a command has the rights of its session and no others.
pub fn nothing_to_grant() -> ToolError {
    ToolError::new("a command cannot get more rights than its session has here")
        .hint("Run it without sandbox_permissions, or ask the person for a session with these rights")
}
