//! Finding the worker of a data folder, or starting it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Client, WorkerRestart, WorkerRestarter, connect};
use headwater_protocol::SandboxKind;
use headwater_worker::config::socket_path;
use rustix::fs::Access;
use rustix::io::Errno;

use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};
use crate::server::Server;
use crate::start;

/// A supervisor that looks after the worker gets so long to bring it back before we do.
const HEAD_START: Duration = Duration::from_millis(200);
/// The longest path of a unix socket, by the kernel's `sun_path`.
pub const SOCKET_PATH_BYTES: usize = 107;

/// Where the worker is, and which walls are wanted of it.
#[derive(Debug, Clone)]
pub struct Place {
    /// The data folder.
    pub data: PathBuf,
    /// As told on the command line.
    pub sandbox: Option<SandboxKind>,
    /// The configuration of a worker that is started, if it is not the data folder's own.
    pub config: Option<PathBuf>,
    /// The server that is meant, if it is not the engine on this machine.
    pub server: Option<Server>,
}

impl Place {
    /// The place of this data folder, whatever its walls.
    pub const fn new(data: PathBuf) -> Self {
        Self { data, sandbox: None, config: None, server: None }
    }

    /// The same, but at this server, if there is one.
    #[must_use]
    pub fn with_server(mut self, server: Option<Server>) -> Self {
        self.server = server;
        self
    }

    /// The server, or the worker, started if it did not run.
    pub async fn engine(&self) -> Result<Engine, CommandError> {
        match &self.server {
            None => Ok(Engine::Local(self.worker().await?)),
            Some(server) => self.at(server).await,
        }
    }

    /// The server, or the worker of a folder that must be there already: a mistyped `--data` starts nothing.
    pub async fn existing_engine(&self) -> Result<Engine, CommandError> {
        match &self.server {
            None => Ok(Engine::Local(self.existing().await?)),
            Some(server) => self.at(server).await,
        }
    }

    async fn at(&self, server: &Server) -> Result<Engine, CommandError> {
        let client = server.client()?;
        if self.sandbox.is_some() {
            self.check(client.info().await?.sandbox)?;
        }
        Ok(Engine::Remote(client))
    }

    /// The worker, if it runs.
    pub async fn running(&self) -> Result<Option<Client>, CommandError> {
        let socket = self.socket()?;
        match connect(&socket).await {
            Ok(client) => Ok(Some(client)),
            Err(error) if error.is_disconnected() => match rustix::fs::access(&socket, Access::WRITE_OK) {
                // There may be a worker: it only is not ours.
                Err(Errno::ACCESS) => Err(self.not_ours()),
                _ => Ok(None),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn not_ours(&self) -> CommandError {
        let message = format!("the data folder `{}` is not for this user", self.data.display());
        CommandError::new(ErrorKind::NoWorker, message).hint("choose another folder with `--data DIR`")
    }

    /// The worker, started if it did not run; it is brought back if it goes away.
    pub async fn worker(&self) -> Result<Client, CommandError> {
        let client = if let Some(client) = self.running().await? {
            client
        } else {
            start::start(&self.data, self.sandbox, self.config.as_deref()).await?;
            connect(&self.socket()?).await?
        };
        // One that was just killed may have taken the connection: it will not answer, and has to be started again. At
        // that point no one relies on it, so it does not matter how it ended.
        let client = client.with_restarter(Arc::new(self.starter(self.sandbox, true)));
        let info = client.retry(Client::info).await?;
        let kind = match info.sandbox.as_str() {
            "none" => SandboxKind::None,
            _ => SandboxKind::Full,
        };
        self.check(kind)?;
        let starter = self.starter(Some(kind), false);
        Ok(client.with_restarter(Arc::new(starter)))
    }

    /// The worker for a server, with whoever brings it back: a server that runs wants one, however the last one ended.
    pub async fn supervised(&self) -> Result<(Client, Arc<dyn WorkerRestarter>), CommandError> {
        let client = self.worker().await?;
        let info = client.retry(Client::info).await?;
        let sandbox = if info.sandbox == "none" { SandboxKind::None } else { SandboxKind::Full };
        Ok((client, Arc::new(self.starter(Some(sandbox), true))))
    }

    fn starter(&self, sandbox: Option<SandboxKind>, insists: bool) -> Starter {
        Starter { data: self.data.clone(), sandbox, config: self.config.clone(), insists }
    }

    async fn existing(&self) -> Result<Client, CommandError> {
        if !self.data.is_dir() {
            return Err(self.no_folder());
        }
        self.worker().await
    }

    fn no_folder(&self) -> CommandError {
        let message = format!("nothing has run in `{}` yet", self.data.display());
        CommandError::new(ErrorKind::NotFound, message)
            .hint("`headwater run -- echo hello` makes it; `--data DIR` names another folder")
    }

    fn check(&self, running: SandboxKind) -> Result<(), CommandError> {
        match self.sandbox {
            Some(wanted) if wanted != running => {
                let message = format!(
                    "the running worker has the sandbox `{}`, not `{}`",
                    running.name(),
                    wanted.name()
                );
                Err(CommandError::new(ErrorKind::Refused, message)
                    .hint("use another folder with `--data DIR`, or `headwater stop`: it hibernates the sessions, which wake again under a worker with their own sandbox"))
            }
            _ => Ok(()),
        }
    }

    fn socket(&self) -> Result<PathBuf, CommandError> {
        let socket = socket_path(&self.data);
        let length = socket.as_os_str().len();
        if length > SOCKET_PATH_BYTES {
            let message = format!("`{}` is too long for a socket: {length} bytes", socket.display());
            return Err(CommandError::usage(message).hint("choose a shorter `--data DIR`"));
        }
        Ok(socket)
    }
}

/// Starts a worker again that was killed.
#[derive(Debug)]
struct Starter {
    data: PathBuf,
    sandbox: Option<SandboxKind>,
    config: Option<PathBuf>,
    /// Also one that was told to end.
    insists: bool,
}

impl WorkerRestarter for Starter {
    fn restart(&self, lost_for: Duration) -> WorkerRestart<'_> {
        Box::pin(async move {
            // A worker that is told to end removes its socket: it is not for us to undo that.
            let was_told_to = !self.insists && !is_there(&socket_path(&self.data));
            if lost_for < HEAD_START || was_told_to {
                return Ok(());
            }
            let started = start::start(&self.data, self.sandbox, self.config.as_deref()).await;
            started.map_err(|error| error.message)
        })
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn another_kind_of_walls_than_asked_for_is_refused_by_name() {
        let mut place = Place::new("/d".into());
        assert_eq!(place.check(SandboxKind::None), Ok(()));
        place.sandbox = Some(SandboxKind::Full);
        assert_eq!(place.check(SandboxKind::Full), Ok(()));
        let error = place.check(SandboxKind::None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refused);
        assert!(error.message.contains("`none`, not `full`"), "{}", error.message);
    }

    #[test]
    fn errors_read_like_this() {
        let mut place = Place::new("/data".into());
        place.sandbox = Some(SandboxKind::Full);
        let long = Place::new(format!("/{}", "x".repeat(120)).into());
        snapshot::assert_errors(
            "connect-errors",
            &[
                place.not_ours(),
                place.no_folder(),
                place.check(SandboxKind::None).unwrap_err(),
                long.socket().unwrap_err(),
            ],
        );
    }

    #[tokio::test]
    async fn a_missing_data_folder_starts_no_worker() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().join("missing"));
        assert_eq!(place.existing().await.unwrap_err().kind, ErrorKind::NotFound);
        assert!(!place.data.exists());
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_reported_with_a_hint() {
        let place = Place::new(format!("/{}", "x".repeat(120)).into());
        assert!(place.socket().unwrap_err().hints[0].contains("shorter"));
    }
}
