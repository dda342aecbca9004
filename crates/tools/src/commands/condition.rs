//! What a call waits for besides the end of a command.

use std::time::Duration;

use headwater_protocol::SessionId;

use super::matcher::{Matcher, compile};
use crate::error::ToolError;
use crate::host::Host;
use crate::output::Secrets;
use crate::schema::Until;

/// How often the ports of a session are listed: fast enough for a model, cheap for the worker (two small files).
pub(super) const PORT_INTERVAL: Duration = Duration::from_millis(100);
/// How long one list of ports may take.
const PORT_PATIENCE: Duration = Duration::from_secs(5);

/// Conditions of a wait. Without any, only the end counts.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) pattern: Option<Matcher>,
    pub(super) idle: Option<Duration>,
    pub(super) port: Option<u16>,
}

impl Conditions {
    pub(super) fn new(until: Option<&Until>) -> Result<Self, ToolError> {
        let Some(until) = until else { return Ok(Self::default()) };
        let pattern = until.pattern.as_deref().map(|pattern| compile("match", pattern)).transpose()?;
        Ok(Self {
            pattern: pattern.map(Matcher::new),
            idle: until.idle_ms.map(Duration::from_millis),
            port: until.port,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pattern.is_none() && self.idle.is_none() && self.port.is_none()
    }
}

/// Whether a program of the session listens on a port. A worker that does not answer is asked again later.
pub(super) async fn listens(host: &dyn Host, session: SessionId, port: u16) -> Result<bool, ToolError> {
    match tokio::time::timeout(PORT_PATIENCE, host.calls().listening_ports(session)).await {
        Ok(Ok(listening)) => Ok(listening.ports.contains(&port)),
        Ok(Err(error)) if !error.is_disconnected() => Err(error.into()),
        Ok(Err(_)) | Err(_) => Ok(false),
    }
}

/// A matching line, for a note. With secrets it is left out: the line alone does not show whether it is a part of one,
/// and the output has it with its mask.
pub(super) fn shown(line: &str, secrets: &Secrets) -> String {
    if secrets.is_empty() { format!(": {line}") } else { String::new() }
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Met {
    /// The command has ended.
    Exit,
    /// The output has a match: its line.
    Match(String),
    /// Nothing was printed for this time.
    Idle(Duration),
    /// A port listens.
    Port(u16),
}

impl Met {
    /// The note in a result. The end has its own line there.
    pub(super) fn note(&self, secrets: &Secrets) -> Option<String> {
        match self {
            Self::Exit => None,
            Self::Match(line) => Some(format!("matched{}", shown(line, secrets))),
            Self::Idle(idle) => Some(format!("no output for {} ms", idle.as_millis())),
            Self::Port(port) => Some(format!("port {port} listens")),
        }
    }
}
