//! `headwater token`: manages API tokens, of a server or directly in the store of this machine, whether a server is
//! running or not.

mod api;
#[cfg_attr(not(target_os = "linux"), path = "token/no_store.rs")]
pub(super) mod store;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::args::{RoleArg, TokenAction, TokenArgs};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_json, print_line, print_list};
use crate::server::Server;
use crate::view::{Table, field};

/// The state of a token or a user that is accepted, as JSON output has it.
pub(super) const ACTIVE: &str = "good";

/// A token to create.
#[derive(Debug)]
struct NewToken {
    name: String,
    /// The user; by default `admin`, or the caller of a server.
    user: Option<String>,
    role: Option<RoleArg>,
    /// The only scopes; empty: all of its role.
    scopes: Vec<String>,
    expires: Option<Duration>,
}

/// Runs the action.
pub async fn token(data: &Path, server: Option<&Server>, args: TokenArgs) -> Result<u8, CommandError> {
    match args.action {
        TokenAction::Create { name, user, role, scope, expires, json } => {
            let new = NewToken { name, user, role, scopes: scope, expires };
            let created = match server {
                Some(server) => api::create(&server.client()?, &new).await?,
                None => store::create(data, &new).await?,
            };
            if json {
                print_json(&created)?;
            } else {
                print_line(created["token"].as_str().unwrap_or_default())?;
            }
        }
        TokenAction::List { json } => {
            let all = match server {
                Some(server) => api::list(&server.client()?).await?,
                None => store::list(data).await?,
            };
            print_list(&all, json, table)?;
        }
        TokenAction::Revoke { ids } => match server {
            Some(server) => api::revoke(&server.client()?, &ids).await?,
            None => store::revoke(data, &ids).await?,
        },
    }
    Ok(0)
}

fn unknown(id: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("there is no token `{id}`"))
        .hint("`headwater token list` lists all tokens")
}

fn table(all: &[Value]) -> Vec<String> {
    let mut table = Table::new(&["TOKEN", "ROLE", "USER", "STATE", "NAME"]);
    for token in all {
        let state = field(token, "state");
        let state = if state == ACTIVE { "active" } else { state };
        table.row([
            field(token, "id").to_owned(),
            field(token, "role").to_owned(),
            printable(field(token, "user")),
            state.to_owned(),
            printable(field(token, "name")),
        ]);
    }
    table.lines()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use headwater_gateway::auth::make_token;
    use headwater_store::{Role, TokenRow};

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
        let all: Vec<_> = rows.iter().map(store::token_json).collect();
        snapshot::assert("token-list", &table(&all).join("\n"));
        snapshot::assert_errors("token-errors", &[store::no_store(Path::new("/data")), unknown("tok_9")]);
    }
}
