//! Errors of tools. A model reads them, so each says what to do next.

use headwater_contract::{ContractError, Fault};

use crate::policy::Question;
use crate::schema::ArgumentError;

/// Why a tool failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", self.sentence())]
pub struct ToolError {
    /// The problem.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What a person must be asked first.
    pub question: Option<Box<Question>>,
}

impl ToolError {
    /// An error without a hint, for messages that say what to do themselves.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, question: None }
    }

    /// The same with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a question to a person.
    #[must_use]
    pub(crate) fn question(mut self, question: Question) -> Self {
        self.question = Some(Box::new(question));
        self
    }

    fn sentence(&self) -> String {
        self.hint.as_ref().map_or_else(String::new, |hint| format!(". {hint}"))
    }
}

impl From<ArgumentError> for ToolError {
    fn from(error: ArgumentError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        Self { message: fault.message, hint: fault.hint, question: None }
    }
}

impl From<ContractError> for ToolError {
    fn from(error: ContractError) -> Self {
        match error {
            ContractError::Fault(fault) => fault.into(),
            other => Self::new(other.to_string()).hint("Call the tool again in a moment"),
        }
    }
}
