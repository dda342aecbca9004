//! What a turn needs.

use std::sync::Arc;

use headwater_tools::policy::ApprovalPolicy;
use tokio_util::sync::CancellationToken;

use crate::journal::Journal;
use crate::model::Model;
use crate::place::Place;

/// What a turn works with.
#[derive(Debug, Clone)]
pub struct TurnContext {
    /// The log of the conversation.
    pub journal: Arc<dyn Journal>,
    /// Where tools run.
    pub place: Arc<dyn Place>,
    /// The model; without one, code blocks and `/run` lines of the person run as in a notebook.
    pub model: Option<Arc<dyn Model>>,
    /// How the agent works.
    pub settings: TurnSettings,
    /// Interrupts the turn: the running tools are stopped, and what they have printed is kept.
    pub stop: CancellationToken,
}

/// How the agent works in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSettings {
    /// Steps in one turn at most.
    pub max_steps: u32,
    /// Whether it only plans: it may read, and changes nothing.
    pub is_plan_mode: bool,
    /// When a person is asked before a command runs.
    pub approval: ApprovalPolicy,
    /// Whether somebody can answer questions.
    pub is_interactive: bool,
    /// How deep this conversation is below the one of a person: 0 for that one itself.
    pub depth: u32,
    /// What the operator or the person adds to the instructions.
    pub instructions: Option<String>,
    /// Whether the model's provider may search the web for it.
    pub web_search: bool,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            max_steps: 100,
            is_plan_mode: false,
            approval: ApprovalPolicy::default(),
            is_interactive: true,
            depth: 0,
            instructions: None,
            web_search: false,
        }
    }
}
