//! The requests of tools, and the executions that they start.

use headwater_protocol::api::ErrorCode;
use headwater_protocol::{CONVERSATION_METADATA, Children, Command, StartSpec, Stdin, TOOL_CALL_METADATA};
use headwater_tools::code;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::executions::tool_call::add_id;
use crate::streams::feed::{INTERACTIVE_KEY, MAX_BUFFER_KEY, RUN_COMMAND, TOOL_KEY};

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
    /// The session that it runs in: its id, its name or a unique prefix of its id. A dedicated session, which ends with
    /// the command, if absent. `session_id` is another name for it.
    #[serde(default, alias = "session_id")]
    session_id: Option<String>,
    /// Commands with the same id share a session, as in `code_execution`. `interactive_id` is another name for it.
    #[serde(default, alias = "interactive_id")]
    #[schema(min_length = 1, max_length = 256)]
    interactive_id: Option<String>,
    /// How many bytes of each stream the events and the result show. After that a note replaces the rest; the command
    /// continues, and `output_url` returns the whole output. If absent, the events show everything and the result up to
    /// 16 MiB.
    #[serde(default)]
    #[schema(minimum = 1)]
    max_buffer: Option<u64>,
    /// The name of the tool in the events: that of the route.
    #[serde(skip)]
    pub(crate) tool: RunCommandName,
}

/// The name by which `run_command` was called.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum RunCommandName {
    #[default]
    Snake,
    Camel,
}

impl RunCommandName {
    const fn name(self) -> &'static str {
        let [snake, camel] = RUN_COMMAND;
        match self {
            Self::Snake => snake,
            Self::Camel => camel,
        }
    }
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
        let Some(language) = code::language_of(&request.runtime) else {
            return Err(unsupported(&request.runtime));
        };
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
        add_id(&mut spec.metadata, ("tool_call_id", TOOL_CALL_METADATA), request.tool_call_id)?;
        add_id(&mut spec.metadata, ("conversation_id", CONVERSATION_METADATA), conversation)?;
        add_id(&mut spec.metadata, ("interactive_id", INTERACTIVE_KEY), request.interactive_id.clone())?;
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
        spec.metadata.insert(TOOL_KEY.to_owned(), request.tool.name().to_owned());
        add_id(&mut spec.metadata, ("toolCallId", TOOL_CALL_METADATA), request.tool_call_id)?;
        add_id(&mut spec.metadata, ("conversationId", CONVERSATION_METADATA), request.conversation_id)?;
        add_id(&mut spec.metadata, ("interactiveId", INTERACTIVE_KEY), request.interactive_id.clone())?;
        if let Some(bytes) = request.max_buffer {
            if bytes == 0 {
                return Err(ApiError::invalid("`maxBuffer` must be at least 1 byte"));
            }
            spec.metadata.insert(MAX_BUFFER_KEY.to_owned(), bytes.to_string());
        }
        Self { session: request.session_id, interactive: request.interactive_id, spec }.checked()
    }
}

impl Call {
    fn checked(mut self) -> Result<Self, ApiError> {
        if self.interactive.is_some() && self.session.is_some() {
            return Err(ApiError::invalid("`interactive_id` and `session_id` exclude each other"));
        }
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
    let names = code::runtime_names();
    ApiError::new(
        ErrorCode::UnsupportedRuntime,
        format!("`{runtime}` is not a runtime"),
        format!("use one of {names}"),
    )
}

fn timeout_ms(seconds: Option<f64>) -> Result<u64, ApiError> {
    code::timeout_ms(seconds).map_err(ApiError::invalid)
}

#[cfg(test)]
mod tests {
    use headwater_protocol::SessionId;
    use serde_json::{Value, json};

    use axum::http::StatusCode;
    use headwater_tools::code::RUNTIMES;

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
    fn a_command_can_have_a_session_and_a_limit_of_what_is_shown() {
        let call = |json: Value| Call::try_from(serde_json::from_value::<RunCommandRequest>(json).unwrap());
        for field in ["sessionId", "session_id"] {
            let call = call(json!({"command": "ls", field: "mine"})).unwrap();
            assert_eq!((call.session.as_deref(), call.spec.children), (Some("mine"), Children::Keep));
        }
        let shared = call(json!({"command": "ls", "interactiveId": "i", "maxBuffer": 1000})).unwrap();
        assert_eq!(
            (shared.interactive.as_deref(), &*shared.spec.metadata[MAX_BUFFER_KEY]),
            (Some("i"), "1000")
        );
        for (json, says) in [
            (json!({"command": "ls", "maxBuffer": 0}), "maxBuffer"),
            (json!({"command": "ls", "interactiveId": "i", "sessionId": "s"}), "session_id"),
            (json!({"command": "ls", "interactiveId": ""}), "interactiveId"),
        ] {
            let error = call(json.clone()).unwrap_err();
            assert!(error.message.contains(says), "{json}: {}", error.message);
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
