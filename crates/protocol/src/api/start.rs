//! The body that starts an execution, and the small bodies of requests for an execution.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::{Children, Command, Limits, OnOutputLimit, SpecError, StartSpec, Stdin, TtySize};

/// Standard input of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StdinRequest {
    /// Empty: end of file at once.
    #[default]
    None,
    /// Sent later, with other requests.
    Open,
    /// This text, then end of file.
    Text(String),
    /// These bytes in base64, then end of file.
    Base64(String),
}

/// A request to start an execution: one of `argv`, `shell`, or `language` with `code`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(
    json!({"language": "python", "code": "print('Hello')"}),
    json!({"shell": "seq 10 | wc -l", "timeout_ms": 10_000}),
    json!({"argv": ["ls", "-l"], "cwd": "src"})
)))]
#[serde(deny_unknown_fields, default)]
pub struct StartRequest {
    /// A program and its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// A shell command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A language from `GET /v1/languages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Source code in that language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A path in the workspace where the code is saved before it runs, and kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Arguments for the code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The working directory, relative to the workspace, which is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables in addition to the session's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Standard input.
    pub stdin: StdinRequest,
    /// Use a terminal of this size instead of pipes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tty: Option<TtySize>,
    /// Merge stdout and stderr into one stream, in exact order.
    pub merge_output: bool,
    /// The longest time that it may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The time between SIGTERM and SIGKILL; 5 s by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Limits, lower than the session's.
    pub limits: Limits,
    /// What happens to child processes that outlive the program.
    pub children: Children,
    /// What happens when the output limit is reached.
    pub on_output_limit: OnOutputLimit,
    /// Metadata for the client's own use. `conversation_id` and `tool_call_id` add the execution to the
    /// streams of that conversation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// Why a request is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is nothing to run.
    #[error("nothing to run: give one of `argv`, `shell`, or `language` with `code`")]
    NoCommand,
    /// There is more than one thing to run.
    #[error("more than one thing to run: give only one of `argv`, `shell`, or `language` with `code`")]
    ManyCommands,
    /// Only one of `language` and `code` is given.
    #[error("`language` and `code` belong together")]
    HalfCode,
    /// The field requires `language` and `code`.
    #[error("`{0}` requires `language` and `code`")]
    OnlyForCode(&'static str),
    /// The input is not valid base64.
    #[error("`stdin.base64` is not valid base64: {0}")]
    BadBase64(String),
    /// The spec is not valid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The signal does not exist.
    #[error("`{0}` is not a signal: give a number from 1 to 64, or a name like `SIGINT`")]
    BadSignal(String),
}

impl TryFrom<StartRequest> for StartSpec {
    type Error = RequestError;

    fn try_from(request: StartRequest) -> Result<Self, RequestError> {
        let stdin = match request.stdin {
            StdinRequest::None => Stdin::None,
            StdinRequest::Open => Stdin::Open,
            StdinRequest::Text(text) => Stdin::Given(text.into()),
            StdinRequest::Base64(text) => {
                let bytes =
                    STANDARD.decode(text).map_err(|error| RequestError::BadBase64(error.to_string()))?;
                Stdin::Given(bytes.into())
            }
        };
        let spec = Self {
            command: command(
                request.argv,
                request.shell,
                (request.language, request.code),
                (request.file, request.args),
            )?,
            cwd: request.cwd,
            env: request.env,
            stdin,
            tty: request.tty,
            merge_output: request.merge_output,
            timeout_ms: request.timeout_ms,
            grace_ms: request.grace_ms,
            limits: request.limits,
            children: request.children,
            on_output_limit: request.on_output_limit,
            metadata: request.metadata,
        };
        spec.check()?;
        Ok(spec)
    }
}

fn command(
    argv: Option<Vec<String>>,
    shell: Option<String>,
    code: (Option<String>, Option<String>),
    (file, more): (Option<String>, Vec<String>),
) -> Result<Command, RequestError> {
    let said = match (argv, shell, code) {
        (None, None, (None, None)) => return Err(RequestError::NoCommand),
        (Some(argv), None, (None, None)) => Command::Argv(argv),
        (None, Some(line), (None, None)) => Command::Shell(line),
        (None, None, (Some(language), Some(code))) => {
            return Ok(Command::Code { language, code, file, args: more });
        }
        (None, None, _) => return Err(RequestError::HalfCode),
        _ => return Err(RequestError::ManyCommands),
    };
    match (file, more.is_empty()) {
        (Some(_), _) => Err(RequestError::OnlyForCode("file")),
        (None, false) => Err(RequestError::OnlyForCode("args")),
        (None, true) => Ok(said),
    }
}

impl From<StartSpec> for StartRequest {
    fn from(spec: StartSpec) -> Self {
        let mut request = Self {
            cwd: spec.cwd,
            env: spec.env,
            tty: spec.tty,
            merge_output: spec.merge_output,
            timeout_ms: spec.timeout_ms,
            grace_ms: spec.grace_ms,
            limits: spec.limits,
            children: spec.children,
            on_output_limit: spec.on_output_limit,
            metadata: spec.metadata,
            ..Self::default()
        };
        request.stdin = match spec.stdin {
            Stdin::None => StdinRequest::None,
            Stdin::Open => StdinRequest::Open,
            Stdin::Given(bytes) => StdinRequest::Base64(STANDARD.encode(bytes)),
        };
        match spec.command {
            Command::Argv(argv) => request.argv = Some(argv),
            Command::Shell(line) => request.shell = Some(line),
            Command::Code { language, code, file, args } => {
                (request.language, request.code) = (Some(language), Some(code));
                (request.file, request.args) = (file, args);
            }
        }
        request
    }
}

/// The body of `POST /v1/executions/{id}/resize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"rows": 24, "cols": 80}))))]
#[serde(deny_unknown_fields)]
pub struct ResizeRequest {
    /// The number of rows.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535))]
    pub rows: u16,
    /// The number of columns.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535))]
    pub cols: u16,
}

/// A signal by number or name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum SignalName {
    /// A number from 1 to 64.
    Number(i32),
    /// A name with or without `SIG`, in upper or lower case.
    Name(String),
}

/// The body of `POST /v1/executions/{id}/signal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"signal": "SIGINT"}))))]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// The signal to send.
    pub signal: SignalName,
    /// Whether to signal every process of the execution instead of its (foreground) group.
    #[serde(default)]
    pub tree: bool,
}

/// The signals of Linux with names; the others are real-time signals, which have only numbers.
const SIGNALS: [(&str, i32); 31] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

impl SignalName {
    /// The number of the signal.
    pub fn number(&self) -> Result<i32, RequestError> {
        match self {
            Self::Number(number @ 1..=64) => Ok(*number),
            Self::Number(number) => Err(RequestError::BadSignal(number.to_string())),
            Self::Name(name) => {
                let upper = name.to_ascii_uppercase();
                let short = upper.strip_prefix("SIG").unwrap_or(&upper);
                let known = SIGNALS.iter().find(|(name, _)| *name == short).map(|(_, number)| *number);
                known.ok_or_else(|| RequestError::BadSignal(name.chars().take(64).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> Result<StartSpec, String> {
        let request: StartRequest = serde_json::from_str(json).map_err(|error| error.to_string())?;
        StartSpec::try_from(request).map_err(|error| error.to_string())
    }

    #[test]
    fn the_three_ways_to_say_what_runs_are_understood() {
        assert_eq!(spec(r#"{"argv":["ls"]}"#).unwrap().command, Command::Argv(vec!["ls".into()]));
        assert_eq!(spec(r#"{"shell":"ls"}"#).unwrap().command, Command::Shell("ls".into()));
        let code = spec(r#"{"language":"python","code":"1","stdin":{"text":"x"}}"#).unwrap();
        assert_eq!(code.stdin, Stdin::Given("x".into()));
        assert_eq!(spec(r#"{"shell":"cat","stdin":"open"}"#).unwrap().stdin, Stdin::Open);
        assert_eq!(
            spec(r#"{"shell":"cat","stdin":{"base64":"AP8="}}"#).unwrap().stdin,
            Stdin::Given(vec![0, 255].into())
        );
    }

    #[test]
    fn invalid_fields_are_refused_by_name() {
        for (json, says) in [
            ("{}", "nothing to run"),
            (r#"{"argv":["a"],"shell":"b"}"#, "more than one"),
            (r#"{"language":"python"}"#, "belong together"),
            (r#"{"shell":"a","args":["b"]}"#, "`args`"),
            (r#"{"shell":"a","shel":"b"}"#, "shel"),
            (r#"{"shell":"a","stdin":{"base64":"*"}}"#, "base64"),
            (r#"{"argv":[]}"#, "empty"),
            (r#"{"shell":"a","limits":{"pids":1}}"#, "limits.pids"),
        ] {
            let error = spec(json).unwrap_err();
            assert!(error.contains(says), "{json}: {error}");
        }
    }

    #[test]
    fn a_request_made_of_a_spec_means_that_spec() {
        let mut spec = StartSpec::shell("cat");
        (spec.stdin, spec.merge_output, spec.timeout_ms) = (Stdin::Given("x".into()), true, Some(5));
        let again = StartSpec::try_from(StartRequest::from(spec.clone())).unwrap();
        assert_eq!(again, spec);
    }

    #[test]
    fn signals_have_names_and_numbers() {
        for (name, number) in [("SIGINT", 2), ("term", 15), ("sigkill", 9)] {
            assert_eq!(SignalName::Name(name.into()).number(), Ok(number));
        }
        assert_eq!(SignalName::Number(34).number(), Ok(34));
        assert!(
            SignalName::Number(65).number().is_err() && SignalName::Name("SIGNOPE".into()).number().is_err()
        );
    }
}
