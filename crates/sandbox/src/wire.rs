//! What the worker and init say to each other.
//!
//! Messages are postcard over a `SOCK_SEQPACKET` unix socket, one message a packet, at most [`INLINE_BYTES`];
//! a longer one travels in a sealed memfd that is the packet's last descriptor. Descriptors travel with
//! `SCM_RIGHTS`. Both ends are the same binary or, across an upgrade, two versions of it: hence [`VERSION`].

use serde::{Deserialize, Serialize};

use headwater_protocol::{ExecutionId, Process, SandboxKind, SessionId, TtySize, Usage};

/// Raised when a message changes its meaning. A worker that finds another version in an init adopts nothing from
/// it: it ends that init, the executions end as `lost`, and the session sleeps on its workspace.
pub const VERSION: u32 = 5;

/// The longest message that travels in a packet itself.
pub const INLINE_BYTES: usize = 64 * 1024;

/// The most descriptors that one message carries: an input and a cgroup file for each controller of a v1 host.
pub const MAX_FDS: usize = 8;

/// From the worker to init.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToInit {
    /// The first message to a new init: build the walls. Answered by `Ready` or `SetupFailed`.
    Setup(Box<Setup>),
    /// The first message of a worker that comes back. Answered by `Hello`, then one `Adopt` for each execution.
    Hello,
    /// Run a program. Answered by `Started` or `StartFailed`. Carries the descriptor that the program gets as its
    /// standard input if `stdin` is `Fd`, then, if `cgroups` is not 0, so many `cgroup.procs` files opened for
    /// writing, into which the program puts itself before it runs.
    Start(Box<Start>),
    /// Send a signal.
    Signal {
        /// To this execution.
        execution: ExecutionId,
        /// Its number.
        signal: i32,
        /// To whom in it.
        target: Target,
    },
    /// End the whole tree: SIGTERM (and SIGCONT), the grace, SIGKILL. The first cause given is the one reported.
    Stop {
        /// This execution.
        execution: ExecutionId,
        /// Why.
        cause: Cause,
        /// Between SIGTERM and SIGKILL.
        grace_ms: u64,
    },
    /// No more input will come: drop init's duplicates of the input pipe and of its buffer.
    CloseStdin {
        /// Of this execution.
        execution: ExecutionId,
    },
    /// The worker has the exit in its log: no need to tell it again.
    ExitLogged {
        /// Of this execution.
        execution: ExecutionId,
    },
    /// The worker needs this execution's descriptors no more: no writer is left, or nobody wants to know.
    Release {
        /// This execution.
        execution: ExecutionId,
    },
    /// Which processes are there? Answered by `Processes`.
    Processes {
        /// Of this execution.
        execution: ExecutionId,
    },
    /// Listen on this port of 127.0.0.1 inside, for as long as the session lives. Answered by `Listening`, with the same
    /// socket each time, or by `ListenFailed`.
    Listen {
        /// In the session's own network.
        port: u16,
    },
    /// End all programs and yourself.
    End,
}

/// From init to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromInit {
    /// The walls stand. Sent by pid 1 itself.
    Ready {
        /// See [`VERSION`].
        version: u32,
    },
    /// They do not, and nothing will run.
    SetupFailed(WallFailure),
    /// Answer to `Hello`; so many `Adopt` messages follow.
    Hello {
        /// See [`VERSION`].
        version: u32,
        /// Whose init this is.
        session: SessionId,
        /// How many executions follow.
        executions: u32,
    },
    /// An execution that the worker may have forgotten, with the same descriptors as `Started`.
    Adopt {
        /// Which.
        execution: ExecutionId,
        /// Its process id inside.
        pid: i32,
        /// When it was started: unix microseconds.
        started_at_us: u64,
        /// Which descriptors come with this.
        fds: Fds,
        /// How it ended, if it has and the worker has not logged it.
        exit: Option<Exit>,
        /// What `Start` said of it.
        note: Vec<u8>,
    },
    /// The program runs (it has passed exec). Carries the worker's descriptors.
    Started {
        /// Which.
        execution: ExecutionId,
        /// Its process id inside.
        pid: i32,
        /// Unix microseconds.
        started_at_us: u64,
        /// Which descriptors come with this.
        fds: Fds,
    },
    /// The program never ran. Nothing of it is left.
    StartFailed {
        /// Which.
        execution: ExecutionId,
        /// Why.
        failure: StartFailure,
    },
    /// The program itself has ended (its children may not have).
    Exited {
        /// Which.
        execution: ExecutionId,
        /// How.
        exit: Exit,
    },
    /// The processes that belong to an execution, its program first if it still runs.
    Processes {
        /// Which.
        execution: ExecutionId,
        /// They.
        processes: Vec<Process>,
    },
    /// Answer to `Listen`, with the listening socket: whoever holds it accepts.
    Listening,
    /// There is no such socket.
    ListenFailed {
        /// The kernel's error number.
        errno: i32,
    },
}

/// How to build a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// Whose init this is.
    pub session: SessionId,
    /// Walls, or none.
    pub sandbox: SandboxKind,
    /// The host user and group that the session's processes run as, when the worker is root; else the worker's own.
    pub host_uid: Option<u32>,
    /// The workspace on the host, an absolute path. With walls it appears as `/workspace`.
    pub workspace: String,
    /// Host paths bound read-only besides the system folders, at the same place inside unless told otherwise.
    pub binds: Vec<Bind>,
    /// Size of `/tmp` and of `/dev/shm`, each.
    pub tmp_bytes: u64,
    /// Files and folders in each of them.
    pub tmp_inodes: u64,
    /// How long init waits for a worker to come back before it ends itself.
    pub orphan_timeout_ms: u64,
    /// Whose network it is in.
    pub network: NetworkOf,
    /// What it may take of the kernel's shared resources.
    pub kernel: KernelLimits,
}

/// What a session with walls may take of resources that the whole host shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLimits {
    /// Terminals that are open at once, those of the worker among them: the host has 4096 in all unless told otherwise.
    pub terminals: u32,
    /// Whether programs may use kernel AIO (`io_setup`): one program can take all contexts of the host.
    pub aio: bool,
    /// Whether a cgroup counts the session's memory. If none does, memory that no resource limit counts is refused:
    /// `memfd_create` and large System V segments.
    pub memory_is_counted: bool,
}

impl Default for KernelLimits {
    fn default() -> Self {
        Self { terminals: 64, aio: false, memory_is_counted: true }
    }
}

/// Whose network a session with walls is in. Without walls it is always the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkOf {
    /// Its own: a loopback device and nothing else.
    Session,
    /// The host's: everything that the host reaches, its loopback services among it.
    Host,
}

/// A host path shown inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// On the host, absolute.
    pub host: String,
    /// Inside, absolute.
    pub inside: String,
    /// A missing host path is no failure.
    pub optional: bool,
}

/// A program to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// Its execution.
    pub execution: ExecutionId,
    /// The program and its arguments; the program is looked up in `PATH` of `env` unless it contains a slash.
    pub argv: Vec<String>,
    /// The whole environment, `NAME=value`.
    pub env: Vec<String>,
    /// Absolute, as seen inside.
    pub cwd: String,
    /// Where its input comes from.
    pub stdin: StdinFrom,
    /// A terminal of this size as its input and output.
    pub tty: Option<TtySize>,
    /// Both outputs in one pipe.
    pub merge_output: bool,
    /// Resource limits of each process.
    pub rlimits: Rlimits,
    /// Wall time until the tree is stopped with [`Cause::TimedOut`].
    pub timeout_ms: Option<u64>,
    /// Between SIGTERM and SIGKILL.
    pub grace_ms: u64,
    /// End what is left of the tree when the program itself has ended.
    pub kill_children: bool,
    /// How many `cgroup.procs` descriptors follow.
    pub cgroups: u8,
    /// A file that is there for as long as the program runs.
    pub code_file: Option<CodeFile>,
    /// A new folder in `/tmp`, as seen inside, that is there for as long as the program runs: where code is compiled.
    /// Made before the code's file, which may be in it; removed with all that is in it.
    pub scratch: Option<String>,
    /// Kept by init and told again in `Adopt`: what the worker needs to take the execution up again.
    pub note: Vec<u8>,
}

/// Code that is too long to be an argument. Init writes it before the program starts, where nothing may be yet, and
/// removes it when the program has ended, so that it needs no worker for that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFile {
    /// As seen inside: a new name in `/tmp`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Resource limits of each process of a program; absent means unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimits {
    /// `RLIMIT_NOFILE`.
    pub open_files: Option<u64>,
    /// `RLIMIT_FSIZE`.
    pub file_bytes: Option<u64>,
    /// `RLIMIT_CPU`, rounded up to seconds.
    pub cpu_ms: Option<u64>,
    /// `RLIMIT_DATA`: stands in for the memory limit where there is no cgroup.
    pub data_bytes: Option<u64>,
    /// `RLIMIT_NPROC`: stands in for the limit on processes where there is no cgroup.
    pub processes: Option<u64>,
}

/// Where a program's input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdinFrom {
    /// `/dev/null`, also when its output is a terminal.
    Null,
    /// A pipe (or the terminal) whose other end the worker gets.
    Open,
    /// The descriptor that came with the message.
    Fd,
}

/// Which descriptors come with a message, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fds {
    /// Reading ends of the output pipes; then, if there is an input pipe and it is open, the input's buffer and the
    /// pipe's writing end. The buffer is a file in memory: input goes through it by sendfile, which moves the file's
    /// offset together with the bytes, so that the offset is always exactly what has been sent.
    Pipes {
        /// stdout and stderr, or one for both.
        outputs: u8,
        /// Whether the input's buffer and writing end come last.
        stdin: bool,
    },
    /// The terminal's master, the reading and the writing end of the relay pipe, and the input's buffer. Output goes
    /// from the master into the relay and from there to the log, both by splice, so that a killed worker has none of it
    /// only in memory.
    Tty,
    /// None any more: the worker had released them.
    None,
}

/// Who gets a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The program's process group; for a terminal, the group in its foreground.
    Group,
    /// Every process of the execution, wherever it has gone.
    Tree,
}

/// Why init was told (or decided) to stop an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// Its wall time ran out.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
    /// It printed more than it may.
    OutputLimit,
    /// Its session used more disk than it may.
    DiskLimit,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its code, if it returned one.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Why init stopped it, if init did.
    pub cause: Option<Cause>,
    /// Unix microseconds.
    pub at_us: u64,
    /// Wall time since its start, by the monotonic clock.
    pub duration_us: u64,
    /// Of the program and the children it waited for.
    pub usage: Usage,
}

/// Why a program never ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFailure {
    /// The kind, for programs.
    pub kind: StartFailureKind,
    /// For people: names the thing.
    pub message: String,
    /// The kernel's error number, or 0.
    pub errno: i32,
}

/// The kinds of reasons why a program never ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartFailureKind {
    /// No such command.
    NotFound,
    /// It is there but cannot be executed.
    NotExecutable,
    /// The working directory is missing or not one.
    BadCwd,
    /// Arguments and environment are too long.
    TooLong,
    /// No process, memory or descriptor to be had.
    NoResources,
    /// Anything else.
    Other,
}

/// Which wall could not be built, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("cannot build the wall `{wall}`: {message}")]
pub struct WallFailure {
    /// The wall.
    pub wall: String,
    /// What the kernel said, of what.
    pub message: String,
    /// The command or setting that mends it.
    pub fix: String,
}
