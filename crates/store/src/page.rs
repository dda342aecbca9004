//! Filters and pages of lists.

use headwater_protocol::SessionId;

/// The maximum number of rows on a page, which is held in memory.
pub const MAX_PAGE: u32 = 1000;

/// A filter for executions. `None` means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    /// Only executions of this owner.
    pub owner: Option<String>,
    /// Only executions in this session.
    pub session_id: Option<SessionId>,
    /// Only executions in this state.
    pub state: Option<StateFilter>,
    /// Whether they succeeded: exited with code 0. Those that have not ended are neither.
    pub succeeded: Option<bool>,
    /// Only executions of this kind.
    pub kind: Option<ExecutionKind>,
    /// Only executions with this text in the beginning of the command or in the name of the session, or at the
    /// beginning of an id. Case and the amount of white space make no difference.
    pub text: Option<String>,
    /// Only executions of source code in this language.
    pub language: Option<String>,
    /// Only executions of this conversation.
    pub conversation_id: Option<String>,
    /// Only executions of the tool call with this id.
    pub tool_call_id: Option<String>,
    /// Accepted at this time or later.
    pub started_after_ms: Option<u64>,
    /// Accepted before this time.
    pub started_before_ms: Option<u64>,
    /// Only executions in one of these sessions.
    pub among: Option<Vec<SessionId>>,
}

/// The state of an execution, as far as the store knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// No verdict is stored: queued or running.
    Running,
    /// The program has exited; another process may still hold its output open.
    Exited,
    /// The program has exited, and no writer of its output is left.
    Closed,
}

/// How an execution was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionKind {
    /// A shell command line.
    Shell,
    /// A program and its arguments.
    Program,
    /// Source code.
    Code,
    /// Either of the first two in a terminal.
    Terminal,
}

impl ExecutionKind {
    /// The name in the store.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Program => "program",
            Self::Code => "code",
            Self::Terminal => "terminal",
        }
    }
}

/// A filter for sessions. `None` means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only sessions of this owner.
    pub owner: Option<String>,
    /// Only sessions with exactly this name.
    pub name: Option<String>,
    /// Only sessions whose ids begin with this text, which has only characters of an id.
    pub id_prefix: Option<String>,
    /// Only sessions with this text in the name, in a value of the metadata or in the owner's name, or at the beginning
    /// of the id. Case makes no difference for ASCII letters.
    pub text: Option<String>,
    /// Whether they have ended.
    pub ended: Option<bool>,
    /// A member that is not the owner.
    pub member: Option<String>,
    /// Only these sessions.
    pub among: Option<Vec<SessionId>>,
}

/// A filter for audit rows. `None` means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only actions of this owner.
    pub owner: Option<String>,
    /// Only this action.
    pub action: Option<String>,
    /// Only actions on this object.
    pub object: Option<String>,
    /// Only actions with this result.
    pub result: Option<String>,
    /// At this time or later.
    pub since_ms: Option<u64>,
    /// Only actions before this time.
    pub until_ms: Option<u64>,
}

/// A part of a list, newest rows first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The maximum number of rows, bounded to 1 to [`MAX_PAGE`].
    pub limit: u32,
    /// The `next` of the previous page; `None` for the first page.
    pub cursor: Option<i64>,
}

impl PageRequest {
    /// The first page of a list.
    pub const fn first(limit: u32) -> Self {
        Self { limit, cursor: None }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, newest first.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last page. Only a page of a search may have fewer rows than its
    /// limit and a next page: a search looks at a bounded number of rows for each page.
    pub next: Option<i64>,
}
