//! The arguments of `headwater run`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use headwater_protocol::units::parse_duration;
use headwater_protocol::{Children, OnOutputLimit, PlaceMode, SandboxKind};

use super::{LimitArgs, NetworkArg};

/// The end of `headwater run --help`.
const AFTER_HELP: &str = "\
Exit code (all: docs/cli.md): the program's own, or 128+N if signal N ended it. 123: part of the output is missing (the message says how \
much). 124: timed out. 125: any other failure (lost, output or disk limit, an error of headwater itself). 126: the \
command cannot be executed. 127: the command was not found. 130: cancelled. 137: out of memory. 141: the reader of \
our output closed it, and the program was cancelled.

Ctrl+C cancels the program (SIGTERM, then SIGKILL after the grace period), a second Ctrl+C kills it at once, a third \
one detaches. With --tty all keys go to the program. `headwater logs ID` shows the output again.";

/// `headwater run`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArgs {
    /// Run in this session (id, unique id prefix, or name) instead of a temporary one
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// The current folder as the workspace.
    #[command(flatten)]
    pub here: HereArgs,
    /// What to run, and how.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// A workspace that is a folder of this machine.
#[derive(Debug, Clone, Args)]
pub struct HereArgs {
    /// Run in the current folder, in place: it is the workspace, at its own path, and its files are changed directly
    #[arg(long, conflicts_with = "session")]
    pub here: bool,
    /// With --here: a further file or folder that programs may change
    #[arg(long, value_name = "PATH", requires = "here")]
    pub writable: Vec<PathBuf>,
}

/// `headwater exec`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ExecArgs {
    /// Session id, unique id prefix, or name
    pub session: String,
    /// What to run, and how.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// What `run` and `exec` run, and how.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is a flag
pub struct ProgramArgs {
    /// Treat the argument as source code in this language (`-` reads it from standard input)
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "shell")]
    pub lang: Option<String>,
    /// Read the source code from this file; without --lang its suffix determines the language
    #[arg(long, value_name = "FILE", conflicts_with = "shell")]
    pub file: Option<PathBuf>,
    /// Save the source code at this path in the workspace, run it from there and keep it
    #[arg(long, value_name = "PATH", conflicts_with = "shell")]
    pub save: Option<String>,
    /// Run this shell command instead of a program
    #[arg(long, value_name = "LINE", conflicts_with = "command")]
    pub shell: Option<String>,
    /// Allocate a terminal
    #[arg(long, short)]
    pub tty: bool,
    /// Wall-clock limit, such as `30s`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Grace period between SIGTERM and SIGKILL [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub grace: Option<Duration>,
    /// Environment variable; without `=VALUE`, its current value here
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,
    /// Working directory [default: the workspace]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Standard input of the program: `none`, `open` (typed or piped here, or sent later), `-` (the same, but read in
    /// full first with --detach), `text:...`, or a file [default: `open`; `none` with --detach, as a background job,
    /// or if our standard input is `/dev/null`]
    #[arg(long, value_name = "FROM")]
    pub stdin: Option<StdinArg>,
    /// Merge standard output and standard error into one stream, in exact order
    #[arg(long)]
    pub merge: bool,
    /// What happens to child processes that outlive the program
    #[arg(long, value_name = "RULE", default_value = "keep")]
    pub children: ChildrenArg,
    /// What happens when the output limit is reached
    #[arg(long, value_name = "RULE", default_value = "trim")]
    pub on_output_limit: OnOutputLimitArg,
    /// Network of the temporary session: `none`, `packages` or `full`, as far as the server allows it
    #[arg(long, value_name = "ACCESS", conflicts_with = "session")]
    pub network: Option<NetworkArg>,
    /// Print the execution id and leave it running
    #[arg(long, short)]
    pub detach: bool,
    /// Require the sandbox `full` or `none`; refused if the running worker uses the other one. With --here: what may be
    /// changed [default: `workspace-write`]
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<ProgramSandboxArg>,
    /// Print each event as a JSON object on one line
    #[arg(long)]
    pub json: bool,
    /// Program and arguments; with --lang: the source code and, after `--`, its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// The limits of the execution or its temporary session.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The isolation of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgramSandboxArg {
    /// Full isolation
    Full,
    /// No isolation: programs can do whatever the user who runs them can
    None,
    /// With --here: nothing but /tmp may be changed
    ReadOnly,
    /// With --here: the current folder and --writable paths may be changed
    WorkspaceWrite,
    /// With --here: no isolation at all; programs can do whatever you can
    DangerFullAccess,
}

impl ProgramSandboxArg {
    /// The mode of an in-place session, or else the sandbox of the worker.
    pub const fn mode(self) -> Result<PlaceMode, SandboxKind> {
        match self {
            Self::Full => Err(SandboxKind::Full),
            Self::None => Err(SandboxKind::None),
            Self::ReadOnly => Ok(PlaceMode::ReadOnly),
            Self::WorkspaceWrite => Ok(PlaceMode::WorkspaceWrite),
            Self::DangerFullAccess => Ok(PlaceMode::DangerFullAccess),
        }
    }
}

/// What happens to child processes that outlive the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChildrenArg {
    /// Keep them running until the session ends
    Keep,
    /// End them with the program
    Kill,
}

impl From<ChildrenArg> for Children {
    fn from(arg: ChildrenArg) -> Self {
        match arg {
            ChildrenArg::Keep => Self::Keep,
            ChildrenArg::Kill => Self::Kill,
        }
    }
}

/// What happens when the output limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnOutputLimitArg {
    /// Keep the beginning and a rolling end, and report the gap
    Trim,
    /// End the program
    Stop,
}

impl From<OnOutputLimitArg> for OnOutputLimit {
    fn from(arg: OnOutputLimitArg) -> Self {
        match arg {
            OnOutputLimitArg::Trim => Self::Trim,
            OnOutputLimitArg::Stop => Self::Stop,
        }
    }
}

/// The standard input of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinArg {
    /// No input.
    None,
    /// Our standard input, or that of clients that attach later.
    Open,
    /// Our standard input.
    Own,
    /// The content of this file.
    File(PathBuf),
    /// This text, and nothing else.
    Text(String),
}

impl FromStr for StdinArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "none" => Self::None,
            "open" => Self::Open,
            "-" => Self::Own,
            _ => match text.strip_prefix("text:") {
                Some(text) => Self::Text(text.to_owned()),
                None => Self::File(text.into()),
            },
        })
    }
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    name: String,
    value: String,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (
                text,
                std::env::var(text)
                    .map_err(|_| format!("`{text}` is not set in this environment: write `{text}=VALUE`"))?,
            ),
        };
        if name.is_empty() {
            return Err(format!("`{text}` has no variable name: write `NAME=VALUE`"));
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

impl Variable {
    /// Collects variables; the last one of a name wins.
    pub fn collect(all: &[Self]) -> BTreeMap<String, String> {
        all.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect()
    }
}
