//! Support for tests of the walls: a workspace, and scripts that run inside, in sessions of root and of an
//! ordinary user. Run these tests as root, which can become an ordinary user.

#![allow(dead_code)] // each test binary uses its part

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use headwater_protocol::{SandboxKind, SessionId};
use headwater_sandbox::wire::Setup;
use tempfile::TempDir;

/// The user who starts the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starter {
    /// Root, which gives the session a dedicated host user.
    Root,
    /// An ordinary user, who only has user namespaces.
    Ordinary,
}

/// Both ways to start a session.
pub(crate) const BOTH: [Starter; 2] = [Starter::Root, Starter::Ordinary];

impl Starter {
    /// The host user of the session's processes.
    pub(crate) fn host_uid(self) -> u32 {
        match self {
            Self::Root => 65_001,
            Self::Ordinary => 65_533,
        }
    }
}

/// The path of the example `walled`, built by the same cargo as the tests.
pub(crate) fn walled() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "headwater-sandbox", "--example", "walled"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let built = cargo.status().expect("cargo runs");
        assert!(built.success(), "the example `walled` does not build");
        let deps = std::env::current_exe().expect("a test knows itself");
        deps.ancestors().nth(2).expect("tests are in target/*/deps").join("examples/walled")
    })
}

/// The output of a script inside, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) text: String,
    pub(crate) status: String,
}

impl Ran {
    /// The output of a script that must have succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, "0", "the script failed:\n{}", self.text);
        self.text
    }
}

/// A folder with a workspace that belongs to the session's host user.
pub(crate) struct TestSession {
    folder: TempDir,
    starter: Starter,
    options: Vec<String>,
}

impl TestSession {
    pub(crate) fn new(starter: Starter) -> Self {
        assert!(rustix::process::geteuid().is_root(), "these tests are to be run as root");
        let folder = TempDir::new().expect("a folder");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
        std::fs::create_dir(folder.path().join("ws")).expect("a workspace");
        let uid = starter.host_uid();
        chown(folder.path().join("ws"), Some(uid), Some(uid)).expect("an owner");
        Self { folder, starter, options: Vec::new() }
    }

    /// A path on the host beside the workspace, invisible to the session.
    pub(crate) fn host(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the workspace, as the host sees it.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        self.folder.path().join("ws").join(name)
    }

    /// Adds options for `walled`.
    #[must_use]
    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// The command that runs `script` inside.
    pub(crate) fn command(&self, script: &str) -> Command {
        let mut command = self.bare();
        command.args(["bash", "-c", script]);
        command
    }

    /// Launches a real init as the starter would; returns its status on the host.
    pub(crate) fn launch(&self) -> Ran {
        collect(self.bare())
    }

    /// `walled` with its options, for this starter.
    fn bare(&self) -> Command {
        let mut command = Command::new(walled());
        command.args(&self.options);
        match self.starter {
            Starter::Root => {
                command.arg("--uid").arg(self.starter.host_uid().to_string());
            }
            Starter::Ordinary => {
                command.uid(self.starter.host_uid()).gid(self.starter.host_uid());
            }
        }
        command.arg(self.folder.path().join("ws"));
        command
    }

    /// Runs a script inside and waits until it and its descendants have ended.
    pub(crate) fn run(&self, script: &str) -> Ran {
        collect(self.command(&format!("exec 2>&1\n{script}")))
    }

    /// The setup of this session, for `launch`.
    pub(crate) fn setup(&self) -> Setup {
        Setup {
            session: SessionId::random(),
            sandbox: SandboxKind::Full,
            host_uid: Some(self.starter.host_uid()),
            workspace: self.folder.path().join("ws").to_str().expect("UTF-8").to_owned(),
            place: None,
            binds: Vec::new(),
            tmp_bytes: 16 << 20,
            tmp_inodes: 1024,
            orphan_timeout_ms: 5000,
            network: headwater_sandbox::wire::NetworkNamespace::Session,
            kernel: headwater_sandbox::wire::KernelLimits::default(),
        }
    }
}

/// Runs a command and parses `walled`'s last line.
pub(crate) fn collect(mut command: Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().expect("walled runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (text, status) = match text.trim_end().rsplit_once("status=") {
        Some((text, status)) => (text.to_owned(), status.to_owned()),
        None => (text, String::from("no walls")),
    };
    Ran { text, status }
}
