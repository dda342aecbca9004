//! `headwater run`: its flags.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use headwater_protocol::units::parse_duration;
use headwater_protocol::{Children, OnOutputLimit};

use super::{LimitArgs, SandboxArg};

/// What `headwater run --help` says at its end.
const AFTER_HELP: &str = "\
Exit code: the program's own; 128+N if signal N ended it; 124 timed out; 130 cancelled; 137 out of memory; 127 the \
command was not found; 126 it cannot be executed; 123 output is missing in what was shown (the message says how much); 125 anything else (lost, a limit on output or disk, an error of \
headwater itself). 141 if whoever read our output went away: the program is then cancelled.

Ctrl+C cancels (SIGTERM, the grace, SIGKILL), a second one kills at once, a third one leaves. With --tty all keys go \
to the program. The output stays: `headwater logs ID`.";

/// Run a program, a shell line or code, and show its output live.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[allow(clippy::struct_excessive_bools)] // flags of a command line
pub struct RunArgs {
    /// In this session (its id, the beginning of it, or its name), instead of one of its own that ends with it
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// The argument is source text in this language (`-` reads it from standard input)
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "shell")]
    pub lang: Option<String>,
    /// The source text is in this file
    #[arg(long, value_name = "FILE", requires = "lang")]
    pub file: Option<PathBuf>,
    /// Save the source text at this path of the workspace, where it stays, and run it from there
    #[arg(long, value_name = "PATH", requires = "lang")]
    pub save: Option<String>,
    /// A line for the shell, instead of a program
    #[arg(long, value_name = "LINE", conflicts_with = "command")]
    pub shell: Option<String>,
    /// Give it a terminal
    #[arg(long, short)]
    pub tty: bool,
    /// End it after so long
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Between SIGTERM and SIGKILL [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub grace: Option<Duration>,
    /// A variable; without `=VALUE`, the value it has here
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,
    /// Its working directory [default: the workspace]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// What it reads: `none`, `open` (what is typed or piped here, or sent later), `-` (the same, all of it now if
    /// detached), `text:...`, or a file [default: `open`, but `none` if detached, in the background of a terminal, or
    /// if standard input is `/dev/null`]
    #[arg(long, value_name = "FROM")]
    pub stdin: Option<StdinArg>,
    /// Both outputs in one stream, in exact order
    #[arg(long)]
    pub merge: bool,
    /// What becomes of children that outlive it
    #[arg(long, value_name = "RULE", default_value = "keep")]
    pub children: ChildrenArg,
    /// What happens past the output limit
    #[arg(long, value_name = "RULE", default_value = "trim")]
    pub on_output_limit: OnOutputLimitArg,
    /// Print its id and leave it running
    #[arg(long, short)]
    pub detach: bool,
    /// With walls or without; refused if the running worker does otherwise
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<SandboxArg>,
    /// One JSON object a line for each event
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments; with --lang the source text and, after `--`, its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// What it may use.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// What becomes of children that outlive the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChildrenArg {
    /// They run on until the session ends
    Keep,
    /// They end with it
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

/// What happens past the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnOutputLimitArg {
    /// The head and a rolling tail are kept, the gap is stated
    Trim,
    /// The program is ended
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

/// Where a program's input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinArg {
    /// Nowhere.
    None,
    /// From our standard input, or from whoever attaches later.
    Open,
    /// From our standard input.
    Own,
    /// From this file.
    File(PathBuf),
    /// From the command line.
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
                std::env::var(text).map_err(|_| format!("`{text}` is not set here: write `{text}=VALUE`"))?,
            ),
        };
        if name.is_empty() {
            return Err(format!("`{text}` names no variable: write `NAME=VALUE`"));
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

impl Variable {
    /// All of them; the last of a name counts.
    pub fn collect(all: &[Self]) -> BTreeMap<String, String> {
        all.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect()
    }
}
