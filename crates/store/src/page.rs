//! Lists: which rows, and how many at once.

use headwater_protocol::SessionId;

/// The most rows of one page, whatever is asked for: a page is held in memory.
pub const MAX_PAGE: u32 = 1000;

/// Which executions. Absent means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    /// Of this owner.
    pub owner: Option<String>,
    /// In this session.
    pub session_id: Option<SessionId>,
    /// Where they stand.
    pub state: Option<StateFilter>,
    /// Source text in this language.
    pub language: Option<String>,
    /// Of this conversation.
    pub conversation_id: Option<String>,
    /// Accepted at this time or later.
    pub started_after_ms: Option<u64>,
    /// Accepted before this time.
    pub started_before_ms: Option<u64>,
    /// In one of these sessions.
    pub among: Option<Vec<SessionId>>,
}

/// Where an execution stands, as far as the store knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// No end is known: queued or running.
    Running,
    /// Ended, and something may still hold its output open.
    Exited,
    /// Ended, and no writer is left.
    Closed,
}

/// Which sessions. Absent means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Of this owner.
    pub owner: Option<String>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Whether they have ended.
    pub ended: Option<bool>,
    /// Of which this one is a member, and not the owner.
    pub member: Option<String>,
    /// Among these.
    pub among: Option<Vec<SessionId>>,
}

/// Which audit rows. Absent means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this owner.
    pub owner: Option<String>,
    /// Exactly this action.
    pub action: Option<String>,
    /// About exactly this object.
    pub object: Option<String>,
    /// With exactly this result.
    pub result: Option<String>,
    /// At this time or later.
    pub since_ms: Option<u64>,
    /// Before this time.
    pub until_ms: Option<u64>,
}

/// Which part of a list; the newest row comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The most rows; at least one and at most [`MAX_PAGE`] are looked for, whatever this says.
    pub limit: u32,
    /// The `next` of the page before; none for the first page.
    pub cursor: Option<i64>,
}

impl PageRequest {
    /// The first page of a list.
    pub const fn first(limit: u32) -> Self {
        Self { limit, cursor: None }
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, the newest first.
    pub items: Vec<T>,
    /// Where the next page goes on; none if this is the last.
    pub next: Option<i64>,
}
