//! `headwater share`: links to a session, for people without an account.

use headwater_client::Method;
use serde_json::{Value, json};

use crate::args::{AccessArg, ShareAction};
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::escape::printable;
use crate::output::{print_json, print_line, print_list};
use crate::resolve::{self, segment};
use crate::view::{Table, field};

/// Runs the action.
pub async fn share(place: &Place, action: ShareAction) -> Result<u8, CommandError> {
    let server = place.api()?;
    let engine = Engine::Remote(server.clone());
    match action {
        ShareAction::Create { session, access, expires, json } => {
            let session = resolve::session(&engine, &session).await?;
            let access = if access == AccessArg::Write { "write" } else { "read" };
            let mut request = json!({ "access": access });
            if let Some(expires) = expires {
                request["expires_in_ms"] = u64::try_from(expires.as_millis()).unwrap_or(u64::MAX).into();
            }
            let path = format!("v1/sessions/{session}/shares");
            let created = server.call(Method::POST, &path, &[], Some(&request)).await?;
            if json { print_json(&created)? } else { print_line(field(&created, "token"))? }
        }
        ShareAction::List { session, json } => {
            let session = resolve::session(&engine, &session).await?;
            let listed =
                server.call(Method::GET, &format!("v1/sessions/{session}/shares"), &[], None).await?;
            let all = listed["items"].as_array().cloned().unwrap_or_default();
            print_list(&all, json, table)?;
        }
        ShareAction::Revoke { session, ids } => {
            let session = resolve::session(&engine, &session).await?;
            for id in &ids {
                let path = format!("v1/sessions/{session}/shares/{}", segment(id));
                server.call(Method::DELETE, &path, &[], None).await?;
            }
        }
    }
    Ok(0)
}

fn table(all: &[Value]) -> Vec<String> {
    let mut table = Table::new(&["LINK", "ACCESS", "MADE BY", "EXPIRES", "STATE"]);
    for one in all {
        table.row([
            field(one, "id").to_owned(),
            field(one, "access").to_owned(),
            printable(field(one, "made_by")),
            field(one, "expires_at").to_owned(),
            if one["revoked_at"].is_null() { "active" } else { "revoked" }.to_owned(),
        ]);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_table_matches_its_snapshot() {
        let link = |id: &str, access: &str, revoked: Value| {
            json!({"id": id, "access": access, "made_by": "ann", "expires_at": "2026-01-01T00:00:00.000Z",
                   "revoked_at": revoked})
        };
        let all =
            [link("shr_1", "read", Value::Null), link("shr_2", "write", json!("2026-01-01T00:00:00.000Z"))];
        snapshot::assert("share-list", &table(&all).join("\n"));
    }
}
