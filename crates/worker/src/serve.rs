//! Runs a worker: one for each data folder, from its lock to its last call.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::panics;
use headwater_limits::descriptors;
use headwater_protocol::SandboxKind;
use headwater_sandbox::cgroup::{CgroupRoot, Discovered};
use headwater_sandbox::orphans;
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Runtime};

use crate::config::Config;
use crate::data_dir_lock::{self, LockError};
use crate::engine::{Engine, EngineSetup};
use crate::executions::ended;
use crate::files;
use crate::layout::Folder;
use crate::retention;
use crate::rpc::Services;
use crate::rpc::connections;
use crate::sessions::adopt;
use crate::sessions::host_users;
use crate::sessions::host_users::{ClaimError, Wanted};
use crate::sessions::janitor;
use crate::sessions::pool;

/// How long a stopping worker waits for a session that is being prepared: the longest time of a sandbox setup.
const MAX_PREPARE_TIME: Duration = Duration::from_secs(11);

/// Why a worker cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A worker is already running for this folder.
    #[error("a worker is already running for `{}`", .0.display())]
    AlreadyRunning(PathBuf),
    /// Another data folder of this host uses the same host users.
    #[error(
        "the host users from {base} on belong to the data folder `{}`: set another `uid_base` in headwater.toml",
        other.display()
    )]
    UsersTaken {
        /// The first user of the range.
        base: u32,
        /// The other data folder.
        other: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    Host {
        /// The action that failed.
        what: String,
        /// The cause.
        source: io::Error,
    },
}

fn cannot(what: impl Into<String>) -> impl FnOnce(io::Error) -> ServeError {
    let what = what.into();
    move |source| ServeError::Host { what, source }
}

/// Runs a worker until it is stopped. Unless the stop also ends them, sessions and their programs keep running, and the
/// next worker adopts them.
///
/// `locked` is called when this worker has the data folder, with its configuration as it was loaded.
pub fn serve(config: Config, locked: impl FnOnce(&Config)) -> Result<(), ServeError> {
    let folder = Folder::open(&config.data).map_err(cannot(format!("make `{}`", config.data.display())))?;
    let _lock = lock(&folder)?;
    locked(&config);
    descriptors::raise_limit();
    files::reserve_watches();
    headwater_sandbox::allocator::bound_heaps();
    let io_runtime = runtime("hw-move").map_err(cannot("start threads"))?;
    let rpc_runtime = runtime("hw-serve").map_err(cannot("start threads"))?;
    let cgroups = cgroups(&folder);
    let mut config = config;
    claim_users(&folder, &mut config)?;
    prepare_etc(&folder, &mut config);
    if let Err(error) = orphans::adopt() {
        tracing::warn!(%error, "cannot become a subreaper: the host's init reaps inits that have ended");
    }
    orphans::keep_reaping();
    let engine = Engine::new(EngineSetup {
        config,
        folder,
        cgroups,
        io_runtime: io_runtime.handle().clone(),
        rpc_runtime: rpc_runtime.handle().clone(),
    });
    let served = rpc_runtime.block_on(run(Arc::clone(&engine)));
    engine.pool.close();
    // Followers are ended before the writers of the logs, whose end they would take for the end of the log; and sessions
    // that are being prepared are completed, so that they can be ended.
    rpc_runtime.shutdown_timeout(MAX_PREPARE_TIME);
    engine.pool.drain(&engine);
    io_runtime.shutdown_background();
    served
}

/// A range of host users that no other data folder has.
fn claim_users(folder: &Folder, config: &mut Config) -> Result<(), ServeError> {
    if !host_users::are_given_out(config) {
        return Ok(());
    }
    let by_path = crate::config::uid_base(&config.data);
    let wanted = if config.uid_base == by_path {
        Wanted::From(by_path)
    } else {
        Wanted::Exactly(config.uid_base) // as the operator says
    };
    match host_users::claim(folder.root(), wanted, Path::new(host_users::CLAIMS)) {
        Ok(base) => config.uid_base = base,
        Err(ClaimError::Taken { base, other }) => return Err(ServeError::UsersTaken { base, other }),
        Err(ClaimError::Io(error)) => {
            tracing::warn!(%error, "cannot claim host users: another data folder could use the same");
        }
    }
    Ok(())
}

/// One folder for `/etc` of all sessions: mounting it costs a tenth of mounting its entries one by one.
fn prepare_etc(folder: &Folder, config: &mut Config) {
    if config.sandbox == SandboxKind::None {
        return;
    }
    match headwater_sandbox::walls::prepare_etc(folder.root()) {
        Ok(bind) => config.binds.push(bind),
        Err(error) => tracing::warn!(%error, "cannot prepare /etc: creating sessions takes longer"),
    }
}

fn runtime(name: &str) -> io::Result<Runtime> {
    Builder::new_multi_thread().thread_name(name).enable_all().build()
}

/// One worker for each data folder.
fn lock(folder: &Folder) -> Result<File, ServeError> {
    data_dir_lock::lock(folder).map_err(|error| match error {
        LockError::Held => ServeError::AlreadyRunning(folder.root().to_owned()),
        LockError::Io(source) => cannot(format!("open `{}`", folder.lock().display()))(source),
    })
}

fn cgroups(folder: &Folder) -> Option<CgroupRoot> {
    match CgroupRoot::discover() {
        Discovered::Ready(root) => {
            let name =
                format!("headwater-{:08x}", crc32fast::hash(folder.root().as_os_str().as_encoded_bytes()));
            let below = root.below(&name);
            below
                .inspect_err(|error| tracing::warn!(%error, "no cgroups: resource limits are used instead"))
                .ok()
        }
        Discovered::Nothing { reasons, .. } => {
            let reason = reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            tracing::warn!(reason, "no cgroups: resource limits are used instead for memory and pids");
            None
        }
    }
}

async fn run(engine: Arc<Engine>) -> Result<(), ServeError> {
    let finding = Arc::clone(&engine);
    let found = tokio::task::spawn_blocking(move || {
        adopt::adopt_all(&finding)?;
        ended::count_logs(&finding);
        pool::discard_old_slots(&finding)
    });
    found.await.map_err(io::Error::other).and_then(|found| found).map_err(cannot("read the data folder"))?;
    let listener = listen(&engine).map_err(cannot("listen on the worker's socket"))?;
    engine.pool.refill(&engine);
    let watched = Arc::clone(&engine);
    engine.io_runtime.spawn(panics::restarting("janitor", move || janitor::run(Arc::clone(&watched))));
    let kept = Arc::clone(&engine);
    tokio::spawn(panics::restarting("retention", move || retention::run(Arc::clone(&kept))));
    tokio::spawn(stop_on_signal(Arc::clone(&engine)));
    tracing::info!(data = %engine.folder.root().display(), "worker ready");
    let stop = engine.stop.clone();
    let serving = connections::serve(listener, Services::new(&engine), stop.clone());
    // Followers of running programs would block the shutdown: they reconnect to the next worker.
    let patience = async {
        stop.cancelled().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    tokio::select! {
        () = serving => {}
        () = patience => {}
    }
    // Removed on purpose, so that nobody restarts the worker.
    let _ = fs::remove_file(engine.config.socket());
    tracing::info!("worker stopped");
    Ok(())
}

fn listen(engine: &Engine) -> io::Result<UnixListener> {
    let path = engine.config.socket();
    // The lock is held, so an existing socket is from an earlier worker.
    let fresh = path.with_extension("sock.new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = match UnixListener::bind(&fresh) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            // No inode is free: removing the old socket frees one. For a moment there is no socket, which is better than never.
            tracing::error!(%error, "the disk of the data folder is full");
            let _ = fs::remove_file(&path);
            UnixListener::bind(&fresh)?
        }
        bound => bound?,
    };
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
    // The socket appears with the right mode, and only when it answers; and there is always one, because callers take a
    // missing socket for a worker that was stopped on purpose.
    fs::rename(fresh, path)?;
    Ok(listener)
}

async fn stop_on_signal(engine: Arc<Engine>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    engine.stop.cancel();
}
