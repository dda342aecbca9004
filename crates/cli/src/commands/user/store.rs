//! Users in the store of this machine.

use std::path::Path;

use headwater_gateway::accounts::{owns_sessions, user_name};
use headwater_gateway::auth::{check_password, hash_password};
use headwater_protocol::api::Timestamp;
use headwater_store::{PageRequest, Role, SqliteStore, Store, UserChange, UserRow};
use serde_json::{Value, json};

use super::password::ask_password;
use super::{has_sessions, taken, unknown};
use crate::args::UserAction;
use crate::commands::token::ACTIVE;
use crate::commands::token::store::{open_store, refused};
use crate::error::CommandError;
use headwater_protocol::now_ms;

/// Users read from the store at a time.
const PAGE: u32 = 1000;

/// Makes a change. Returns the id of a user that was created.
pub(super) async fn change(data: &Path, action: UserAction) -> Result<Option<String>, CommandError> {
    let store = open_store(data).await?;
    let done = act(&store, action).await;
    store.close().await.map_err(refused)?;
    done
}

async fn act(store: &SqliteStore, action: UserAction) -> Result<Option<String>, CommandError> {
    match action {
        UserAction::Add { name, role, no_password, take_over } => {
            let name = user_name(&name).map_err(CommandError::usage)?;
            check_is_free(store, &name, take_over).await?;
            return add(store, name, role.into(), no_password).await.map(Some);
        }
        UserAction::Password { name } => {
            let row = find(store, &name).await?;
            let password = Some(hash(&ask_password(&row.name)?)?);
            update(store, &row, UserChange { password, end_sign_ins: true, ..UserChange::default() }).await?;
        }
        UserAction::Disable { name } => {
            let row = find(store, &name).await?;
            let disabled = Some(true);
            update(store, &row, UserChange { disabled, end_sign_ins: true, ..UserChange::default() }).await?;
        }
        UserAction::Enable { name } => {
            let row = find(store, &name).await?;
            update(store, &row, UserChange { disabled: Some(false), ..UserChange::default() }).await?;
        }
        UserAction::List { .. } => {} // it changes nothing
    }
    Ok(None)
}

/// Checks that the name is not taken and, without `--take-over`, that it owns no sessions.
async fn check_is_free(store: &dyn Store, name: &str, take_over: bool) -> Result<(), CommandError> {
    if store.user_by_name(name).await.map_err(refused)?.is_some() {
        return Err(taken(name));
    }
    if !take_over && owns_sessions(store, name).await.map_err(refused)? {
        return Err(has_sessions(name));
    }
    Ok(())
}

async fn add(store: &dyn Store, name: String, role: Role, no_password: bool) -> Result<String, CommandError> {
    let password = if no_password { None } else { Some(hash(&ask_password(&name)?)?) };
    let id = format!("usr_{:032x}", headwater_protocol::SessionId::random().bits());
    let row = UserRow { id, name, password, role, disabled: false, created_at_ms: now_ms() };
    if !store.put_user(&row).await.map_err(refused)? {
        return Err(taken(&row.name));
    }
    Ok(row.id)
}

fn hash(password: &str) -> Result<String, CommandError> {
    check_password(password).map_err(|error| CommandError::usage(error.to_string()))?;
    hash_password(password).map_err(|error| CommandError::internal(error.to_string()))
}

pub(super) async fn list(data: &Path) -> Result<Vec<Value>, CommandError> {
    let store = open_store(data).await?;
    let all = read_all(&store).await;
    store.close().await.map_err(refused)?;
    all
}

async fn read_all(store: &dyn Store) -> Result<Vec<Value>, CommandError> {
    let (mut page, mut all) = (PageRequest::first(PAGE), Vec::new());
    loop {
        let found = store.users(page).await.map_err(refused)?;
        all.extend(found.items.iter().map(user_json));
        page.cursor = found.next;
        if page.cursor.is_none() {
            return Ok(all);
        }
    }
}

pub(super) fn user_json(row: &UserRow) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "role": row.role.name(),
        "state": if row.disabled { "disabled" } else { ACTIVE },
        "has_password": row.password.is_some(),
        "created_at": Timestamp(row.created_at_ms),
    })
}

async fn find(store: &dyn Store, name: &str) -> Result<UserRow, CommandError> {
    let row = store.user_by_name(&name.to_lowercase()).await.map_err(refused)?;
    row.ok_or_else(|| unknown(name))
}

#[allow(clippy::needless_pass_by_value)] // each caller builds it for this call
async fn update(store: &dyn Store, row: &UserRow, change: UserChange) -> Result<(), CommandError> {
    store.update_user(&row.id, &change).await.map_err(refused)?;
    Ok(())
}
