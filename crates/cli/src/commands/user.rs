//! `headwater user`: who signs in. Works on the store itself, whether the server runs or not.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use headwater_gateway::accounts::{owns_sessions, user_name};
use headwater_gateway::auth::{check_password, hash_password};
use headwater_protocol::api::Timestamp;
use headwater_store::{PageRequest, Role, Store, UserChange, UserRow};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use super::token::{refused, with_store};
use crate::args::{UserAction, UserArgs};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{say, say_json};
use crate::words::now_ms;

/// Users listed at once.
const PAGE: u32 = 1000;

/// Does what was asked.
pub fn user(data: &Path, args: UserArgs) -> Result<u8, CommandError> {
    with_store(data, async |store| act(store, args.action).await)
}

async fn act(store: &dyn Store, action: UserAction) -> Result<u8, CommandError> {
    match action {
        UserAction::Add { name, role, no_password, take_over } => {
            let name = user_name(&name).map_err(CommandError::usage)?;
            is_free(store, &name, take_over).await?;
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

/// Checks that nobody has the name, and that no sessions belong to it unless they are to be taken over.
async fn is_free(store: &dyn Store, name: &str, take_over: bool) -> Result<(), CommandError> {
    if store.user_by_name(name).await.map_err(refused)?.is_some() {
        return Err(taken(name));
    }
    if !take_over && owns_sessions(store, name).await.map_err(refused)? {
        return Err(has_sessions(name));
    }
    Ok(())
}

fn has_sessions(name: &str) -> CommandError {
    let message = format!("sessions belong to the name `{name}`, and the new user would have them");
    CommandError::new(ErrorKind::Refused, message)
        .hint("choose another name; or delete the sessions; or, if it is the same person, say `--take-over`")
}

async fn add(store: &dyn Store, name: String, role: Role, no_password: bool) -> Result<u8, CommandError> {
    let password = if no_password { None } else { Some(ask_password(&name)?) };
    let id = format!("usr_{:032x}", headwater_protocol::SessionId::random().bits());
    let row = UserRow { id, name, password, role, disabled: false, created_at_ms: now_ms() };
    if !store.put_user(&row).await.map_err(refused)? {
        return Err(taken(&row.name));
    }
    say(&row.id)?;
    Ok(0)
}

fn taken(name: &str) -> CommandError {
    CommandError::new(ErrorKind::Refused, format!("there is a user `{name}` already"))
        .hint("`headwater user password` sets another password")
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
                say_json(&shown)?;
            } else {
                say(&user_line(&row))?;
            }
        }
        page.cursor = found.next;
        if page.cursor.is_none() {
            return Ok(0);
        }
    }
}

const fn state(row: &UserRow) -> &'static str {
    if row.disabled { "disabled" } else { "good" }
}

/// A user in the list for people.
fn user_line(row: &UserRow) -> String {
    format!("{}  {:<7} {:<8} {}", row.id, row.role.name(), state(row), printable(&row.name))
}

async fn find(store: &dyn Store, name: &str) -> Result<UserRow, CommandError> {
    let row = store.user_by_name(&name.to_lowercase()).await.map_err(refused)?;
    row.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("there is no user `{name}`"))
        .hint("`headwater user list` shows those that are there")
}

#[allow(clippy::needless_pass_by_value)] // made for this call
async fn change(store: &dyn Store, row: &UserRow, change: UserChange) -> Result<u8, CommandError> {
    store.update_user(&row.id, &change).await.map_err(refused)?;
    Ok(0)
}

/// Asks for a password, twice and unseen on a terminal, and hashes it.
fn ask_password(name: &str) -> Result<String, CommandError> {
    let stdin = std::io::stdin();
    let password = if stdin.is_terminal() {
        let first = unseen(&format!("password of {}: ", printable(name)))?;
        if first != unseen("again: ")? {
            return Err(CommandError::usage("the two are not the same"));
        }
        first
    } else {
        line()?
    };
    check_password(&password).map_err(|error| CommandError::usage(error.to_string()))?;
    hash_password(&password).map_err(|error| CommandError::internal(error.to_string()))
}

/// A line that is not shown as it is typed.
fn unseen(prompt: &str) -> Result<String, CommandError> {
    let failed = |error: rustix::io::Errno| CommandError::internal(format!("the terminal: {error}"));
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(failed)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    eprint!("{prompt}");
    let _ = std::io::stderr().flush();
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(failed)?;
    let read = line();
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(failed)?;
    eprintln!();
    read
}

fn line() -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    read.map_err(|error| CommandError::internal(format!("standard input: {error}")))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn list_and_errors_read_like_this() {
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
