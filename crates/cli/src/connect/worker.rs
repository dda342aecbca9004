//! Finds the worker of a data folder, or starts it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Client, WorkerRestart, WorkerRestarter, connect};
use headwater_protocol::SandboxKind;
use headwater_worker::config::socket_path;
use rustix::fs::Access;
use rustix::io::Errno;

use super::Place;
use crate::commands::serve::supervisor;
use crate::error::{CommandError, ErrorKind};
use crate::server::Server;
use crate::start::{self, IfSlow, NewWorker};

/// How long a server may take to restart its worker before we do.
const HEAD_START: Duration = Duration::from_millis(200);
/// The longest path of a Unix socket: the kernel's `sun_path` without its final NUL.
pub const SOCKET_PATH_BYTES: usize = 107;

impl Place {
    /// The running server of the data folder.
    pub fn own_server(&self) -> Result<Server, CommandError> {
        let announced = std::fs::read(self.data.join("server.json")).ok();
        let announced = announced.and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
        let address = announced.as_ref().and_then(|file| file["address"].as_str());
        match address.filter(|_| supervisor::running(&self.data).is_some()) {
            Some(address) => Server::at(format!("http://{address}"), None, &self.data),
            None => Err(self.no_server()),
        }
    }

    fn no_server(&self) -> CommandError {
        let message = format!("no server is running for the data folder `{}`", self.data.display());
        CommandError::new(ErrorKind::NoWorker, message)
            .hint("this command needs a server: `--server URL` names one, `headwater serve` starts one")
    }

    /// The worker, if it is running.
    pub async fn running(&self) -> Result<Option<Client>, CommandError> {
        let socket = self.socket()?;
        match connect(&socket).await {
            Ok(client) => Ok(Some(client)),
            Err(error) if error.is_disconnected() => match rustix::fs::access(&socket, Access::WRITE_OK) {
                // A worker may be running, but not for this user.
                Err(Errno::ACCESS) => Err(self.not_ours()),
                _ => Ok(None),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn not_ours(&self) -> CommandError {
        let message = format!("the data folder `{}` belongs to another user", self.data.display());
        CommandError::new(ErrorKind::NoWorker, message).hint("choose another folder with `--data DIR`")
    }

    /// The worker, started if it is not running, and restarted if it dies.
    pub async fn worker(&self) -> Result<Client, CommandError> {
        let client = if let Some(client) = self.running().await? {
            client
        } else {
            start::start(&self.starter(self.sandbox, false).worker, IfSlow::End).await?;
            connect(&self.socket()?).await?
        };
        // A worker killed just now may have accepted the connection: it does not answer and has to be restarted. Nothing
        // depends on it yet, so it does not matter how it ended.
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

    /// The worker for a server, and what restarts it: a running server needs one, even if the last one was stopped.
    pub async fn supervised(&self) -> Result<(Client, Arc<dyn WorkerRestarter>), CommandError> {
        let client = self.worker().await?;
        let info = client.retry(Client::info).await?;
        let sandbox = if info.sandbox == "none" { SandboxKind::None } else { SandboxKind::Full };
        Ok((client, Arc::new(self.starter(Some(sandbox), true))))
    }

    fn starter(&self, sandbox: Option<SandboxKind>, even_if_stopped: bool) -> Starter {
        let (data, config, log_format) = (self.data.clone(), self.config.clone(), self.log_format);
        Starter { worker: NewWorker { data, sandbox, config, log_format }, even_if_stopped }
    }

    /// The worker of a data folder that must exist.
    pub(super) async fn existing(&self) -> Result<Client, CommandError> {
        if !self.data.is_dir() {
            return Err(self.no_folder());
        }
        self.worker().await
    }

    fn no_folder(&self) -> CommandError {
        let message = format!("the data folder `{}` does not exist", self.data.display());
        CommandError::new(ErrorKind::NotFound, message)
            .hint("`headwater run -- echo hello` creates it; `--data DIR` selects another folder")
    }

    fn socket(&self) -> Result<PathBuf, CommandError> {
        let socket = socket_path(&self.data);
        let length = socket.as_os_str().len();
        if length > SOCKET_PATH_BYTES {
            let message = format!(
                "the path `{}` is too long for a socket: {length} bytes of at most {SOCKET_PATH_BYTES}",
                socket.display()
            );
            return Err(CommandError::usage(message).hint("choose a shorter `--data DIR`"));
        }
        Ok(socket)
    }
}

/// Restarts a worker that was killed.
#[derive(Debug)]
struct Starter {
    worker: NewWorker,
    /// Also restart a worker that was asked to stop.
    even_if_stopped: bool,
}

impl WorkerRestarter for Starter {
    fn restart(&self, lost_for: Duration) -> WorkerRestart<'_> {
        Box::pin(async move {
            // A worker that is asked to stop removes its socket; restarting it would undo that.
            let was_stopped = !self.even_if_stopped && !exists(&socket_path(&self.worker.data));
            if lost_for < HEAD_START || was_stopped {
                return Ok(());
            }
            let started = start::start(&self.worker, IfSlow::Keep).await;
            started.map_err(|error| error.message)
        })
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn errors_match_their_snapshot() {
        let mut place = Place::new("/data".into());
        place.sandbox = Some(SandboxKind::Full);
        let long = Place::new(format!("/{}", "x".repeat(120)).into());
        snapshot::assert_errors(
            "connect-errors",
            &[
                place.not_ours(),
                place.no_folder(),
                place.no_server(),
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
