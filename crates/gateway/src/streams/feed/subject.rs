//! The data of an execution that a feed sends besides its events: its call, its tool and its arguments.

use headwater_protocol::api::Timestamp;
use headwater_protocol::{Command, Event, ExecutionId, StartSpec, shell_quote};
use headwater_store::ExecutionRow;
use serde_json::{Map, Value, json};

/// The tool of an execution whose metadata names none.
pub(crate) const DEFAULT_TOOL: &str = "code_execution";
/// The names of the tool for shell commands.
pub(crate) const RUN_COMMAND: [&str; 2] = ["run_command", "runCommand"];
/// The keys of the metadata for the tool, for its arguments as JSON where the command does not show them, for the
/// session that calls share, and for the `maxBuffer`.
pub(crate) const TOOL_KEY: &str = "tool_name";
pub(crate) const TOOL_ARGS_KEY: &str = "tool_args";
pub(crate) const INTERACTIVE_KEY: &str = "interactive_id";
pub(crate) const MAX_BUFFER_KEY: &str = "tool_max_buffer";

/// An execution, as a feed knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subject {
    /// None if it was not accepted.
    pub(crate) id: Option<ExecutionId>,
    pub(crate) conversation_id: Option<String>,
    /// The id of the call that it was started for, if any.
    pub(crate) named_call: Option<String>,
    /// The id of the call, or of the execution.
    pub(crate) call_id: String,
    pub(crate) tool_name: String,
    /// The arguments of the tool, until they were sent: they may be large.
    pub(crate) tool_args: Value,
    /// How many bytes of each stream are shown.
    pub(crate) max_buffer: Option<u64>,
    accepted_at_ms: u64,
}

impl Subject {
    /// The subject of a row of the store.
    pub(crate) fn new(row: ExecutionRow) -> Self {
        let metadata = &row.spec.metadata;
        let tool_name = metadata.get(TOOL_KEY).map_or(DEFAULT_TOOL, String::as_str).to_owned();
        let max_buffer = metadata.get(MAX_BUFFER_KEY).and_then(|bytes| bytes.parse().ok());
        Self {
            id: Some(row.id),
            conversation_id: row.conversation_id,
            call_id: row.tool_call_id.clone().unwrap_or_else(|| row.id.to_string()),
            named_call: row.tool_call_id,
            tool_args: tool_args(&tool_name, row.spec),
            tool_name,
            max_buffer,
            accepted_at_ms: row.queued_at_ms,
        }
    }

    /// The same for a call that was not accepted.
    pub(crate) fn unaccepted(self) -> Self {
        Self { id: None, ..self }
    }

    /// The execution's id as text.
    pub(crate) fn execution_id(&self) -> Option<String> {
        self.id.map(|id| id.to_string())
    }

    /// The time of an event.
    pub(crate) const fn time_of(&self, event: &Event) -> Timestamp {
        Timestamp(self.accepted_at_ms + event.at_ms)
    }
}

/// The arguments in the tool's own format.
fn tool_args(tool: &str, spec: StartSpec) -> Value {
    let given = spec.metadata.get(TOOL_ARGS_KEY).and_then(|args| serde_json::from_str(args).ok());
    if let Some(args) = given.filter(Value::is_object) {
        return args;
    }
    let (runtime, code, file) = match spec.command {
        Command::Shell(line) => ("terminal".to_owned(), line, None),
        Command::Argv(argv) => ("terminal".to_owned(), quoted(&argv), None),
        Command::Code { language, code, file, .. } => (runtime_of(language), code, file),
    };
    if RUN_COMMAND.contains(&tool) {
        let max_buffer = spec.metadata.get(MAX_BUFFER_KEY).and_then(|bytes| bytes.parse::<u64>().ok());
        let args = json!({ "command": code, "workingDirectory": spec.cwd, "maxBuffer": max_buffer });
        return without_nulls(args);
    }
    #[allow(clippy::cast_precision_loss)] // exact for 285,000 years
    let timeout = spec.timeout_ms.map(|ms| ms as f64 / 1000.0);
    without_nulls(json!({
        "runtime": runtime,
        "code": code,
        "working_dir": spec.cwd,
        "timeout": timeout,
        "save_to_file": file,
        "interactive_id": spec.metadata.get(INTERACTIVE_KEY),
    }))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn runtime_of(language: String) -> String {
    match language.as_str() {
        "bash" => "terminal".to_owned(),
        "node" => "nodejs".to_owned(),
        _ => language,
    }
}

/// Arguments as a shell command line.
fn quoted(argv: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let quote = |arg: &String| {
        if !arg.is_empty() && arg.chars().all(is_plain) { arg.clone() } else { shell_quote(arg) }
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use headwater_protocol::SessionId;

    use super::*;

    /// A subject with this spec, for the call `call` of the conversation `talk`.
    pub(crate) fn subject(spec: StartSpec) -> Subject {
        Subject::new(ExecutionRow {
            id: ExecutionId::random(),
            session_id: SessionId::random(),
            owner: "ann".into(),
            conversation_id: Some("talk".into()),
            tool_call_id: Some("call".into()),
            language: None,
            spec,
            number: 1,
            queued_at_ms: 1_000,
            end: None,
            log_removed: None,
        })
    }

    #[test]
    fn the_request_is_shown_in_the_words_of_the_tool() {
        let mut spec = StartSpec::code("node", "1");
        (spec.timeout_ms, spec.cwd) = (Some(1500), Some("sub".into()));
        spec.metadata.insert(INTERACTIVE_KEY.into(), "i".into());
        let expected = json!({"runtime": "nodejs", "code": "1", "timeout": 1.5, "working_dir": "sub", "interactive_id": "i"});
        assert_eq!(subject(spec).tool_args, expected);
        let argv = subject(StartSpec::argv(["ls", "a b", "it's", ""])).tool_args;
        assert_eq!(argv, json!({"runtime": "terminal", "code": r"ls 'a b' 'it'\''s' ''"}));
        for name in RUN_COMMAND {
            let mut run = StartSpec::shell("ls");
            run.metadata.insert(TOOL_KEY.into(), name.into());
            assert_eq!(subject(run.clone()).tool_args, json!({"command": "ls"}));
            run.metadata.insert(MAX_BUFFER_KEY.into(), "9".into());
            assert_eq!(subject(run).tool_args, json!({"command": "ls", "maxBuffer": 9}));
        }
        let mut install = StartSpec::shell("pip install -- 'a'");
        install.metadata.insert(TOOL_ARGS_KEY.into(), r#"{"install": ["a"]}"#.into());
        assert_eq!(subject(install).tool_args, json!({"install": ["a"]}));
    }
}
