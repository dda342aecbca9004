//! Shared state of all terminals of a worker: their configuration, and the key from which their secrets are derived.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use headwater_log::Log;
use headwater_protocol::{ExecutionId, StartSpec};
use tokio::sync::Semaphore;

use super::redact::Redactor;
use super::shell;
use crate::config::TerminalConfig;
use crate::executions::execution::Execution;
use crate::executions::program::Program;
use crate::layout::Folder;

/// The key of the execution's metadata that makes it a terminal; its value is the terminal's name.
const TERMINAL: &str = "headwater.terminal";

const KEY: &str = "terminals.key";

/// Shared state of all terminals.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) config: TerminalConfig,
    key: [u8; 32],
    /// Limits the screens that are drawn at once: a flood in one terminal must not take all cores.
    pub(crate) drawing: Semaphore,
}

impl Hub {
    /// The hub of this data folder.
    pub(crate) fn open(folder: &Folder, config: TerminalConfig) -> Self {
        let key = key(folder).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot store a key: marks of running terminals are not recognised after a restart");
            random()
        });
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { config, key, drawing: Semaphore::new((cores / 4).max(1)) }
    }

    /// The secret in the marks of this terminal's shell, so that its programs cannot forge them. The same after a restart.
    pub(crate) fn secret(&self, id: ExecutionId) -> String {
        let hash = blake3::keyed_hash(&self.key, id.to_string().as_bytes());
        hash.to_hex().chars().take(32).collect()
    }

    /// Hides the secret in this execution's output, if it is a terminal.
    pub(crate) fn redactor(&self, execution: &Execution, log: &Arc<Log>) -> Option<Redactor> {
        is_terminal(&execution.record().spec).then(|| Redactor::new(&self.secret(execution.id()), log))
    }

    /// Lets a login shell on a terminal mark its prompts and commands.
    pub(crate) fn shell(&self, program: Program, spec: &StartSpec, id: ExecutionId) -> Program {
        if is_terminal(spec) && shell::is_login_shell(&program.argv) {
            return shell::integrated(&self.secret(id), id);
        }
        program
    }
}

/// Whether an execution is a terminal that people share.
pub(crate) fn is_terminal(spec: &StartSpec) -> bool {
    spec.metadata.contains_key(TERMINAL) && spec.tty.is_some()
}

fn random() -> [u8; 32] {
    let mut key = [0; 32];
    let mut filled = 0;
    while let Some(rest) = key.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    key
}

fn key(folder: &Folder) -> io::Result<[u8; 32]> {
    let path = folder.root().join(KEY);
    if let Ok(kept) = fs::read(&path)
        && let Ok(key) = kept.try_into()
    {
        return Ok(key);
    }
    let (key, fresh) = (random(), folder.root().join("terminals.key.new"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?.write_all(&key)?;
    fs::rename(fresh, path)?;
    Ok(key)
}
