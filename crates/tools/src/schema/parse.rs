//! Reads arguments. Errors name the field, and say what the tool accepts.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bounds::MAX_WAITED;
use super::catalog::{Call, TOOLS, Tool};
use super::{
    ApplyPatch, CodeExecution, EditFile, ExecCommand, GrepFiles, Kill, ListDir, ListExecutions, ReadFile,
    ReadOutput, Resize, RunCode, RunCommand, Shell, ShellCommand, Size, Until, ViewImage, Wait, WriteFile,
    WriteStdin,
};

use crate::code::{language_of, timeout_ms};

/// How much of an unknown name an error shows.
const MAX_NAME_CHARS: usize = 64;

/// Arguments that a tool does not accept. The text is for a model: it says what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to parse function arguments: {message}. {hint}")]
pub struct ArgumentError {
    /// The problem, with the name of the field.
    pub message: String,
    /// What the tool accepts.
    pub hint: String,
}

/// A field and what is wrong with it.
pub(super) type Problem = (&'static str, &'static str);

/// Conditions that a type does not express.
pub(super) trait Check {
    fn check(&self) -> Result<(), Problem> {
        Ok(())
    }
}

impl Call {
    /// Reads the call of a tool. `arguments` is an object, or the text of one.
    pub fn parse(name: &str, arguments: Value) -> Result<Self, ArgumentError> {
        let tool = tool_named(name)?;
        (tool.parse)(tool, arguments)
    }
}

/// The tool of this name, or the error that lists all of them.
pub fn tool_named(name: &str) -> Result<&'static Tool, ArgumentError> {
    // The name that some clients know it by.
    let known = if name == "list_sessions" { "list_executions" } else { name };
    TOOLS.iter().find(|tool| tool.name == known).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        ArgumentError {
            message: format!("unknown tool {name:?}"),
            hint: format!("The tools are: {}", names.join(", ")),
        }
    })
}

/// Reads the arguments of one tool.
pub(super) fn parse<T: DeserializeOwned + Check>(tool: &Tool, arguments: Value) -> Result<T, ArgumentError> {
    let fail = |message: String| ArgumentError { message, hint: hint(tool) };
    let mut arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| fail(format!("the arguments are not valid JSON: {error}")))?,
        other => other,
    };
    if !arguments.is_object() {
        return Err(fail("the arguments are not a JSON object".to_owned()));
    }
    remove_nulls(&mut arguments);
    let value: T = serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        fail(if path == "." { problem.to_string() } else { format!("{path}: {problem}") })
    })?;
    value.check().map_err(|(field, problem)| fail(format!("{field}: {problem}")))?;
    Ok(value)
}

/// Strict clients send every optional field, with null for those that the model left out.
fn remove_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(remove_nulls);
    }
}

/// The fields of a tool in one sentence.
fn hint(tool: &Tool) -> String {
    let schema = (tool.schema)();
    let required = |name: &str| {
        let list = schema.get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|field| field == name))
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return String::new() };
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for name in properties.keys() {
        if required(name) {
            first.push(format!("{name} (required)"));
        } else {
            rest.push(name.clone());
        }
    }
    first.append(&mut rest);
    format!("Call {} again with a JSON object of these fields: {}", tool.name, first.join(", "))
}

fn ensure(holds: bool, field: &'static str, problem: &'static str) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err((field, problem)) }
}

const EMPTY: &str = "must not be empty";
const ZERO: &str = "must be at least 1";
const TIMEOUT: &str = "must be more than 0 and at most 86400 seconds";

impl Check for ExecCommand {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.cmd.trim().is_empty(), "cmd", EMPTY)?;
        let size = self.size.unwrap_or(Size { rows: 1, cols: 1 });
        ensure(size.rows > 0 && size.cols > 0, "size", ZERO)?;
        self.wait_for.as_ref().map_or(Ok(()), Until::check)
    }
}

impl Check for Until {
    fn check(&self) -> Result<(), Problem> {
        ensure(self.pattern.as_deref() != Some(""), "match", EMPTY)?;
        ensure(self.idle_ms != Some(0), "idle_ms", ZERO)?;
        ensure(self.port != Some(0), "port", ZERO)
    }
}

impl Check for Shell {
    fn check(&self) -> Result<(), Problem> {
        ensure(self.command.first().is_some_and(|program| !program.is_empty()), "command", EMPTY)
    }
}

impl Check for ShellCommand {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.command.trim().is_empty(), "command", EMPTY)
    }
}

impl Check for RunCode {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.language.trim().is_empty(), "language", EMPTY)?;
        ensure(!self.code.is_empty(), "code", EMPTY)
    }
}

impl Check for CodeExecution {
    fn check(&self) -> Result<(), Problem> {
        ensure(language_of(&self.runtime).is_some(), "runtime", "must be terminal, python or nodejs")?;
        ensure(timeout_ms(self.timeout).is_ok(), "timeout", TIMEOUT)
    }
}

impl Check for RunCommand {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.command.trim().is_empty(), "command", EMPTY)?;
        ensure(timeout_ms(self.timeout).is_ok(), "timeout", TIMEOUT)
    }
}

impl Check for Wait {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.session_ids.is_empty(), "session_ids", EMPTY)?;
        ensure(self.session_ids.len() <= MAX_WAITED, "session_ids", "at most 64 can be waited for at once")?;
        self.until.check()
    }
}

impl Check for Resize {
    fn check(&self) -> Result<(), Problem> {
        ensure(self.rows > 0, "rows", ZERO)?;
        ensure(self.cols > 0, "cols", ZERO)
    }
}

impl Check for ReadFile {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.file_path.is_empty(), "file_path", EMPTY)
    }
}

impl Check for GrepFiles {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.pattern.trim().is_empty(), "pattern", EMPTY)
    }
}

impl Check for EditFile {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.old_string.is_empty(), "old_string", "must not be empty; write_file creates a file")?;
        ensure(self.old_string != self.new_string, "new_string", "is the same as old_string")
    }
}

impl Check for WriteFile {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.file_path.is_empty(), "file_path", EMPTY)
    }
}

impl Check for ApplyPatch {
    fn check(&self) -> Result<(), Problem> {
        ensure(!self.input.trim().is_empty(), "input", EMPTY)
    }
}

impl Check for ListDir {}
impl Check for ViewImage {}
impl Check for WriteStdin {}
impl Check for ReadOutput {}
impl Check for ListExecutions {}
impl Check for Kill {}
