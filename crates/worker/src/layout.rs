//! The data folder: what lies where, and the small records kept beside sessions and executions.
//!
//! ```text
//! DIR/worker.sock, worker.lock             this worker
//! DIR/slots/<slot>/                        a prepared session: becomes sessions/<id> by a rename when it is taken
//! DIR/sessions/<id>/session.json           a session
//!                  /init.sock              where its init listens for a worker that comes back
//!                  /workspace/             /workspace inside
//!                  /executions/<id>/       an execution's record and its log
//!                  /spare/                 becomes the next one of these by a rename
//! ```

use headwater_workspace::make_private;
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

use headwater_log::{HoldOptions, LogOptions};

/// What is remembered of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    /// Its id.
    pub(crate) id: SessionId,
    /// What was asked for, defaults filled in.
    pub(crate) spec: SessionSpec,
    /// Which walls stand around it.
    pub(crate) sandbox: SandboxKind,
    /// In milliseconds since 1970.
    pub(crate) created_at_ms: u64,
    /// Likewise, once it has ended.
    pub(crate) ended_at_ms: Option<u64>,
    /// The id that its init was set up with: that of the slot it was prepared in.
    pub(crate) slot: SessionId,
    /// The host user that its processes run as, if not the worker's.
    pub(crate) host_uid: Option<u32>,
    /// The name of its cgroup, if it has one.
    pub(crate) cgroup: Option<String>,
}

/// What is remembered of an execution besides its log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExecutionRecord {
    /// Its id.
    pub(crate) id: ExecutionId,
    /// Where it runs.
    pub(crate) session_id: SessionId,
    /// What was asked for, given input left out.
    pub(crate) spec: StartSpec,
    /// In milliseconds since 1970.
    pub(crate) queued_at_ms: u64,
    /// How much output is kept.
    pub(crate) output_bytes: u64,
    /// Whether it was started for a lossless reader.
    #[serde(default)]
    pub(crate) lossless: bool,
}

impl ExecutionRecord {
    /// How its log is kept.
    pub(crate) const fn log_options(&self, holds: HoldOptions) -> LogOptions {
        LogOptions { output_bytes: self.output_bytes, holds, expects_reader: self.lossless }
    }
}

/// The paths of a data folder.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at this path, made if it is not there: mode 0700, like all that is made in it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        make_private(root)?;
        let folder = Self { root: fs::canonicalize(root)? };
        make_private(&folder.slots())?;
        spread(&folder.slots());
        make_private(&folder.sessions())?;
        Ok(folder)
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Held locked by the one worker of this folder.
    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("worker.lock")
    }

    /// Prepared sessions.
    pub(crate) fn slots(&self) -> PathBuf {
        self.root.join("slots")
    }

    /// Sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Where earlier versions filled trees before they appeared in a workspace; it is removed at the start.
    pub(crate) fn staging(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// One session.
    pub(crate) fn session(&self, id: SessionId) -> PathBuf {
        self.sessions().join(id.to_string())
    }
}

/// The workspace in a session's or slot's folder.
pub(crate) fn workspace(session: &Path) -> PathBuf {
    session.join("workspace")
}

/// The executions in a session's or slot's folder.
pub(crate) fn executions(session: &Path) -> PathBuf {
    session.join("executions")
}

const SESSION: &str = "session.json";
/// The record in an execution's folder.
pub(crate) const EXECUTION: &str = "execution.json";
const SOCKET: &str = "init.sock";

impl SessionRecord {
    /// Reads the record of the session in this folder.
    pub(crate) fn read(session: &Path) -> io::Result<Self> {
        read_json(&session.join(SESSION))
    }

    /// Writes it, replacing the old one in one step.
    pub(crate) fn write(&self, session: &Path) -> io::Result<()> {
        let fresh = session.join("session.json.new");
        write_json(&fresh, self)?;
        fs::rename(fresh, session.join(SESSION))
    }

    /// Removes it. A session's folder without a record is one that was being removed.
    pub(crate) fn remove(session: &Path) -> io::Result<()> {
        remove_if_there(&session.join(SESSION))
    }
}

impl ExecutionRecord {
    /// Reads the record of the execution in this folder.
    pub(crate) fn read(execution: &Path) -> io::Result<Self> {
        read_json(&execution.join(EXECUTION))
    }

    /// Writes it. It is written once, so a torn one means that the execution never started.
    pub(crate) fn write(&self, execution: &Path) -> io::Result<()> {
        write_json(&execution.join(EXECUTION), self)
    }

    /// Leaves out most of a command that is long. The whole of it is in the file. Answers whether it did.
    pub(crate) fn shorten(&mut self) -> bool {
        self.spec.command.shorten()
    }

    /// Removes it: what is left of the execution is nothing.
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

/// Tells ext4 that the folders in this one have nothing to do with each other, so that it puts each into another part
/// of the disk. Side by side they would suffer from each other: an inode that was freed is passed over for minutes,
/// and where sessions come and go that made each new file cost 0.7 ms instead of 0.008. Other file systems need
/// no such hint.
fn spread(path: &Path) {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    if let Ok(folder) = folder
        && let Ok(flags) = rustix::fs::ioctl_getflags(&folder)
    {
        let _ = rustix::fs::ioctl_setflags(&folder, flags | IFlags::TOPDIR);
    }
}

/// Makes an empty file that only its owner can read.
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

/// How long an init that takes no connections (stopped from outside, say) is waited for.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// A connection to the init that listens in this session's folder.
pub(crate) fn connect_init(session: &Path) -> io::Result<OwnedFd> {
    let socket = seqpacket()?;
    rustix::net::sockopt::set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_PATIENCE))?;
    with_short_path(session, |address| rustix::net::connect(&socket, address))?;
    Ok(socket)
}

fn seqpacket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Socket addresses hold about a hundred bytes, and data folders may be deep: go through a descriptor of the folder.
fn with_short_path(
    session: &Path,
    act: impl FnOnce(&SocketAddrUnix) -> rustix::io::Result<()>,
) -> io::Result<()> {
    let folder =
        rustix::fs::open(session, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
    Ok(act(&SocketAddrUnix::new(path)?)?)
}
