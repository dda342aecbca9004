//! One connection of a client.

use std::sync::Arc;

use headwater_tools::Agent;
use rmcp::ErrorData;
use rmcp::model::{Implementation, ProtocolVersion, ServerCapabilities, ServerConfig};
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use crate::agents::{Access, Agents, Caller};
use crate::consent::Pending;
use crate::resources::Subscriptions;

/// What a model should know before it uses the tools. Short: clients add it to every conversation.
const INSTRUCTIONS: &str = "Runs commands and edits files in a session. Nothing that a command prints is lost: \
    one that outlives its call keeps running and returns a session ID. `wait` with that ID reports its end in \
    one call, without polling; `read_output` reads any part of its output again. Start servers with \
    `wait_for: {\"port\": N}`. Edit files with `apply_patch` or `edit_file`.";

/// The same for servers with many sessions.
const SESSION_INSTRUCTIONS: &str =
    " Each tool also takes `session`, the ID or the name of another session to work in.";

/// Serves one connection, or one session of a streamable HTTP transport.
#[derive(Debug, Clone)]
pub struct Server {
    agents: Arc<dyn Agents>,
    subscriptions: Arc<Subscriptions>,
    questions: Arc<Pending>,
    closing: CancellationToken,
}

impl Server {
    /// A server for the agents that this finds.
    pub fn new(agents: Arc<dyn Agents>) -> Self {
        let (subscriptions, questions) = (Arc::default(), Arc::default());
        Self { agents, subscriptions, questions, closing: CancellationToken::new() }
    }

    /// The server of another connection. Questions are shared: the connection of a client without a handshake lasts
    /// for one request, and its answer comes in another one.
    pub(crate) fn connected(&self) -> Self {
        Self { subscriptions: Arc::default(), ..self.clone() }
    }

    /// Questions to the person that clients of 2026-07-28 have not answered yet.
    pub(crate) fn questions(&self) -> &Pending {
        &self.questions
    }

    pub(crate) fn agents(&self) -> &dyn Agents {
        self.agents.as_ref()
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Cancelled when the client sends no more: then only calls that are about to end are waited for.
    pub(crate) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The agent of a request that cannot return an error as a tool does.
    pub(crate) async fn agent(
        &self,
        context: &RequestContext<RoleServer>,
        access: Access,
    ) -> Result<Agent, ErrorData> {
        let found = self.agents.agent(&Caller::of(context), access).await;
        found.map_err(|error| ErrorData::invalid_request(error.to_string(), None))
    }
}

pub(crate) fn config(agents: &dyn Agents) -> ServerConfig {
    let session = if agents.takes_session() { SESSION_INSTRUCTIONS } else { "" };
    let walls = agents.walls();
    let capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_prompts()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_tasks()
        .build();
    let implementation = Implementation::new("headwater", env!("CARGO_PKG_VERSION"))
        .with_title("Headwater")
        .with_description("Runs commands in isolated sessions and keeps all of their output.");
    ServerConfig::new(capabilities)
        .with_server_info(implementation)
        .with_instructions(format!("{INSTRUCTIONS}{session}{walls}"))
        // The answer to a client that asks for a version that does not exist.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_short() {
        /// What [`Agents::walls`] adds at most: a path of 100 bytes and a sentence.
        const WALLS: usize = 250;
        assert!(INSTRUCTIONS.len() + WALLS.max(SESSION_INSTRUCTIONS.len()) <= 650);
    }
}
