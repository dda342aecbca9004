//! The requests of tools, and the executions that they start.

use std::collections::BTreeMap;

use headwater_protocol::api::ErrorCode;
use headwater_protocol::{Children, Command, StartSpec, Stdin};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::streams::feed::{INTERACTIVE_KEY, TOOL_KEY};

/// The default timeout of a call.
const DEFAULT_TIMEOUT_SECONDS: f64 = 60.0;
/// The maximum timeout of a call: a day.
const MAX_TIMEOUT_SECONDS: f64 = 86_400.0;
/// The maximum length of an id that a caller chooses, in bytes.
const MAX_ID_BYTES: usize = 256;

/// The runtimes and their languages.
const RUNTIMES: [(&str, &str); 3] = [("terminal", "bash"), ("python", "python"), ("nodejs", "node")];

/// A call of `code_execution`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"runtime": "python", "code": "print('Hello')", "timeout": 10})))]
pub(crate) struct CodeExecutionRequest {
    /// `terminal` (bash), `python` or `nodejs`.
    #[schema(pattern = "^(terminal|python|nodejs)$")]
    runtime: String,
    /// The source code.
    code: String,
    /// The timeout in seconds: 60 if absent, at most 86400. After it the program gets SIGTERM, and SIGKILL 5
    /// s later.
    #[serde(default)]
    #[schema(exclusive_minimum = 0, maximum = 86400)]
    timeout: Option<f64>,
    /// The working directory, relative to the workspace, which is the default.
    #[serde(default)]
    cwd: Option<String>,
    /// Deprecated: use `cwd`.
    #[serde(default)]
    #[schema(deprecated)]
    working_dir: Option<String>,
    /// The path in the workspace at which the code is saved before it runs.
    #[serde(default)]
    save_to_file: Option<String>,
    /// Calls with the same id share a session: files and installed packages are kept, variables and imports are
    /// not, because every call is a new process.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    interactive_id: Option<String>,
    /// The standard input; empty if absent.
    #[serde(default)]
    stdin: Option<String>,
    /// The caller's id for this call, which is in all its events. The execution's id if absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
    /// The conversation whose streams show the call.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
    /// Another name for `conversation_id`.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    thread_id: Option<String>,
    /// The session that it runs in: its id, its name or a unique prefix of its id.
    #[serde(default)]
    session_id: Option<String>,
}

/// A call of `run_command`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(examples(json!({"command": "echo Hello", "toolCallId": "call_1", "conversationId": "chat_1"})))]
pub(crate) struct RunCommandRequest {
    /// A shell command (bash).
    command: String,
    /// The working directory, relative to the workspace, which is the default. `cwd` is another name for it.
    #[serde(default, alias = "cwd")]
    working_directory: Option<String>,
    /// The timeout in seconds: 60 if absent, at most 86400. After it the program gets SIGTERM, and SIGKILL 5
    /// s later.
    #[serde(default)]
    #[schema(exclusive_minimum = 0, maximum = 86400)]
    timeout: Option<f64>,
    /// The caller's id for this call, which is in all its events. The execution's id if absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
    /// The conversation whose streams show the call. `conversation_id` is another name for it.
    #[serde(default, alias = "conversation_id")]
    #[schema(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
}

/// The execution to start for a call, and its session.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    /// The id, the name or a prefix of the id of the session.
    pub(crate) session: Option<String>,
    pub(crate) interactive: Option<String>,
    pub(crate) spec: StartSpec,
}

impl TryFrom<CodeExecutionRequest> for Call {
    type Error = ApiError;

    fn try_from(request: CodeExecutionRequest) -> Result<Self, ApiError> {
        let runtimes = RUNTIMES.into_iter();
        let Some((_, language)) = runtimes.into_iter().find(|(name, _)| *name == request.runtime) else {
            return Err(unsupported(&request.runtime));
        };
        if request.interactive_id.is_some() && request.session_id.is_some() {
            return Err(ApiError::invalid("`interactive_id` and `session_id` exclude each other"));
        }
        let thread = ("thread_id", request.thread_id);
        let conversation = one_of(("conversation_id", request.conversation_id), thread)?;
        let mut spec = StartSpec::new(Command::Code {
            language: language.to_owned(),
            code: request.code,
            file: request.save_to_file,
            args: Vec::new(),
        });
        spec.cwd = one_of(("cwd", request.cwd), ("working_dir", request.working_dir))?;
        spec.timeout_ms = Some(timeout_ms(request.timeout)?);
        spec.stdin = request.stdin.map_or(Stdin::None, |text| Stdin::Given(text.into()));
        name(&mut spec.metadata, ("tool_call_id", "tool_call_id"), request.tool_call_id)?;
        name(&mut spec.metadata, ("conversation_id", "conversation_id"), conversation)?;
        name(&mut spec.metadata, ("interactive_id", INTERACTIVE_KEY), request.interactive_id.clone())?;
        Self { session: request.session_id, interactive: request.interactive_id, spec }.checked()
    }
}

/// The value of a field that has two names.
fn one_of(
    (name, value): (&str, Option<String>),
    (other, alias): (&str, Option<String>),
) -> Result<Option<String>, ApiError> {
    if value.is_some() && alias.is_some() {
        return Err(ApiError::invalid(format!("`{name}` and `{other}` mean the same: send one of them")));
    }
    Ok(value.or(alias))
}

impl TryFrom<RunCommandRequest> for Call {
    type Error = ApiError;

    fn try_from(request: RunCommandRequest) -> Result<Self, ApiError> {
        let mut spec = StartSpec::code("bash", request.command);
        spec.cwd = request.working_directory;
        spec.timeout_ms = Some(timeout_ms(request.timeout)?);
        spec.metadata.insert(TOOL_KEY.to_owned(), "run_command".to_owned());
        name(&mut spec.metadata, ("toolCallId", "tool_call_id"), request.tool_call_id)?;
        name(&mut spec.metadata, ("conversationId", "conversation_id"), request.conversation_id)?;
        Self { session: None, interactive: None, spec }.checked()
    }
}

impl Call {
    fn checked(mut self) -> Result<Self, ApiError> {
        if self.session.is_none() && self.interactive.is_none() {
            // Its session ends with it: a process left behind would keep the session running for nothing.
            self.spec.children = Children::Kill;
        }
        self.spec.check()?;
        Ok(self)
    }
}

fn unsupported(runtime: &str) -> ApiError {
    let runtime: String = runtime.chars().take(64).collect();
    let names = RUNTIMES.map(|(name, _)| format!("`{name}`")).join(", ");
    ApiError::new(
        ErrorCode::UnsupportedRuntime,
        format!("`{runtime}` is not a runtime"),
        format!("use one of {names}"),
    )
}

fn timeout_ms(seconds: Option<f64>) -> Result<u64, ApiError> {
    let seconds = seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    if !(seconds > 0.0 && seconds <= MAX_TIMEOUT_SECONDS) {
        return Err(ApiError::invalid(format!(
            "`timeout` is `{seconds}`; it must be more than 0 and at most {MAX_TIMEOUT_SECONDS} seconds"
        )));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 1 to 86,400,000 by now
    let ms = (seconds * 1000.0).ceil() as u64;
    Ok(ms)
}

/// Adds an id that the caller chose to the metadata.
fn name(
    metadata: &mut BTreeMap<String, String>,
    (field, key): (&str, &str),
    value: Option<String>,
) -> Result<(), ApiError> {
    let Some(value) = value else { return Ok(()) };
    if value.is_empty() || value.len() > MAX_ID_BYTES || value.chars().any(char::is_control) {
        return Err(ApiError::invalid(format!(
            "`{field}` must have 1 to {MAX_ID_BYTES} bytes and no control characters"
        )));
    }
    metadata.insert(key.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use headwater_protocol::SessionId;
    use serde_json::{Value, json};

    use axum::http::StatusCode;

    use super::*;

    fn call(json: Value) -> Result<Call, ApiError> {
        Call::try_from(serde_json::from_value::<CodeExecutionRequest>(json).unwrap())
    }

    #[test]
    fn a_runtime_is_a_language_and_a_call_has_a_time() {
        for (runtime, expected) in RUNTIMES {
            let call = call(json!({"runtime": runtime, "code": "x"})).unwrap();
            let Command::Code { language, .. } = &call.spec.command else { panic!("{call:?}") };
            assert_eq!((language.as_str(), call.spec.timeout_ms), (expected, Some(60_000)));
        }
        let half = call(json!({"runtime": "python", "code": "", "timeout": 0.5})).unwrap();
        assert_eq!((half.spec.timeout_ms, half.spec.children), (Some(500), Children::Kill));
        let shared =
            call(json!({"runtime": "python", "code": "", "interactive_id": "a", "thread_id": "t"})).unwrap();
        assert_eq!(shared.spec.children, Children::Keep);
        assert_eq!(shared.spec.metadata["conversation_id"], "t");
    }

    #[test]
    fn the_names_of_our_own_routes_work_in_every_tool() {
        for field in ["cwd", "working_dir"] {
            let mut json = json!({"runtime": "python", "code": "", "conversation_id": "c"});
            json[field] = "src".into();
            let call = call(json).unwrap();
            assert_eq!(
                (call.spec.cwd.as_deref(), &*call.spec.metadata["conversation_id"]),
                (Some("src"), "c")
            );
        }
        for (cwd, conversation) in [("cwd", "conversation_id"), ("workingDirectory", "conversationId")] {
            let json = json!({"command": "ls", cwd: "src", conversation: "c"});
            let call = Call::try_from(serde_json::from_value::<RunCommandRequest>(json).unwrap()).unwrap();
            assert_eq!(
                (call.spec.cwd.as_deref(), &*call.spec.metadata["conversation_id"]),
                (Some("src"), "c")
            );
        }
    }

    #[test]
    fn invalid_requests_are_refused() {
        let session = SessionId::random().to_string();
        for (json, says) in [
            (json!({"runtime": "ruby", "code": ""}), "ruby"),
            (json!({"runtime": "python", "code": "", "timeout": 0}), "timeout"),
            (json!({"runtime": "python", "code": "", "timeout": -1.5}), "timeout"),
            (json!({"runtime": "python", "code": "", "timeout": 1e9}), "timeout"),
            (json!({"runtime": "python", "code": "\u{0}"}), "zero byte"),
            (json!({"runtime": "python", "code": "", "tool_call_id": ""}), "tool_call_id"),
            (json!({"runtime": "python", "code": "", "interactive_id": "a\nb"}), "interactive_id"),
            (json!({"runtime": "python", "code": "", "thread_id": "a", "conversation_id": "b"}), "thread_id"),
            (json!({"runtime": "python", "code": "", "cwd": "a", "working_dir": "b"}), "working_dir"),
            (
                json!({"runtime": "python", "code": "", "interactive_id": "a", "session_id": session}),
                "session_id",
            ),
        ] {
            let error = call(json.clone()).unwrap_err();
            assert_eq!(error.status, StatusCode::BAD_REQUEST);
            assert!(error.message.contains(says), "{json}: {}", error.message);
        }
        let error = call(json!({"runtime": "ruby", "code": ""})).unwrap_err();
        assert!(error.hint.contains("`terminal`, `python`, `nodejs`"), "{}", error.hint);
    }
}
