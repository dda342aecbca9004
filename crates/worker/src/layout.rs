//! The layout of the data folder, and the records of sessions and executions.
//!
//! ```text
//! DIR/worker.sock, worker.lock             this worker
//! DIR/slots/<slot>/                        a prepared session: becomes sessions/<id> by a rename when it is taken
//! DIR/sessions/<id>/session.json           a session
//!                  /init.sock              where its init listens for a new worker
//!                  /workspace/             /workspace inside
//!                  /executions/<id>/       an execution's record and its log
//!                  /spare/                 becomes the next execution's folder by a rename
//! ```

use headwater_workspace::create_private_folder;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_protocol::{ExecutionId, SandboxKind, SessionId, SessionSpec, StartSpec};
use rustix::fs::{IFlags, Mode, OFlags};
use rustix::net::sockopt::Timeout;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use headwater_log::{LogOptions, LosslessOptions};

use crate::sessions::place::PlaceRecord;

/// The record of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    /// The id of the session.
    pub(crate) id: SessionId,
    /// The spec with defaults filled in.
    pub(crate) spec: SessionSpec,
    /// How it is isolated.
    pub(crate) sandbox: SandboxKind,
    /// The time in milliseconds since 1970.
    pub(crate) created_at_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub(crate) ended_at_ms: Option<u64>,
    /// The id of the slot that it was prepared in, which its init uses.
    pub(crate) slot: SessionId,
    /// The host user of its processes, if it differs from the worker's.
    pub(crate) host_uid: Option<u32>,
    /// The name of its cgroup, if it has one.
    pub(crate) cgroup: Option<String>,
    /// Whether it sees the folder of our tools. Sessions of earlier workers do not until they are resumed.
    #[serde(default)]
    pub(crate) tools: bool,
    /// What is known about the folder of an in-place session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<PlaceRecord>,
}

/// The record of an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExecutionRecord {
    pub(crate) id: ExecutionId,
    /// The session of the execution.
    pub(crate) session_id: SessionId,
    /// The spec without given input.
    pub(crate) spec: StartSpec,
    /// The time in milliseconds since 1970.
    pub(crate) queued_at_ms: u64,
    /// The bytes of output that are kept.
    pub(crate) output_bytes: u64,
    /// Whether it was started for a lossless reader.
    #[serde(default)]
    pub(crate) lossless: bool,
}

impl ExecutionRecord {
    /// The options of its log.
    pub(crate) const fn log_options(&self, holds: LosslessOptions) -> LogOptions {
        LogOptions { output_bytes: self.output_bytes, lossless: holds, expects_reader: self.lossless }
    }
}

/// The paths of a data folder.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Opens the folder at this path, or creates it with mode 0700, like everything in it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        create_private_folder(root)?;
        let folder = Self { root: fs::canonicalize(root)? };
        create_private_folder(&folder.slots())?;
        spread(&folder.slots());
        create_private_folder(&folder.sessions())?;
        Ok(folder)
    }

    /// The path of the data folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The lock file of the worker.
    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("worker.lock")
    }

    /// The folder of prepared sessions.
    pub(crate) fn slots(&self) -> PathBuf {
        self.root.join("slots")
    }

    /// The folder of sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The staging folder of earlier versions; it is removed at the start.
    pub(crate) fn staging_root(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// The folder of one session.
    pub(crate) fn session(&self, id: SessionId) -> PathBuf {
        self.sessions().join(id.to_string())
    }
}

/// The workspace in the folder of a session or slot.
pub(crate) fn workspace(session: &Path) -> PathBuf {
    session.join("workspace")
}

/// The executions in the folder of a session or slot.
pub(crate) fn executions(session: &Path) -> PathBuf {
    session.join("executions")
}

const SESSION_NAME: &str = "session.json";
/// The record in an execution's folder.
pub(crate) const EXECUTION: &str = "execution.json";
const SOCKET_NAME: &str = "init.sock";

impl SessionRecord {
    /// Reads the record of the session in this folder.
    pub(crate) fn read(session: &Path) -> io::Result<Self> {
        read_json(&session.join(SESSION_NAME))
    }

    /// Writes the record and replaces the old one atomically.
    pub(crate) fn write(&self, session: &Path) -> io::Result<()> {
        let fresh = session.join("session.json.new");
        write_json(&fresh, self)?;
        fs::rename(fresh, session.join(SESSION_NAME))
    }

    /// Removes the record. A session's folder without a record is one that was being removed.
    pub(crate) fn remove(session: &Path) -> io::Result<()> {
        remove_if_there(&session.join(SESSION_NAME))
    }
}

impl ExecutionRecord {
    /// Reads the record of the execution in this folder.
    pub(crate) fn read(execution: &Path) -> io::Result<Self> {
        read_json(&execution.join(EXECUTION))
    }

    /// Writes the record. It is written once, so an incomplete one means that the execution never started.
    pub(crate) fn write(&self, execution: &Path) -> io::Result<()> {
        write_json(&execution.join(EXECUTION), self)
    }

    /// Shortens a long command in memory; the file has all of it. Returns whether it was shortened.
    pub(crate) fn shorten(&mut self) -> bool {
        self.spec.command.shorten()
    }

    /// Removes the record: an execution without one does not exist.
    pub(crate) fn remove(execution: &Path) -> io::Result<()> {
        remove_if_there(&execution.join(EXECUTION))
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)
}

fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value).map_err(io::Error::other)?;
    File::create(path)?.write_all(&text)
}

/// Tells ext4 that the folders in this one are independent, so that it places them in different parts of the disk. Side
/// by side they would slow each other down: a freed inode is not reused for minutes, and with many short sessions each
/// new file took 0.7 ms instead of 0.008. Other file systems need no such hint.
fn spread(path: &Path) {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    if let Ok(folder) = folder
        && let Ok(flags) = rustix::fs::ioctl_getflags(&folder)
    {
        let _ = rustix::fs::ioctl_setflags(&folder, flags | IFlags::TOPDIR);
    }
}

/// Creates an empty file with mode 0600.
pub(crate) fn make_empty(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).map(drop)
}

/// A socket for a session's init to listen on, in the session's folder.
pub(crate) fn bind_init(session: &Path) -> io::Result<OwnedFd> {
    let socket = seqpacket()?;
    with_short_path(session, |address| rustix::net::bind(&socket, address))?;
    rustix::net::listen(&socket, 4)?;
    Ok(socket)
}

/// How long to wait for an init that accepts no connection (for example because it was stopped).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to the init that listens in this session's folder.
pub(crate) fn connect_init(session: &Path) -> io::Result<OwnedFd> {
    let socket = seqpacket()?;
    rustix::net::sockopt::set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_TIMEOUT))?;
    with_short_path(session, |address| rustix::net::connect(&socket, address))?;
    Ok(socket)
}

fn seqpacket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Socket addresses have about a hundred bytes, and data folders may be deep: uses a descriptor of the folder.
fn with_short_path(
    session: &Path,
    act: impl FnOnce(&SocketAddrUnix) -> rustix::io::Result<()>,
) -> io::Result<()> {
    let folder =
        rustix::fs::open(session, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{SOCKET_NAME}", folder.as_raw_fd());
    Ok(act(&SocketAddrUnix::new(path)?)?)
}
