//! What a call of a tool returns, and what it reports while it runs.

use headwater_protocol::ExecutionId;
use serde_json::Value;

use crate::error::ToolError;
use crate::policy::Question;

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The text for the model.
    pub text: String,
    /// Whether the tool failed. A program that exits with an error is not a failure of the tool.
    pub is_error: bool,
    /// The same result for programs, by the tool's result schema.
    pub structured: Option<Value>,
    /// An image for the model.
    pub image: Option<Image>,
    /// The executions that the result is about.
    pub executions: Vec<ExecutionId>,
    /// What a person must be asked before the command runs. A caller that can ask sends the call again with
    /// [`Request::approved`](crate::Request::approved).
    pub question: Option<Box<Question>>,
}

impl Outcome {
    /// A result that is only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl From<ToolError> for Outcome {
    fn from(error: ToolError) -> Self {
        Self { text: error.to_string(), is_error: true, question: error.question, ..Self::default() }
    }
}

/// An image, as a model can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// For example `image/png`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// The live output of a call that waits for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that the programs of the call have printed so far. It only grows.
    pub bytes: u64,
    /// The last complete lines, without control sequences, with secrets masked.
    pub lines: String,
    /// The execution that printed them.
    pub execution: Option<ExecutionId>,
}
