//! The messages between the worker and init.
//!
//! Messages are postcard over a `SOCK_SEQPACKET` unix socket, one message a packet, at most [`INLINE_BYTES`];
//! a longer one travels in a sealed memfd that is the packet's last descriptor. Descriptors travel with
//! `SCM_RIGHTS`. Both ends are the same binary or, across an upgrade, two versions of it: hence [`VERSION`].

use serde::{Deserialize, Serialize};

use headwater_protocol::{ExecutionId, Process, SandboxKind, SessionId, TtySize, Usage};

/// Raised when the format or the meaning of a message changes; a new message at the end changes neither, and an
/// older init ignores it. A worker that finds an init of another version
/// adopts nothing from it: it ends that init, its executions end as `lost`, and the session is hibernated
/// with its workspace.
pub const VERSION: u32 = 5;

/// Messages up to this length are sent in the packet itself.
pub const INLINE_BYTES: usize = 64 * 1024;

/// The maximum number of descriptors of a message: an input, and a cgroup file for each controller of a v1
/// host.
pub const MAX_FDS: usize = 8;

/// Messages from the worker to init.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToInit {
    /// The first message to a new init: set up the session. Answered by `Ready` or `SetupFailed`.
    Setup(Box<Setup>),
    /// The first message of a worker that reconnects. Answered by `Hello`, then one `Adopt` for each
    /// execution.
    Hello,
    /// Run a program. Answered by `Started` or `StartFailed`. Carries the descriptor of the program's
    /// standard input if `stdin` is `Fd`, then `cgroups` many `cgroup.procs` files opened for writing,
    /// through which the program joins those cgroups before it runs.
    Start(Box<Start>),
    /// Send a signal to processes of an execution.
    Signal {
        /// The execution to signal.
        execution: ExecutionId,
        /// The signal number, from 1 to 64.
        signal: i32,
        /// Which of its processes to signal.
        target: Target,
    },
    /// End the whole process tree: SIGTERM (and SIGCONT), the grace period, SIGKILL. The first cause is the
    /// one reported.
    Stop {
        /// The execution to stop.
        execution: ExecutionId,
        /// The reason to report.
        cause: Cause,
        /// The time between SIGTERM and SIGKILL.
        grace_ms: u64,
    },
    /// No more input will come: close init's duplicates of the input pipe and of its buffer.
    CloseStdin {
        /// The execution whose input ends.
        execution: ExecutionId,
    },
    /// The worker has logged the exit: it need not be sent again.
    ExitLogged {
        /// The execution whose exit is logged.
        execution: ExecutionId,
    },
    /// The worker no longer needs the descriptors of this execution: no writer is left, or its output is not
    /// wanted.
    Release {
        /// The execution to release.
        execution: ExecutionId,
    },
    /// List the processes of an execution. Answered by `Processes`.
    Processes {
        /// The execution to list.
        execution: ExecutionId,
    },
    /// Listen on this port of 127.0.0.1 inside until the session ends. Answered by `Listening`, with the same
    /// socket each time, or by `ListenFailed`.
    Listen {
        /// The port in the session's network namespace.
        port: u16,
    },
    /// End all programs, then init itself.
    End,
    /// Create a TCP socket, which the worker connects to a port of the session. Answered by `Socket` or
    /// `SocketFailed`.
    Socket {
        /// Whether it is for IPv6.
        ipv6: bool,
    },
}

/// Messages from init to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromInit {
    /// The session is set up. Sent by pid 1 itself.
    Ready {
        /// The [`VERSION`] of this init.
        version: u32,
    },
    /// The session could not be set up, and no program will run.
    SetupFailed(WallFailure),
    /// The answer to `Hello`.
    Hello {
        /// The [`VERSION`] of this init.
        version: u32,
        /// The session of this init.
        session: SessionId,
        /// How many `Adopt` messages follow.
        executions: u32,
    },
    /// An execution that the worker may not know, with the same descriptors as `Started`.
    Adopt {
        /// The execution to adopt.
        execution: ExecutionId,
        /// The program's pid inside the session.
        pid: i32,
        /// Start time in Unix microseconds.
        started_at_us: u64,
        /// The descriptors that this message carries.
        fds: Fds,
        /// The exit, if the program has exited and the worker has not logged it.
        exit: Option<Exit>,
        /// The note of `Start`.
        note: Vec<u8>,
    },
    /// The program is running (exec has succeeded). Carries the worker's descriptors.
    Started {
        /// The execution that has started.
        execution: ExecutionId,
        /// The program's pid inside the session.
        pid: i32,
        /// Start time in Unix microseconds.
        started_at_us: u64,
        /// The descriptors that this message carries.
        fds: Fds,
    },
    /// The program could not be started. Nothing of it is left.
    StartFailed {
        /// The execution that could not be started.
        execution: ExecutionId,
        /// The kind of failure, with a message.
        failure: StartFailure,
    },
    /// The program itself has exited; its children may still run.
    Exited {
        /// The execution that has exited.
        execution: ExecutionId,
        /// The exit status, the cause and the usage.
        exit: Exit,
    },
    /// The processes of an execution. The program comes first if it is still running.
    Processes {
        /// The execution that was asked about.
        execution: ExecutionId,
        /// The processes, as seen inside the session.
        processes: Vec<Process>,
    },
    /// The answer to `Listen`, with the listening socket, on which the worker accepts.
    Listening,
    /// init could not create the listening socket.
    ListenFailed {
        /// The kernel's error number.
        errno: i32,
    },
    /// The answer to `Socket`, with the socket.
    Socket {
        /// Whether it is for IPv6.
        ipv6: bool,
    },
    /// init could not create the socket.
    SocketFailed {
        /// Whether it was to be for IPv6.
        ipv6: bool,
        /// The kernel's error number.
        errno: i32,
    },
}

/// How to set up a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The session of this init.
    pub session: SessionId,
    /// Whether to build walls.
    pub sandbox: SandboxKind,
    /// The host user and group of the session's processes, if the worker is root; otherwise they run as the
    /// worker's user.
    pub host_uid: Option<u32>,
    /// The absolute path of the workspace on the host. Behind walls it is mounted at `/workspace`, or, for an
    /// in-place session, at its [home](InPlace::home).
    pub workspace: String,
    /// The folder of the host that is the workspace of an in-place session behind walls.
    pub place: Option<InPlace>,
    /// Host paths that are bound read-only, besides the system directories.
    pub binds: Vec<Bind>,
    /// The size of `/tmp` and of `/dev/shm`, each.
    pub tmp_bytes: u64,
    /// The number of files and directories in each of them.
    pub tmp_inodes: u64,
    /// How long init waits for a worker to reconnect before it ends.
    pub orphan_timeout_ms: u64,
    /// The network namespace of the session.
    pub network: NetworkNamespace,
    /// Limits on resources that the whole host shares.
    pub kernel: KernelLimits,
}

/// What an in-place session behind walls sees of the host, besides what every session sees. Each path is the
/// same inside as on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlace {
    /// The absolute path of the folder, which is the working directory.
    pub folder: String,
    /// The folder and the other paths, parents before their children.
    pub mounts: Vec<PlaceMount>,
    /// Where programs see their private home. Without one the home is `/tmp`.
    pub home: Option<String>,
    /// The host group of the session's processes, if it is not the number of `host_uid`.
    pub host_gid: Option<u32>,
}

/// A file or folder of the host at its own path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceMount {
    /// The absolute path, in which no name is a link.
    pub path: String,
    /// The device and the inode that the worker has checked: init mounts nothing else.
    pub id: (u64, u64),
    /// Whether programs may write to it.
    pub writable: bool,
    /// The owner on the disk (user and group) that the session's user stands for in this mount. Only root can
    /// map owners.
    pub owner: Option<(u32, u32)>,
}

/// What a session behind walls may use of resources that the whole host shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLimits {
    /// Terminals open at the same time, the worker's included. The host has 4096 in all by default.
    pub terminals: u32,
    /// Whether programs may use kernel AIO (`io_setup`): one program can use up all contexts of the host.
    pub aio: bool,
    /// Whether a cgroup counts the session's memory. If not, memory that no resource limit counts is refused:
    /// `memfd_create` and large System V segments.
    pub memory_is_counted: bool,
}

impl Default for KernelLimits {
    fn default() -> Self {
        Self { terminals: 64, aio: false, memory_is_counted: true }
    }
}

/// The network namespace of a session behind walls. Without walls it is always the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkNamespace {
    /// Its own, with a loopback device and nothing else.
    Session,
    /// The host's, with everything that the host can reach, services on its loopback device included.
    Host,
}

/// A host path that is shown inside the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// The absolute path on the host.
    pub host: String,
    /// The absolute path inside the session.
    pub inside: String,
    /// Whether the host path may be missing.
    pub optional: bool,
}

/// A program to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// The id of the execution.
    pub execution: ExecutionId,
    /// The program and its arguments. A program without a slash is searched in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// The whole environment, as `NAME=value`.
    pub env: Vec<String>,
    /// The working directory: an absolute path inside the session.
    pub cwd: String,
    /// The source of standard input.
    pub stdin: StdinFrom,
    /// If given, input and output are a terminal of this size.
    pub tty: Option<TtySize>,
    /// Whether stdout and stderr share one pipe.
    pub merge_output: bool,
    /// Resource limits for each process.
    pub rlimits: Rlimits,
    /// The wall time after which the tree is stopped with [`Cause::TimedOut`].
    pub timeout_ms: Option<u64>,
    /// The time between SIGTERM and SIGKILL.
    pub grace_ms: u64,
    /// Whether to end the rest of the tree when the program itself has exited.
    pub kill_children: bool,
    /// How many `cgroup.procs` descriptors the message carries.
    pub cgroups: u8,
    /// A file that exists while the program runs.
    pub code_file: Option<CodeFile>,
    /// A directory to create in `/tmp`, for compiling code, that exists while the program runs. Created
    /// before the code file, which may be in it, and removed with its contents.
    pub scratch: Option<String>,
    /// Not used: always empty. It stays because removing it would change the format, and with it [`VERSION`].
    pub note: Vec<u8>,
}

/// Code that is too long to be an argument. init writes it before the program starts and removes it when the
/// program has exited, so that this works without a worker. The path must not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFile {
    /// A new path in `/tmp`, as seen inside the session.
    pub path: String,
    /// The contents of the file.
    pub text: String,
}

/// Resource limits for each process of a program; `None` leaves a limit unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimits {
    /// Sets `RLIMIT_NOFILE`.
    pub open_files: Option<u64>,
    /// Sets `RLIMIT_FSIZE`.
    pub file_bytes: Option<u64>,
    /// Sets `RLIMIT_CPU`, rounded up to seconds.
    pub cpu_ms: Option<u64>,
    /// Sets `RLIMIT_DATA`, in place of the memory limit where there is no cgroup.
    pub data_bytes: Option<u64>,
    /// Sets `RLIMIT_NPROC`, in place of the limit on processes where there is no cgroup.
    pub processes: Option<u64>,
}

/// The source of a program's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdinFrom {
    /// `/dev/null`, even if its output is a terminal.
    Null,
    /// A pipe or the terminal, of which the worker gets the other end.
    Open,
    /// The descriptor that the message carries.
    Fd,
}

/// The descriptors that a message carries, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fds {
    /// The read ends of the output pipes; then, if the input pipe is open, the input's buffer and the pipe's
    /// write end. The buffer is a file in memory: input goes through it by sendfile, which moves the file's
    /// offset together with the bytes, so the offset is always exactly what has been sent.
    Pipes {
        /// 2 for stdout and stderr, 1 if they share a pipe.
        outputs: u8,
        /// Whether the input's buffer and the write end come last.
        stdin: bool,
    },
    /// The terminal's master, the read and the write end of the relay pipe, and the input's buffer. Output is
    /// spliced from the master into the relay and from there to the log, so no output is ever only in the
    /// memory of a worker that may be killed.
    Tty,
    /// None: the worker has released them.
    None,
}

/// Which processes get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The program's process group; for a terminal, its foreground group.
    Group,
    /// Every process of the execution.
    Tree,
}

/// Why an execution was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// Its wall time ran out.
    TimedOut,
    /// A client cancelled it.
    Cancelled,
    /// It exceeded its output limit.
    OutputLimit,
    /// Its session exceeded its disk limit.
    DiskLimit,
}

/// How a program exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why init stopped it, if it did.
    pub cause: Option<Cause>,
    /// Exit time in Unix microseconds.
    pub at_us: u64,
    /// The wall time since the start, by the monotonic clock.
    pub duration_us: u64,
    /// The resources used by the program and the children that it waited for.
    pub usage: Usage,
}

/// Why a program could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFailure {
    /// The kind, for code.
    pub kind: StartFailureKind,
    /// The message, for people.
    pub message: String,
    /// The kernel's error number, or 0.
    pub errno: i32,
}

/// The kinds of start failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartFailureKind {
    /// The command does not exist.
    NotFound,
    /// The file exists but cannot be executed.
    NotExecutable,
    /// The working directory does not exist or is not a directory.
    BadCwd,
    /// Arguments and environment are too long.
    TooLong,
    /// The kernel is out of processes, memory or descriptors.
    NoResources,
    /// Any other failure.
    Other,
}

/// A wall that could not be built, and how to fix that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("cannot build the wall `{wall}`: {message}")]
pub struct WallFailure {
    /// The name of the wall.
    pub wall: String,
    /// What failed, and the kernel's error.
    pub message: String,
    /// The command or setting that fixes it.
    pub fix: String,
}
