//! Parameters of an execution.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{LimitError, Limits};

/// The command, in one of three forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program and its arguments, searched in `PATH`.
    Argv(Vec<String>),
    /// A shell command line.
    Shell(String),
    /// Source code in a language of the registry.
    Code {
        /// The name of the language.
        language: String,
        /// The source code.
        code: String,
        /// A path in the workspace where the code is saved before it runs, and kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Arguments for the code.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
    },
}

/// Commands up to this size are returned whole.
const MAX_COMMAND_BYTES: usize = 100 << 10;
/// How much of a longer command is returned.
const SHORTENED_BYTES: usize = 4 << 10;

impl Command {
    /// Shortens a long command: it is not kept in memory for ever, and many of them are returned in one list.
    /// Returns whether it did.
    pub fn shorten(&mut self) -> bool {
        match self {
            Self::Argv(argv) => shorten_list(argv),
            Self::Shell(line) => shorten_text(line),
            Self::Code { code, args, .. } => shorten_text(code) | shorten_list(args),
        }
    }

    /// Whether [`Self::shorten`] has cut it, so that it can no longer run.
    #[must_use]
    pub fn is_shortened(&self) -> bool {
        let last = match self {
            Self::Argv(argv) => argv.last(),
            Self::Shell(line) => Some(line),
            Self::Code { code, args, .. } => args.last().filter(|arg| ends_cut(arg)).or(Some(code)),
        };
        last.is_some_and(|text| ends_cut(text))
    }
}

/// Whether the last line is the one that replaces what was cut.
fn ends_cut(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let size = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(" bytes in all]"));
    size.and_then(|size| size.parse::<usize>().ok()).is_some_and(|size| size > MAX_COMMAND_BYTES)
}

fn shorten_text(text: &mut String) -> bool {
    if text.len() <= MAX_COMMAND_BYTES {
        return false;
    }
    let begin = text.get(..text.floor_char_boundary(SHORTENED_BYTES)).unwrap_or_default();
    *text = format!("{begin}\n[{} bytes in all]", text.len());
    true
}

fn shorten_list(list: &mut Vec<String>) -> bool {
    let bytes: usize = list.iter().map(|text| text.len() + 1).sum();
    if bytes <= MAX_COMMAND_BYTES {
        return false;
    }
    let mut so_far = 0;
    let fits = |text: &&String| {
        so_far += text.len() + 1;
        so_far <= SHORTENED_BYTES
    };
    let kept = list.iter().take_while(fits).count();
    list.truncate(kept);
    list.push(format!("[{bytes} bytes in all]"));
    true
}

/// Standard input of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Empty: end of file at once.
    #[default]
    None,
    /// These bytes, then end of file.
    Given(Bytes),
    /// Written later, until it is closed.
    Open,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"rows": 24, "cols": 80}))))]
pub struct TtySize {
    /// The number of rows.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535))]
    pub rows: u16,
    /// The number of columns.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535))]
    pub cols: u16,
}

impl Default for TtySize {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

/// What happens to child processes that outlive the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Children {
    /// They keep running until the session ends.
    #[default]
    Keep,
    /// They are killed with the program.
    Kill,
}

/// What happens when the output limit is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnOutputLimit {
    /// The beginning and the newest output are kept, with a gap in between.
    #[default]
    Trim,
    /// The program is stopped with the reason `output_limit`.
    Stop,
}

/// The parameters of an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartSpec {
    /// The command to run.
    pub command: Command,
    /// The working directory, relative to the workspace, which is the default.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Environment variables in addition to the session's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Standard input.
    #[serde(default)]
    pub stdin: Stdin,
    /// Use a terminal of this size instead of pipes.
    #[serde(default)]
    pub tty: Option<TtySize>,
    /// Merge stdout and stderr into one stream, in exact order.
    #[serde(default)]
    pub merge_output: bool,
    /// The longest time that it may run.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// The time between SIGTERM and SIGKILL; 5 s by default.
    #[serde(default)]
    pub grace_ms: Option<u64>,
    /// Limits, lower than the session's.
    #[serde(default)]
    pub limits: Limits,
    /// What happens to child processes that outlive the program.
    #[serde(default)]
    pub children: Children,
    /// What happens when the output limit is reached.
    #[serde(default)]
    pub on_output_limit: OnOutputLimit,
    /// Metadata for the client's own use.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// Why a spec is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The command is empty.
    #[error("the command is empty")]
    EmptyCommand,
    /// A zero byte, which no C string can contain.
    #[error("{what} contains a zero byte")]
    ZeroByte {
        /// The part of the spec.
        what: String,
    },
    /// The name cannot be used in the environment.
    #[error("`{name}` is not a valid name of an environment variable")]
    BadVariable {
        /// The name of the variable.
        name: String,
    },
    /// A variable is marked as secret and not set.
    #[error("`secret_env` names `{name}`, which is not in `env`")]
    UnknownSecret {
        /// The name of the variable.
        name: String,
    },
    /// A secret value is so short that it occurs in ordinary text.
    #[error(
        "the value of the secret variable `{name}` must have at least {MIN_SECRET_BYTES} bytes to be masked"
    )]
    ShortSecret {
        /// The name of the variable.
        name: String,
    },
    /// A part is too long to be kept and returned in every list.
    #[error("{what} has {bytes} bytes: the maximum is {most}")]
    TooLarge {
        /// The part of the spec.
        what: &'static str,
        /// Its size in bytes.
        bytes: usize,
        /// The maximum size in bytes.
        most: usize,
    },
    /// A limit is not valid.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// The folder of an in-place session is not valid.
    #[error("{what}")]
    Place {
        /// What is wrong.
        what: String,
    },
    /// A terminal with zero rows or columns.
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

    /// A spec that runs a shell command line.
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(Command::Shell(line.into()))
    }

    /// A spec that runs source code.
    pub fn code(language: impl Into<String>, code: impl Into<String>) -> Self {
        Self::new(Command::Code {
            language: language.into(),
            code: code.into(),
            file: None,
            args: Vec::new(),
        })
    }

    /// Checks everything that does not depend on the session.
    pub fn check(&self) -> Result<(), SpecError> {
        match &self.command {
            Command::Argv(argv) => {
                if argv.first().is_none_or(String::is_empty) {
                    return Err(SpecError::EmptyCommand);
                }
                for (n, arg) in argv.iter().enumerate() {
                    check_no_zero(arg, || format!("argument {n}"))?;
                }
            }
            Command::Shell(line) => check_no_zero(line, || "the shell line".into())?,
            Command::Code { code, file, args, .. } => {
                check_no_zero(code, || "the code".into())?;
                check_no_zero(file.as_deref().unwrap_or_default(), || "the file's path".into())?;
                for (n, arg) in args.iter().enumerate() {
                    check_no_zero(arg, || format!("argument {n}"))?;
                }
            }
        }
        check_env(&self.env)?;
        check_metadata(&self.metadata)?;
        if let Some(cwd) = &self.cwd {
            check_no_zero(cwd, || "the working directory".into())?;
        }
        if self.tty.is_some_and(|size| size.rows == 0 || size.cols == 0) {
            return Err(SpecError::EmptyTerminal);
        }
        self.limits.first_invalid().map_or(Ok(()), |wrong| Err(wrong.into()))
    }
}

fn check_no_zero(text: &str, what: impl FnOnce() -> String) -> Result<(), SpecError> {
    if text.contains('\0') { Err(SpecError::ZeroByte { what: what() }) } else { Ok(()) }
}

/// The metadata key of the conversation that an execution belongs to.
pub const CONVERSATION_METADATA: &str = "conversation_id";
/// The metadata key of the tool call that an execution was started for.
pub const TOOL_CALL_METADATA: &str = "tool_call_id";
/// All metadata keys of a tool call: with these, the execution of a build has the call of its build.
pub const CALL_METADATA: [&str; 4] = [CONVERSATION_METADATA, TOOL_CALL_METADATA, "tool_name", "tool_args"];

/// The maximum size of a session's name, of all metadata, and of the environment. The last is far below what
/// the kernel accepts for environment and arguments together.
const MAX_NAME_BYTES: usize = 512;
const MAX_METADATA_BYTES: usize = 64 << 10;
const MAX_ENV_BYTES: usize = 512 << 10;

/// The shortest secret that can be masked. Shorter values occur in ordinary text.
const MIN_SECRET_BYTES: usize = 4;

fn check_size(what: &'static str, bytes: usize, most: usize) -> Result<(), SpecError> {
    if bytes > most { Err(SpecError::TooLarge { what, bytes, most }) } else { Ok(()) }
}

fn bytes_of(pairs: &BTreeMap<String, String>) -> usize {
    pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Checks the size of a name.
pub(crate) fn check_name(name: Option<&str>) -> Result<(), SpecError> {
    check_size("the name", name.map_or(0, str::len), MAX_NAME_BYTES)
}

/// Checks the size of metadata.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), SpecError> {
    check_size("the metadata", bytes_of(metadata), MAX_METADATA_BYTES)
}

/// Checks the names and values of environment variables.
pub(crate) fn check_env(env: &BTreeMap<String, String>) -> Result<(), SpecError> {
    check_size("the environment", bytes_of(env), MAX_ENV_BYTES)?;
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(SpecError::BadVariable { name: name.clone() });
        }
        check_no_zero(value, || format!("the variable `{name}`"))?;
    }
    Ok(())
}

/// Checks that secret variables exist, and that their values can be masked. An empty value needs no mask.
pub(crate) fn check_secrets(
    env: &BTreeMap<String, String>,
    secret: &BTreeSet<String>,
) -> Result<(), SpecError> {
    for name in secret {
        match env.get(name).map(String::len) {
            None => return Err(SpecError::UnknownSecret { name: name.clone() }),
            Some(1..MIN_SECRET_BYTES) => return Err(SpecError::ShortSecret { name: name.clone() }),
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_variable_is_set_and_long_enough_to_be_masked() {
        let check = |value: Option<&str>| {
            let mut session = crate::SessionSpec::default();
            session.env.extend(value.map(|value| ("KEY".to_owned(), value.to_owned())));
            session.secret_env.insert("KEY".into());
            session.check()
        };
        assert!(matches!(check(None), Err(SpecError::UnknownSecret { .. })));
        for short in ["a", "abc"] {
            assert!(matches!(check(Some(short)), Err(SpecError::ShortSecret { .. })), "{short}");
        }
        assert_eq!((check(Some("abcd")), check(Some(""))), (Ok(()), Ok(())));
    }

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
        let mut short =
            [Command::Shell("é".repeat(MAX_COMMAND_BYTES / 2)), Command::Argv(vec!["a".into(); 100])];
        assert!(short.iter_mut().all(|command| !command.shorten()));
        let long = "é".repeat(MAX_COMMAND_BYTES);
        let arguments =
            || std::iter::once("ls".to_owned()).chain((0..1000).map(|_| "y".repeat(999))).collect();
        let code = Command::Code { language: "x".into(), code: long.clone(), file: None, args: arguments() };
        for mut command in
            [Command::Shell(long.clone()), Command::Argv(arguments()), Command::Argv(vec![long]), code]
        {
            assert!(!command.is_shortened());
            assert!(command.shorten() && !command.clone().shorten());
            assert!(command.is_shortened());
            let text = serde_json::to_string(&command).unwrap();
            assert!(text.len() < 3 * SHORTENED_BYTES && text.contains(" bytes in all]"), "{text}");
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
