//! `headwater user`: manages users. Works on the store directly, whether the server is running or not.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use headwater_gateway::accounts::{owns_sessions, user_name};
use headwater_gateway::auth::{check_password, hash_password};
use headwater_protocol::api::Timestamp;
use headwater_protocol::now_ms;
use headwater_store::{PageRequest, Role, Store, UserChange, UserRow};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use super::token::{ACTIVE, refused, with_store};
use crate::args::{UserAction, UserArgs};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_json, print_line};

/// Users read from the store at a time.
const PAGE: u32 = 1000;

/// Runs the action.
pub fn user(data: &Path, args: UserArgs) -> Result<u8, CommandError> {
    with_store(data, async |store| act(store, args.action).await)
}

async fn act(store: &dyn Store, action: UserAction) -> Result<u8, CommandError> {
    match action {
        UserAction::Add { name, role, no_password, take_over } => {
            let name = user_name(&name).map_err(CommandError::usage)?;
            check_is_free(store, &name, take_over).await?;
            add(store, name, role.into(), no_password).await
        }
        UserAction::List { json } => list(store, json).await,
        UserAction::Password { name } => {
            let row = find(store, &name).await?;
            let password = Some(ask_password(&row.name)?);
            change(store, &row, UserChange { password, end_sign_ins: true, ..UserChange::default() }).await
        }
        UserAction::Disable { name } => {
            let row = find(store, &name).await?;
            let disabled = Some(true);
            change(store, &row, UserChange { disabled, end_sign_ins: true, ..UserChange::default() }).await
        }
        UserAction::Enable { name } => {
            let row = find(store, &name).await?;
            change(store, &row, UserChange { disabled: Some(false), ..UserChange::default() }).await
        }
    }
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

fn has_sessions(name: &str) -> CommandError {
    let message = format!("the name `{name}` already owns sessions, which the new user would get");
    CommandError::new(ErrorKind::Refused, message)
        .hint("choose another name, delete the sessions, or use `--take-over` if it is the same person")
}

async fn add(store: &dyn Store, name: String, role: Role, no_password: bool) -> Result<u8, CommandError> {
    let password = if no_password { None } else { Some(ask_password(&name)?) };
    let id = format!("usr_{:032x}", headwater_protocol::SessionId::random().bits());
    let row = UserRow { id, name, password, role, disabled: false, created_at_ms: now_ms() };
    if !store.put_user(&row).await.map_err(refused)? {
        return Err(taken(&row.name));
    }
    print_line(&row.id)?;
    Ok(0)
}

fn taken(name: &str) -> CommandError {
    CommandError::new(ErrorKind::Refused, format!("a user `{name}` already exists"))
        .hint("`headwater user password` changes the password")
}

async fn list(store: &dyn Store, json: bool) -> Result<u8, CommandError> {
    let mut page = PageRequest::first(PAGE);
    loop {
        let found = store.users(page).await.map_err(refused)?;
        for row in found.items {
            if json {
                let shown = json!({
                    "id": row.id,
                    "name": row.name,
                    "role": row.role.name(),
                    "state": state(&row),
                    "has_password": row.password.is_some(),
                    "created_at": Timestamp(row.created_at_ms),
                });
                print_json(&shown)?;
            } else {
                print_line(&user_line(&row))?;
            }
        }
        page.cursor = found.next;
        if page.cursor.is_none() {
            return Ok(0);
        }
    }
}

const fn state(row: &UserRow) -> &'static str {
    if row.disabled { "disabled" } else { ACTIVE }
}

/// A line of the list.
fn user_line(row: &UserRow) -> String {
    let state = if row.disabled { "disabled" } else { "active" };
    format!("{}  {:<7} {state:<8} {}", row.id, row.role.name(), printable(&row.name))
}

async fn find(store: &dyn Store, name: &str) -> Result<UserRow, CommandError> {
    let row = store.user_by_name(&name.to_lowercase()).await.map_err(refused)?;
    row.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("there is no user `{name}`"))
        .hint("`headwater user list` lists all users")
}

#[allow(clippy::needless_pass_by_value)] // each caller builds it for this call
async fn change(store: &dyn Store, row: &UserRow, change: UserChange) -> Result<u8, CommandError> {
    store.update_user(&row.id, &change).await.map_err(refused)?;
    Ok(0)
}

/// Reads a password (on a terminal twice, without echo) and hashes it.
fn ask_password(name: &str) -> Result<String, CommandError> {
    let stdin = std::io::stdin();
    let password = if stdin.is_terminal() {
        let first = read_hidden(&format!("Password of {}: ", printable(name)))?;
        if first != read_hidden("Repeat password: ")? {
            return Err(CommandError::usage("the passwords do not match"));
        }
        first
    } else {
        read_line()?
    };
    check_password(&password).map_err(|error| CommandError::usage(error.to_string()))?;
    hash_password(&password).map_err(|error| CommandError::internal(error.to_string()))
}

/// Reads a line without echoing it.
fn read_hidden(prompt: &str) -> Result<String, CommandError> {
    let failed = |error: rustix::io::Errno| CommandError::internal(format!("cannot turn off echo: {error}"));
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(failed)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    eprint!("{prompt}");
    let _ = std::io::stderr().flush();
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(failed)?;
    let read = read_line();
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(failed)?;
    eprintln!();
    read
}

fn read_line() -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    read.map_err(|error| CommandError::internal(format!("cannot read standard input: {error}")))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn list_and_errors_match_their_snapshots() {
        let row = |id: u32, name: &str, role, disabled| UserRow {
            id: format!("usr_{id:032x}"),
            name: name.into(),
            password: None,
            role,
            disabled,
            created_at_ms: 0,
        };
        let rows = [row(1, "ann", Role::Admin, false), row(2, "bob", Role::Member, true)];
        snapshot::assert("user-list", &rows.map(|row| user_line(&row)).join("\n"));
        snapshot::assert_errors("user-errors", &[has_sessions("ann"), taken("ann"), unknown("carl")]);
    }
}
