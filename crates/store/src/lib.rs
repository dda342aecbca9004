//! The gateway's database: sessions, executions and their verdicts, idempotency keys, tokens, users, members
//! and links, the audit log.
//!
//! The log of an execution stays with the worker. The store knows which logs exist, their owners and their
//! verdicts, and all of that can be rebuilt from the worker. It is written before an answer is sent.
//!
//! # The tables
//!
//! ```text
//! sessions ──1:n──▶ executions, builds    a foreign key; removed together with their session
//!     ▲                 ▲
//!     └──── object ─────┴── keys          no foreign key: a key is claimed before its object exists
//! tokens ◀─ token_id ── audit             no foreign key: an audit row outlives everything that it names
//! ```
//!
//! - `sessions` and `executions` have a random id, which clients see, and a `number`, which increases with
//!   each insertion and is never reused. Pages of lists are cut by the number, so that rows of the same
//!   millisecond are neither skipped nor repeated, and a live feed that has seen number n continues after n.
//! - `executions` have columns for the verdict, which are empty until then. The first verdict wins; `closed`
//!   and `last_seq` may still advance. `execution_search` has one row for each, with what a search reads: the
//!   executions themselves may hold megabytes of code.
//! - `keys` record which object a request got, by `(owner, key)`. The id is chosen and the key claimed in one
//!   write before anything starts; a second request gets the id of the first. Removing an execution or a
//!   session removes the keys that name it.
//! - `tokens` hold the SHA-256 of a secret, never the secret.
//! - `users` sign in with a password; `sign_ins` are the resulting credentials, each the hash of a secret.
//!   Objects of a user have its name as their owner, without a foreign key: owners need not be users.
//! - `oauth_grants` are what a person allowed a client; each has one token, and ends with it.
//! - `tickets` open and resume one stream each, on behalf of a credential.
//! - `chat_executions` are results that a chat's client ran itself, by the client's ids.
//! - `tool_calls` are what agents called in a session, shortened, and are removed with it.
//! - `session_rules` are what people allowed their agents to run in a session, and are removed with it.
//! - `session_members` and `shares` give others access to a session, and are removed with it.
//! - `conversations` have an id, which their creators may choose, and the log in `conversation_events`, whose events have
//!   the numbers that readers resume from; `conversation_texts` is what a search reads. Members and links are in
//!   `conversation_members` and `conversation_shares`. All of it is removed with the conversation, and sub-agents with
//!   their parent.
//! - `audit` rows record who did what to which object, never content.
//!
//! Times are milliseconds since 1970, in Rust `u64` and in SQL `BIGINT`; specs and verdicts are JSON in text
//! columns.
//!
//! [`Store`] is the interface for the gateway; [`SqliteStore`] is the implementation for one machine.

mod builds;
mod chat;
mod conversations;
mod error;
mod grants;
mod page;
mod reserve;
mod retention;
mod rows;
mod session_rules;
mod shares;
mod sql;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;
mod tickets;
mod tool_calls;
mod users;

pub use builds::BuildRow;
pub use chat::{ChatExecutionRow, ChatExecutions};
pub use conversations::{
    ConversationChange, ConversationFilter, ConversationMemberRow, ConversationRow, ConversationShareRow,
    ConversationState, Conversations,
};
pub use error::StoreError;
pub use grants::{GrantRenewal, GrantRow, Grants};
pub use page::{
    AuditFilter, ExecutionFilter, ExecutionKind, MAX_PAGE, Page, PageRequest, SessionFilter, StateFilter,
};
pub use reserve::{Free, Reserve};
pub use retention::{AUDIT_FLOOR_MS, AuditRules, RemovedLogRow, RowRules};
pub use rows::{
    AuditRow, Claim, ExecutionEnd, ExecutionRow, KeyRow, Role, SessionRow, TokenRow, UnknownRole,
};
pub use session_rules::{SessionRuleRow, SessionRules};
pub use shares::{MemberRow, SessionRole, ShareRow, Shares, UnknownSessionRole};
pub use sqlite::{SqliteStore, StoreFacts};
pub use store::Store;
pub use tickets::{TicketRow, TicketUse, Tickets};
pub use tool_calls::{ToolCallRow, ToolCalls};
pub use users::{SignInKind, SignInRow, UserChange, UserRow, Users};
