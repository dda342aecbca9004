//! The migrations: embedded, applied in order, never changed once released.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Connection, SqlStr, SqliteConnection};

use super::error::{from_migrate, from_sqlx};
use crate::StoreError;

/// The number, the name and the text of each migration.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "sessions and executions", include_str!("../../migrations/sqlite/0001_sessions_and_executions.sql")),
    (2, "keys", include_str!("../../migrations/sqlite/0002_keys.sql")),
    (3, "tokens and audit", include_str!("../../migrations/sqlite/0003_tokens_and_audit.sql")),
    (4, "users", include_str!("../../migrations/sqlite/0004_users.sql")),
    (5, "usage and audit", include_str!("../../migrations/sqlite/0005_usage_and_audit.sql")),
    (10, "builds", include_str!("../../migrations/sqlite/0010_builds.sql")),
    (20, "tickets", include_str!("../../migrations/sqlite/0020_tickets.sql")),
    (30, "retention", include_str!("../../migrations/sqlite/0030_retention.sql")),
    (40, "session names", include_str!("../../migrations/sqlite/0040_session_names.sql")),
    (50, "chat executions", include_str!("../../migrations/sqlite/0050_chat_executions.sql")),
    (60, "tool calls", include_str!("../../migrations/sqlite/0060_tool_calls.sql")),
    (61, "oauth grants", include_str!("../../migrations/sqlite/0061_oauth_grants.sql")),
    (70, "execution search", include_str!("../../migrations/sqlite/0070_execution_search.sql")),
    (90, "session rules", include_str!("../../migrations/sqlite/0090_session_rules.sql")),
    (100, "conversations", include_str!("../../migrations/sqlite/0100_conversations.sql")),
];

/// Applies missing migrations, all or none. The lock is taken before checking, because the server and a
/// command may open a new store at the same time.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(from_sqlx)?;
    migrator().run_direct(None, &mut *transaction, false).await.map_err(from_migrate)?;
    transaction.commit().await.map_err(from_sqlx)
}

/// Applies migrations up to this version.
#[cfg(test)]
pub(super) async fn run_to(connection: &mut SqliteConnection, version: i64) {
    migrator().run_direct(Some(version), connection, false).await.unwrap();
}

/// The number of the last migration that this version knows.
pub(super) fn last() -> i64 {
    MIGRATIONS.iter().map(|(version, ..)| *version).max().unwrap_or(0)
}

fn migrator() -> Migrator {
    let embedded = MIGRATIONS.iter().map(|&(version, name, text)| {
        Migration::new(version, name.into(), MigrationType::Simple, SqlStr::from_static(text), false)
    });
    Migrator::with_migrations(embedded.collect())
}
