//! The results of tool calls.

use headwater_protocol::conversation::{ToolCallState, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use super::chunk::{Chunk, ToolMetadata};

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallEnd {
    /// The call.
    pub(crate) tool_call_id: String,
    state: ToolCallState,
    output: ToolOutput,
    /// Its executions.
    pub(crate) metadata: ToolMetadata,
}

/// The result of a call that ran a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CommandOutput {
    /// `running` until the program has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<&'static str>,
    /// The end of its standard output, or of its terminal.
    pub(crate) stdout: String,
    /// The end of its standard error.
    pub(crate) stderr: String,
    /// Its exit code; -99 after a timeout, -100 if the program does not exist, -101 if it could not be started. None while
    /// it runs.
    pub(crate) exit_code: Option<i32>,
    /// How long it ran.
    pub(crate) duration_ms: u64,
    /// Whether `stdout` or `stderr` is not the whole output.
    pub(crate) truncated: bool,
    /// The length of the whole output.
    pub(crate) total_bytes: u64,
    /// The URL of the whole output.
    pub(crate) log_url: String,
}

impl CallEnd {
    pub(super) fn new(id: &str, state: ToolCallState, output: ToolOutput, metadata: ToolMetadata) -> Self {
        Self { tool_call_id: id.to_owned(), state, output, metadata }
    }

    /// The chunk, if the log of no execution is needed for it.
    pub(super) fn without_log(&self) -> Option<Chunk> {
        (self.state == ToolCallState::Denied || self.metadata.execution_ids.is_empty()).then(|| self.plain())
    }

    /// The result that the model gets.
    pub(super) fn plain(&self) -> Chunk {
        let (tool_call_id, text) = (self.tool_call_id.clone(), self.output.text.clone());
        match self.state {
            ToolCallState::Denied => Chunk::ToolOutputDenied { tool_call_id },
            ToolCallState::Succeeded if !self.output.is_error => self.available(text.into()),
            _ => Chunk::ToolOutputError {
                tool_call_id,
                error_text: if text.is_empty() { "the call was interrupted".to_owned() } else { text },
                dynamic: true,
                provider_executed: true,
                tool_metadata: self.tool_metadata(),
            },
        }
    }

    /// The result of a call that ran this program.
    pub(super) fn command(&self, output: &CommandOutput) -> Chunk {
        self.available(serde_json::to_value(output).unwrap_or_default())
    }

    fn available(&self, output: Value) -> Chunk {
        Chunk::ToolOutputAvailable {
            tool_call_id: self.tool_call_id.clone(),
            output,
            dynamic: true,
            provider_executed: true,
            preliminary: false,
            tool_metadata: self.tool_metadata(),
        }
    }

    fn tool_metadata(&self) -> Option<ToolMetadata> {
        (self.metadata != ToolMetadata::default()).then(|| self.metadata.clone())
    }
}
