//! `headwater user`: manages users, of a server or directly in the store of this machine, whether a server is running or
//! not.

mod api;
mod password;
#[cfg_attr(not(target_os = "linux"), path = "user/no_store.rs")]
mod store;

use std::path::Path;

use serde_json::Value;

pub use self::password::read_hidden;
use super::token::ACTIVE;
use crate::args::{UserAction, UserArgs};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_line, print_list};
use crate::server::Server;
use crate::view::{Table, field};

/// Runs the action.
pub async fn user(data: &Path, server: Option<&Server>, args: UserArgs) -> Result<u8, CommandError> {
    if let UserAction::List { json } = args.action {
        let all = match server {
            Some(server) => api::list(&server.client()?).await?,
            None => store::list(data).await?,
        };
        print_list(&all, json, table)?;
        return Ok(0);
    }
    let created = match server {
        Some(server) => api::change(&server.client()?, args.action).await?,
        None => store::change(data, args.action).await?,
    };
    created.map_or(Ok(()), |id| print_line(&id))?;
    Ok(0)
}

fn table(all: &[Value]) -> Vec<String> {
    let mut table = Table::new(&["USER", "ROLE", "STATE", "NAME"]);
    for user in all {
        let state = field(user, "state");
        table.row([
            field(user, "id").to_owned(),
            field(user, "role").to_owned(),
            if state == ACTIVE { "active" } else { state }.to_owned(),
            printable(field(user, "name")),
        ]);
    }
    table.lines()
}

fn taken(name: &str) -> CommandError {
    CommandError::new(ErrorKind::Refused, format!("a user `{name}` already exists"))
        .hint("`headwater user password` changes the password")
}

fn has_sessions(name: &str) -> CommandError {
    let message = format!("the name `{name}` already owns sessions, which the new user would get");
    CommandError::new(ErrorKind::Refused, message)
        .hint("choose another name, delete the sessions, or use `--take-over` if it is the same person")
}

fn unknown(name: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("there is no user `{name}`"))
        .hint("`headwater user list` lists all users")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use headwater_store::{Role, UserRow};

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
        let all: Vec<_> = rows.iter().map(store::user_json).collect();
        snapshot::assert("user-list", &table(&all).join("\n"));
        snapshot::assert_errors("user-errors", &[has_sessions("ann"), taken("ann"), unknown("carl")]);
    }
}
