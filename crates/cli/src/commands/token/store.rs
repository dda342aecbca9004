//! Tokens in the store of this machine.

use std::path::Path;

use headwater_gateway::Config;
use headwater_gateway::auth::{checked_scopes, make_token};
use headwater_protocol::api::Timestamp;
use headwater_store::{Role, SqliteStore, Store, StoreError, TokenRow};
use serde_json::{Value, json};

use super::{ACTIVE, NewToken, unknown};
use crate::args::RoleArg;
use crate::error::{CommandError, ErrorKind};
use headwater_protocol::now_ms;

/// The owner of a token if none is given: that of the first token.
const DEFAULT_USER: &str = "admin";

impl From<RoleArg> for Role {
    fn from(arg: RoleArg) -> Self {
        match arg {
            RoleArg::Admin => Self::Admin,
            RoleArg::Member => Self::Member,
            RoleArg::Reader => Self::Reader,
        }
    }
}

/// Opens the store of this folder, which must exist.
pub(crate) async fn open_store(data: &Path) -> Result<SqliteStore, CommandError> {
    let path = Config::new(data).store_path();
    if !path.exists() {
        return Err(no_store(data));
    }
    SqliteStore::open(&path).await.map_err(refused)
}

pub(super) fn no_store(data: &Path) -> CommandError {
    let message = format!("`{}` has no store: no server has run there yet", data.display());
    CommandError::new(ErrorKind::NotFound, message)
        .hint("`headwater serve` creates the first token; `--data DIR` selects another folder")
}

pub(super) async fn create(data: &Path, new: &NewToken) -> Result<Value, CommandError> {
    let user = new.user.as_deref().unwrap_or(DEFAULT_USER);
    if user.is_empty() || user.chars().any(char::is_control) || user.len() > 255 {
        return Err(CommandError::usage("`--user` must have 1 to 255 bytes and no control characters"));
    }
    let lifetime = new.expires.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let expires = lifetime.map(|time| now_ms().saturating_add(time));
    let scopes = checked_scopes(&new.scopes).map_err(CommandError::usage)?;
    let mut token = make_token(&new.name, user, new.role.map_or(Role::Member, Into::into), expires);
    token.row.scopes = (!scopes.is_empty()).then_some(scopes);
    let store = open_store(data).await?;
    let written = store.put_token(&token.row).await;
    store.close().await.map_err(refused)?;
    written.map_err(refused)?;
    let mut created = token_json(&token.row);
    created["token"] = token.secret.into();
    Ok(created)
}

pub(super) async fn list(data: &Path) -> Result<Vec<Value>, CommandError> {
    let store = open_store(data).await?;
    let rows = store.tokens().await;
    store.close().await.map_err(refused)?;
    Ok(rows.map_err(refused)?.iter().map(token_json).collect())
}

pub(super) async fn revoke(data: &Path, ids: &[String]) -> Result<(), CommandError> {
    let store = open_store(data).await?;
    let done = revoke_all(&store, ids).await;
    store.close().await.map_err(refused)?;
    done
}

async fn revoke_all(store: &dyn Store, ids: &[String]) -> Result<(), CommandError> {
    let known = store.tokens().await.map_err(refused)?;
    for id in ids {
        let row = known.iter().find(|row| row.id == *id).ok_or_else(|| unknown(id))?;
        store.revoke_token(&row.id, now_ms()).await.map_err(refused)?;
    }
    Ok(())
}

fn state(row: &TokenRow) -> &'static str {
    match (row.revoked_at_ms, row.expires_at_ms) {
        (Some(_), _) => "revoked",
        (None, Some(at)) if at <= now_ms() => "expired",
        _ => ACTIVE,
    }
}

pub(super) fn token_json(row: &TokenRow) -> Value {
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

/// An error of the store.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(crate) fn refused(error: StoreError) -> CommandError {
    CommandError::new(ErrorKind::Refused, error.to_string())
}
