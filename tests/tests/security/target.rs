//! Targets of attacks: a worker with or without walls, as root or as an ordinary user, and the ways in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use headwater_contract::Client;
use headwater_protocol::{ExecutionId, Limits, SessionId, SessionSpec, StartSpec, TtySize};
use headwater_tests::{Collected, Options, TestWorker, Watcher, host};

/// Who runs the worker, and whether there are walls. Those without walls are the positive controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Walls that root built.
    Root,
    /// Walls that an ordinary user built: user namespaces alone, no cgroups.
    Ordinary,
    /// No walls, as root.
    OpenRoot,
    /// No walls, as an ordinary user.
    OpenOrdinary,
}

/// Both kinds of walls.
pub(crate) const WALLED: [Side; 2] = [Side::Root, Side::Ordinary];

/// The first of the host users that ordinary workers run as; each class of attacks has its own, so that no
/// attack meets another.
const FIRST_UID: u32 = 64_321;

impl Side {
    fn is_ordinary(self) -> bool {
        matches!(self, Self::Ordinary | Self::OpenOrdinary)
    }

    /// Whether walls stand.
    pub(crate) fn is_walled(self) -> bool {
        matches!(self, Self::Root | Self::Ordinary)
    }
}

/// The ways in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A program with arguments.
    Argv,
    /// A shell line.
    Shell,
    /// Code in a language.
    Python,
    /// The same in a terminal.
    Pty,
}

/// All of them.
pub(crate) const ENTRIES: [Entry; 4] = [Entry::Argv, Entry::Shell, Entry::Python, Entry::Pty];

const PYTHON: &str = "/usr/bin/python3";

impl Entry {
    /// Runs this Python text.
    pub(crate) fn spec(self, code: &str) -> StartSpec {
        match self {
            Self::Argv => StartSpec::argv([PYTHON, "-c", code]),
            Self::Shell => {
                StartSpec::shell(format!("{PYTHON} -c '{}'\nexit $?", code.replace('\'', r"'\''")))
            }
            Self::Python => StartSpec::code("python", code),
            Self::Pty => {
                let mut spec = StartSpec::code("python", code);
                spec.tty = Some(TtySize::default());
                spec
            }
        }
    }
}

/// A worker on one side, and a client of it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) side: Side,
    pub(crate) worker: TestWorker,
    pub(crate) client: Client,
    uid: u32,
}

impl Target {
    /// A worker on this side; `class` selects the ordinary user.
    pub(crate) async fn new(side: Side, class: u32) -> Result<Self> {
        Self::with(side, class, Options::default()).await
    }

    /// The same with more options.
    pub(crate) async fn with(side: Side, class: u32, options: Options) -> Result<Self> {
        assert!(rustix::process::geteuid().is_root(), "these tests are to be run as root");
        let uid = FIRST_UID + class;
        let options =
            Options { uid: side.is_ordinary().then_some(uid), no_walls: !side.is_walled(), ..options };
        let worker = TestWorker::with(options).await.with_context(|| format!("a worker for {side:?}"))?;
        let client = worker.client().await?;
        Ok(Self { side, worker, client, uid })
    }

    /// A session with these limits, and with defaults for the rest.
    pub(crate) async fn session(&self, limits: Limits) -> Result<SessionId> {
        let spec = SessionSpec { limits, ..SessionSpec::default() };
        Ok(self.client.create_session(None, &spec).await?.id)
    }

    /// Runs something in a session to the end.
    pub(crate) async fn run(&self, session: SessionId, spec: &StartSpec) -> Result<Collected> {
        self.worker.run_in(session, spec).await
    }

    /// Starts something and watches it.
    pub(crate) async fn start(&self, session: SessionId, spec: &StartSpec) -> Result<(ExecutionId, Watcher)> {
        let id = ExecutionId::random();
        self.client.start(session, Some(id), spec).await?;
        Ok((id, Watcher::new(&self.client, id).await?))
    }

    /// The user that programs of this session are on the host.
    pub(crate) fn host_uid(&self, session: SessionId) -> Result<u32> {
        Ok(match self.side {
            Side::OpenRoot => 0,
            Side::Ordinary | Side::OpenOrdinary => self.uid,
            Side::Root => std::os::unix::fs::MetadataExt::uid(&fs::metadata(self.worker.workspace(session))?),
        })
    }

    /// The user that runs the worker.
    pub(crate) const fn person(&self) -> u32 {
        match self.side {
            Side::Root | Side::OpenRoot => 0,
            Side::Ordinary | Side::OpenOrdinary => self.uid,
        }
    }

    /// Copies a program into a workspace, owned by the session's user.
    pub(crate) fn put(&self, session: SessionId, program: &Path, name: &str) -> Result<PathBuf> {
        let place = self.worker.workspace(session).join(name);
        fs::copy(program, &place)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        let uid = self.host_uid(session)?;
        chown(&place, Some(uid), Some(uid))?;
        Ok(place)
    }

    /// Ends a session and everything in it.
    pub(crate) async fn end(&self, session: SessionId) -> Result<()> {
        self.client.end_session(session, false).await?;
        Ok(())
    }
}

/// Checks that a session is served while another one attacks.
pub(crate) async fn neighbour_is_answered(target: &Target, neighbour: SessionId) -> Result<()> {
    for n in 0..5 {
        let seen = target.run(neighbour, &StartSpec::argv(["echo", &n.to_string()])).await?;
        anyhow::ensure!(seen.text() == format!("{n}\n"), "the neighbour got {seen:?}");
    }
    Ok(())
}

/// Compiles a C program on the host.
pub(crate) fn compile(folder: &Path, name: &str, source: &str) -> Result<PathBuf> {
    let (text, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&text, source)?;
    let done = Command::new("gcc").arg("-w").arg(&text).arg("-o").arg(&program).status()?;
    anyhow::ensure!(done.success(), "gcc cannot compile `{name}`");
    Ok(program)
}

/// The processes of the host that have this word among their arguments.
pub(crate) fn with_argument(word: &str) -> Vec<i32> {
    let has = |pid: &i32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        host::contains(&arguments, word.as_bytes()) && host::is_alive(*pid)
    };
    host::pids().into_iter().filter(has).collect()
}
