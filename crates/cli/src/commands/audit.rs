//! `headwater audit`: recorded actions, newest first.

use headwater_client::Method;
use serde_json::Value;

use crate::args::{AuditArgs, millis};
use crate::connect::Place;
use crate::error::CommandError;
use crate::escape::printable;
use crate::output::print_list;
use crate::view::{Table, field};
use headwater_protocol::now_ms;

/// The most rows of one page of the API.
const PAGE: usize = 1000;

/// Prints a table or JSON.
pub async fn audit(place: &Place, args: &AuditArgs) -> Result<u8, CommandError> {
    let server = place.api()?;
    let mut query = Vec::new();
    for (name, value) in [("owner", &args.user), ("action", &args.action), ("object", &args.object)] {
        query.extend(value.clone().map(|value| (name, value)));
    }
    if args.denied {
        query.push(("result", "denied".to_owned()));
    }
    query.extend(args.since.map(|time| ("since_ms", now_ms().saturating_sub(millis(time)).to_string())));
    let (mut rows, mut cursor) = (Vec::new(), None::<String>);
    while rows.len() < args.limit {
        let mut page = query.clone();
        page.push(("limit", (args.limit - rows.len()).min(PAGE).to_string()));
        page.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let found = server.call(Method::GET, "v1/audit", &page, None).await?;
        rows.extend(found["items"].as_array().cloned().unwrap_or_default());
        cursor = found["next_cursor"].as_str().map(ToOwned::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    print_list(&rows, args.json, table)?;
    Ok(0)
}

fn table(rows: &[Value]) -> Vec<String> {
    let mut table = Table::new(&["TIME", "USER", "ACTION", "RESULT", "ADDRESS", "OBJECT", "DETAIL"]);
    for row in rows {
        let text = |name: &str| printable(field(row, name));
        table.row([
            text("at"),
            text("owner"),
            text("action"),
            text("result"),
            text("address"),
            text("object"),
            text("detail"),
        ]);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot;

    #[test]
    fn the_table_matches_its_snapshot() {
        let row = json!({
            "at": "2026-01-01T00:00:00.000Z", "owner": "ann", "action": "session.create", "result": "ok",
            "address": "127.0.0.1", "object": "ses_1", "detail": "a\u{1b}[2J",
        });
        snapshot::assert("audit", &table(&[row]).join("\n"));
    }
}
