//! What the gateway remembers: sessions, executions with their end, idempotency keys, tokens, users, who shares what
//! with whom, audit rows.
//!
//! The log of an execution stays with the worker; the store says which logs there are, whose they are and how they
//! ended, and all of that can be rebuilt from the worker. It is written before an answer says so.
//!
//! # The tables
//!
//! ```text
//! sessions ──1:n──▶ executions, builds    a foreign key; an execution or a build goes with its session
//!     ▲                 ▲
//!     └──── object ─────┴── keys          no foreign key: a key is claimed before its object is there
//! tokens ◀─ token_id ── audit             no foreign key: an audit row outlives all that it names
//! ```
//!
//! - `sessions` and `executions` have two names each: the random id that the world sees, and a `number`, given in
//!   the order of insertion and never given twice. Lists are cut by the number, so that rows of the same millisecond
//!   are neither skipped nor shown twice, and a live feed that has seen number n goes on after n.
//! - `executions` carry their end in columns that are empty until then. The first verdict wins; `closed` and
//!   `last_seq` may still move forwards.
//! - `keys` remember which object a request was given, by `(owner, key)`. The id is chosen and the key claimed in one
//!   write before anything starts; whoever comes second learns the first one's id. Removing an execution or a
//!   session removes the keys that name it.
//! - `tokens` hold the SHA-256 of a secret, never the secret.
//! - `users` sign in with a password; `sign_ins` are what they got for it, each the hash of a secret. What belongs to a
//!   user has its name as its owner: there is no foreign key, for owners need not be users.
//! - `tickets` open a stream each and resume it, for the credential that they stand for.
//! - `session_members` and `shares` say who else may use a session, and go with it.
//! - `audit` rows say who did what to which object, never content.
//!
//! Times are milliseconds since 1970, in Rust `u64` and in SQL `BIGINT`; specs and verdicts are JSON in text columns.
//!
//! [`Store`] is what the gateway sees; [`SqliteStore`] is what it has on one machine.

mod builds;
mod error;
mod page;
mod reserve;
mod retention;
mod rows;
mod shares;
mod sql;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;
mod tickets;
mod users;

pub use builds::BuildRow;
pub use error::StoreError;
pub use page::{AuditFilter, ExecutionFilter, MAX_PAGE, Page, PageRequest, SessionFilter, StateFilter};
pub use reserve::{Free, Reserve};
pub use retention::{AUDIT_FLOOR_MS, AuditRules, RemovedLogRow, RowRules};
pub use rows::{
    AuditRow, Claim, ExecutionEnd, ExecutionRow, KeyRow, Role, SessionRow, TokenRow, UnknownRole,
};
pub use shares::{MemberRow, SessionRole, ShareRow, Shares, UnknownSessionRole};
pub use sqlite::SqliteStore;
pub use store::Store;
pub use tickets::{TicketRow, TicketUse, Tickets};
pub use users::{SignInKind, SignInRow, UserChange, UserRow, Users};
