//! What somebody asks to be run.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{LimitError, Limits};

/// The program: one of three ways to say it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program and its arguments, looked up in `PATH`.
    Argv(Vec<String>),
    /// A line for the shell.
    Shell(String),
    /// Source text in a language of the registry.
    Code {
        /// The language's name.
        language: String,
        /// The source text.
        code: String,
        /// A path in the workspace where the code is saved before it runs, and stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Arguments of the code.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
    },
}

/// Commands up to this size are told whole.
const LONG_BYTES: usize = 100 << 10;
/// So much of longer ones.
const SHORT_BYTES: usize = 4 << 10;

impl Command {
    /// Leaves out most of a command that is long: it is not kept in memory for ever, and many of them are told in one
    /// list. Answers whether it did.
    pub fn shorten(&mut self) -> bool {
        match self {
            Self::Argv(argv) => shorten_list(argv),
            Self::Shell(line) => shorten_text(line),
            Self::Code { code, args, .. } => shorten_text(code) | shorten_list(args),
        }
    }
}

fn shorten_text(text: &mut String) -> bool {
    if text.len() <= LONG_BYTES {
        return false;
    }
    let begin = text.get(..text.floor_char_boundary(SHORT_BYTES)).unwrap_or_default();
    *text = format!("{begin}\n[{} bytes in all]", text.len());
    true
}

fn shorten_list(list: &mut Vec<String>) -> bool {
    let bytes: usize = list.iter().map(|text| text.len() + 1).sum();
    if bytes <= LONG_BYTES {
        return false;
    }
    let mut so_far = 0;
    let fits = |text: &&String| {
        so_far += text.len() + 1;
        so_far <= SHORT_BYTES
    };
    let kept = list.iter().take_while(fits).count();
    list.truncate(kept);
    list.push(format!("[{bytes} bytes in all]"));
    true
}

/// What the program reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Nothing: the end of the file at once.
    #[default]
    None,
    /// These bytes, then the end of the file.
    Given(Bytes),
    /// What is written to it later, until its end is sent.
    Open,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TtySize {
    /// Lines.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535))]
    pub rows: u16,
    /// Columns.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535))]
    pub cols: u16,
}

impl Default for TtySize {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

/// What becomes of children that outlive the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Children {
    /// They run on, visible, until the session ends.
    #[default]
    Keep,
    /// They are ended with the program.
    Kill,
}

/// What happens when more is printed than is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnOutputLimit {
    /// The head and a rolling tail are kept; the gap is stated.
    #[default]
    Trim,
    /// The program is ended with the reason `output_limit`.
    Stop,
}

/// A request to run something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartSpec {
    /// What to run.
    pub command: Command,
    /// Where; relative to the workspace, which is the default.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables added to the session's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What it reads.
    #[serde(default)]
    pub stdin: Stdin,
    /// A terminal of this size instead of pipes.
    #[serde(default)]
    pub tty: Option<TtySize>,
    /// Both outputs in one stream, in exact order.
    #[serde(default)]
    pub merge_output: bool,
    /// How long it may run.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Between SIGTERM and SIGKILL; 5 s unless told.
    #[serde(default)]
    pub grace_ms: Option<u64>,
    /// Lower limits than the session's.
    #[serde(default)]
    pub limits: Limits,
    /// What becomes of children that outlive it.
    #[serde(default)]
    pub children: Children,
    /// What happens past the output limit.
    #[serde(default)]
    pub on_output_limit: OnOutputLimit,
    /// Anything the caller wants to find again.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// Why a request cannot be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No program.
    #[error("the command is empty")]
    EmptyCommand,
    /// C strings end at a zero byte.
    #[error("{what} contains a zero byte")]
    ZeroByte {
        /// Which part.
        what: String,
    },
    /// Not a name that `environ` can carry.
    #[error("`{name}` cannot name an environment variable")]
    BadVariable {
        /// The name.
        name: String,
    },
    /// More than is kept and told again with every list.
    #[error("{what} has {bytes} bytes: {most} are the most")]
    TooLarge {
        /// Which part.
        what: &'static str,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        most: usize,
    },
    /// See [`Limits::nonsense`].
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// A terminal of no size shows nothing.
    #[error("a terminal needs at least one row and one column")]
    EmptyTerminal,
}

impl StartSpec {
    /// A spec with defaults for everything but the command.
    pub fn new(command: Command) -> Self {
        Self {
            command,
            cwd: None,
            env: BTreeMap::new(),
            stdin: Stdin::None,
            tty: None,
            merge_output: false,
            timeout_ms: None,
            grace_ms: None,
            limits: Limits::default(),
            children: Children::Keep,
            on_output_limit: OnOutputLimit::Trim,
            metadata: BTreeMap::new(),
        }
    }

    /// A spec that runs a program with arguments.
    pub fn argv<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self::new(Command::Argv(argv.into_iter().map(Into::into).collect()))
    }

    /// A spec that runs a shell line.
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(Command::Shell(line.into()))
    }

    /// A spec that runs source text.
    pub fn code(language: impl Into<String>, code: impl Into<String>) -> Self {
        Self::new(Command::Code {
            language: language.into(),
            code: code.into(),
            file: None,
            args: Vec::new(),
        })
    }

    /// Checks what can be known without the session.
    pub fn check(&self) -> Result<(), SpecError> {
        match &self.command {
            Command::Argv(argv) => {
                if argv.first().is_none_or(String::is_empty) {
                    return Err(SpecError::EmptyCommand);
                }
                for (n, arg) in argv.iter().enumerate() {
                    no_zero(arg, || format!("argument {n}"))?;
                }
            }
            Command::Shell(line) => no_zero(line, || "the shell line".into())?,
            Command::Code { code, file, args, .. } => {
                no_zero(code, || "the code".into())?;
                no_zero(file.as_deref().unwrap_or_default(), || "the file's path".into())?;
                for (n, arg) in args.iter().enumerate() {
                    no_zero(arg, || format!("argument {n}"))?;
                }
            }
        }
        check_env(&self.env)?;
        check_metadata(&self.metadata)?;
        if let Some(cwd) = &self.cwd {
            no_zero(cwd, || "the working directory".into())?;
        }
        if self.tty.is_some_and(|size| size.rows == 0 || size.cols == 0) {
            return Err(SpecError::EmptyTerminal);
        }
        self.limits.nonsense().map_or(Ok(()), |wrong| Err(wrong.into()))
    }
}

fn no_zero(text: &str, what: impl FnOnce() -> String) -> Result<(), SpecError> {
    if text.contains('\0') { Err(SpecError::ZeroByte { what: what() }) } else { Ok(()) }
}

/// The most bytes of a session's name, of all metadata of one thing, and of its environment. The last is far below what
/// the kernel takes together with the arguments.
const MAX_NAME_BYTES: usize = 512;
const MAX_METADATA_BYTES: usize = 64 << 10;
const MAX_ENV_BYTES: usize = 512 << 10;

fn no_more_than(what: &'static str, bytes: usize, most: usize) -> Result<(), SpecError> {
    if bytes > most { Err(SpecError::TooLarge { what, bytes, most }) } else { Ok(()) }
}

fn bytes_of(pairs: &BTreeMap<String, String>) -> usize {
    pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Checks the size of a name.
pub(crate) fn check_name(name: Option<&str>) -> Result<(), SpecError> {
    no_more_than("the name", name.map_or(0, str::len), MAX_NAME_BYTES)
}

/// Checks the size of metadata.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), SpecError> {
    no_more_than("the metadata", bytes_of(metadata), MAX_METADATA_BYTES)
}

/// Checks the names and values of environment variables.
pub(crate) fn check_env(env: &BTreeMap<String, String>) -> Result<(), SpecError> {
    no_more_than("the environment", bytes_of(env), MAX_ENV_BYTES)?;
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(SpecError::BadVariable { name: name.clone() });
        }
        no_zero(value, || format!("the variable `{name}`"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_exec_cannot_take_are_refused_by_name() {
        let empty = StartSpec::argv(Vec::<String>::new());
        assert_eq!(empty.check(), Err(SpecError::EmptyCommand));
        let zero = StartSpec::argv(["echo", "a\0b"]);
        assert!(zero.check().unwrap_err().to_string().contains("argument 1"));
        let mut bad = StartSpec::shell("true");
        bad.env.insert("A=B".into(), "x".into());
        assert!(matches!(bad.check(), Err(SpecError::BadVariable { .. })));
    }

    #[test]
    fn a_long_command_is_shown_by_its_beginning() {
        let mut short = [Command::Shell("é".repeat(LONG_BYTES / 2)), Command::Argv(vec!["a".into(); 100])];
        assert!(short.iter_mut().all(|command| !command.shorten()));
        let long = "é".repeat(LONG_BYTES);
        let arguments =
            || std::iter::once("ls".to_owned()).chain((0..1000).map(|_| "y".repeat(999))).collect();
        let code = Command::Code { language: "x".into(), code: long.clone(), file: None, args: arguments() };
        for mut command in
            [Command::Shell(long.clone()), Command::Argv(arguments()), Command::Argv(vec![long]), code]
        {
            assert!(command.shorten() && !command.clone().shorten());
            let text = serde_json::to_string(&command).unwrap();
            assert!(text.len() < 3 * SHORT_BYTES && text.contains(" bytes in all]"), "{text}");
        }
    }

    #[test]
    fn fields_in_lists_are_bounded() {
        let of = |bytes: usize| BTreeMap::from([("a".to_owned(), "x".repeat(bytes - 1))]);
        let (mut start, mut session) = (StartSpec::shell("true"), crate::SessionSpec::default());
        (start.metadata, start.env) = (of(MAX_METADATA_BYTES), of(MAX_ENV_BYTES));
        (session.metadata, session.env) = (start.metadata.clone(), start.env.clone());
        session.name = Some("x".repeat(MAX_NAME_BYTES));
        assert_eq!((start.check(), session.check()), (Ok(()), Ok(())));
        let too_large = |result: Result<(), SpecError>| matches!(result, Err(SpecError::TooLarge { .. }));
        start.metadata = of(MAX_METADATA_BYTES + 1);
        session.metadata.clone_from(&start.metadata);
        assert!(too_large(start.check()) && too_large(session.check()));
        (start.metadata, start.env) = (BTreeMap::new(), of(MAX_ENV_BYTES + 1));
        (session.metadata, session.env) = (BTreeMap::new(), start.env.clone());
        assert!(too_large(start.check()) && too_large(session.check()));
        (session.env, session.name) = (BTreeMap::new(), Some("x".repeat(MAX_NAME_BYTES + 1)));
        assert!(too_large(session.check()));
    }
}
