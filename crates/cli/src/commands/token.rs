//! `headwater token`: manages API tokens. Works on the store directly, whether the server is running or not.

use std::path::Path;

use headwater_gateway::Config;
use headwater_gateway::auth::make_token;
use headwater_protocol::api::Timestamp;
use headwater_protocol::now_ms;
use headwater_store::{SqliteStore, Store, StoreError, TokenRow};
use serde_json::{Value, json};

use crate::args::{TokenAction, TokenArgs};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_json, print_line};

/// The state of a token or a user that is accepted, as JSON output has it.
pub(super) const ACTIVE: &str = "good";

/// Runs the action.
pub fn token(data: &Path, args: TokenArgs) -> Result<u8, CommandError> {
    with_store(data, async |store| act(store, args.action).await)
}

/// Opens the store of this folder, runs `act` on it and closes it.
pub(super) fn with_store(
    data: &Path,
    act: impl AsyncFnOnce(&dyn Store) -> Result<u8, CommandError>,
) -> Result<u8, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::internal(format!("cannot start: {error}")))?;
    runtime.block_on(run(data, act))
}

async fn run(
    data: &Path,
    act: impl AsyncFnOnce(&dyn Store) -> Result<u8, CommandError>,
) -> Result<u8, CommandError> {
    let path = Config::new(data).store_path();
    if !path.exists() {
        return Err(no_store(data));
    }
    let store = SqliteStore::open(&path).await.map_err(refused)?;
    let done = act(&store).await;
    store.close().await.map_err(refused)?;
    done
}

fn no_store(data: &Path) -> CommandError {
    let message = format!("`{}` has no store: no server has run there yet", data.display());
    CommandError::new(ErrorKind::NotFound, message)
        .hint("`headwater serve` creates the first token; `--data DIR` selects another folder")
}

async fn act(store: &dyn Store, action: TokenAction) -> Result<u8, CommandError> {
    match action {
        TokenAction::Create { name, user, role, expires, json } => {
            if user.is_empty() || user.chars().any(char::is_control) || user.len() > 255 {
                return Err(CommandError::usage(
                    "`--user` must have 1 to 255 bytes and no control characters",
                ));
            }
            let expires = expires
                .map(|time| now_ms().saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
            let token = make_token(&name, &user, role.into(), expires);
            store.put_token(&token.row).await.map_err(refused)?;
            if json {
                let mut shown = token_json(&token.row);
                shown["token"] = token.secret.into();
                print_json(&shown)?;
            } else {
                print_line(&token.secret)?;
            }
            Ok(0)
        }
        TokenAction::List { json } => {
            for row in store.tokens().await.map_err(refused)? {
                if json {
                    print_json(&token_json(&row))?;
                } else {
                    print_line(&line(&row))?;
                }
            }
            Ok(0)
        }
        TokenAction::Revoke { ids } => revoke(store, &ids).await,
    }
}

async fn revoke(store: &dyn Store, ids: &[String]) -> Result<u8, CommandError> {
    let known = store.tokens().await.map_err(refused)?;
    for id in ids {
        let Some(row) = known.iter().find(|row| row.id == *id) else {
            return Err(unknown(id));
        };
        store.revoke_token(&row.id, now_ms()).await.map_err(refused)?;
    }
    Ok(0)
}

fn unknown(id: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("there is no token `{id}`"))
        .hint("`headwater token list` lists all tokens")
}

/// A line of the list.
fn line(row: &TokenRow) -> String {
    let (role, owner, name) = (row.role.name(), printable(&row.owner), printable(&row.name));
    let state = if state(row) == ACTIVE { "active" } else { state(row) };
    format!("{}  {role:<7} {owner:<12} {state:<8} {name}", row.id)
}

fn state(row: &TokenRow) -> &'static str {
    match (row.revoked_at_ms, row.expires_at_ms) {
        (Some(_), _) => "revoked",
        (None, Some(at)) if at <= now_ms() => "expired",
        _ => ACTIVE,
    }
}

fn token_json(row: &TokenRow) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "user": row.owner,
        "role": row.role.name(),
        "state": state(row),
        "created_at": Timestamp(row.created_at_ms),
        "expires_at": row.expires_at_ms.map(Timestamp),
        "revoked_at": row.revoked_at_ms.map(Timestamp),
        "last_used_at": row.last_used_at_ms.map(Timestamp),
        "sessions": row.sessions,
        "scopes": row.scopes,
    })
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
/// An error of the store.
pub(super) fn refused(error: StoreError) -> CommandError {
    CommandError::new(ErrorKind::Refused, error.to_string())
}

#[cfg(test)]
mod tests {
    use headwater_store::Role;

    use super::*;
    use crate::snapshot;

    fn row(id: u32, name: &str, role: Role) -> TokenRow {
        let mut row = make_token(name, "ann", role, None).row;
        row.id = format!("tok_{id:032x}");
        row
    }

    #[test]
    fn list_and_errors_match_their_snapshots() {
        let mut revoked = row(2, "ci", Role::Member);
        revoked.revoked_at_ms = Some(1);
        let mut expired = row(3, "old\u{1b}[2J", Role::Reader);
        expired.expires_at_ms = Some(1);
        let rows = [row(1, "first token", Role::Admin), revoked, expired];
        snapshot::assert("token-list", &rows.map(|row| line(&row)).join("\n"));
        snapshot::assert_errors("token-errors", &[no_store(Path::new("/data")), unknown("tok_9")]);
    }
}
