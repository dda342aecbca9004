//! Finds what a command is for: a server, or the worker of a data folder.

#[cfg_attr(not(target_os = "linux"), path = "connect/no_worker.rs")]
pub mod worker;

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use headwater_gateway::config::LogFormat;
use headwater_protocol::SandboxKind;

use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};
use crate::server::Server;

/// The server or worker that a command is for.
#[derive(Debug, Clone)]
pub struct Place {
    /// The data folder.
    pub data: PathBuf,
    /// The sandbox that the command requires, if any.
    pub sandbox: Option<SandboxKind>,
    /// The configuration file for a worker that is started, if not the one in the data folder.
    pub config: Option<PathBuf>,
    /// The format of the log of a worker that is started, if not the one in the configuration file.
    #[cfg(target_os = "linux")]
    pub log_format: Option<LogFormat>,
    /// The server, if the command is not for the worker on this machine.
    pub server: Option<Server>,
}

impl Place {
    /// The worker of this data folder, with any sandbox.
    pub const fn new(data: PathBuf) -> Self {
        Self {
            data,
            sandbox: None,
            config: None,
            #[cfg(target_os = "linux")]
            log_format: None,
            server: None,
        }
    }

    /// Uses this server instead, if it is given.
    #[must_use]
    pub fn with_server(mut self, server: Option<Server>) -> Self {
        self.server = server;
        self
    }

    /// The server, or the worker, which is started if it is not running.
    pub async fn engine(&self) -> Result<Engine, CommandError> {
        match &self.server {
            None => Ok(Engine::Local(self.worker().await?)),
            Some(server) => self.at(server).await,
        }
    }

    /// The server, or the worker of a data folder that must exist: a mistyped `--data` starts nothing.
    pub async fn existing_engine(&self) -> Result<Engine, CommandError> {
        match &self.server {
            None => Ok(Engine::Local(self.existing().await?)),
            Some(server) => self.at(server).await,
        }
    }

    /// A client of the server that the command names, or else of the server of the data folder, if it is running.
    pub fn api(&self) -> Result<headwater_client::Client, CommandError> {
        match &self.server {
            Some(server) => server.client(),
            None => self.own_server()?.client(),
        }
    }

    async fn at(&self, server: &Server) -> Result<Engine, CommandError> {
        let client = server.client()?;
        if self.sandbox.is_some() {
            self.check(client.info().await?.sandbox)?;
        }
        Ok(Engine::Remote(client))
    }

    fn check(&self, running: SandboxKind) -> Result<(), CommandError> {
        match self.sandbox {
            Some(wanted) if wanted != running => {
                let message =
                    format!("the running worker uses sandbox `{}`, not `{}`", running.name(), wanted.name());
                Err(CommandError::new(ErrorKind::Refused, message)
                    .hint("choose another folder with `--data DIR`, or run `headwater stop`: it hibernates the sessions, which resume under a worker with their sandbox"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_sandbox_than_required_is_refused_by_name() {
        let mut place = Place::new("/d".into());
        assert_eq!(place.check(SandboxKind::None), Ok(()));
        place.sandbox = Some(SandboxKind::Full);
        assert_eq!(place.check(SandboxKind::Full), Ok(()));
        let error = place.check(SandboxKind::None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refused);
        assert!(error.message.contains("`none`, not `full`"), "{}", error.message);
    }
}
