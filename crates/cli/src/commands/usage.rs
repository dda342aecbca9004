//! `headwater usage`: your quota, and what you use of it.

use headwater_client::Method;
use serde_json::Value;

use crate::args::UsageArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::humanize;
use crate::output::{print_json, print_line};
use crate::view::Table;

/// Prints a table or JSON.
pub async fn usage(place: &Place, args: &UsageArgs) -> Result<u8, CommandError> {
    let usage = place.api()?.call(Method::GET, "v1/usage", &[], None).await?;
    if args.json {
        print_json(&usage)?;
    } else {
        table(&usage).iter().try_for_each(|line| print_line(line))?;
    }
    Ok(0)
}

/// Formats an amount.
type Show = fn(u64) -> String;

fn table(usage: &Value) -> Vec<String> {
    let mut table = Table::new(&["RESOURCE", "USED", "QUOTA"]);
    let count: Show = |count| count.to_string();
    let rows: [(&str, &str, Show); 4] = [
        ("sessions", "sessions", count),
        ("executions at once", "executions", count),
        ("CPU time today", "cpu_ms", humanize::duration),
        ("disk", "disk_bytes", humanize::bytes),
    ];
    for (what, field, show) in rows {
        let amount =
            |of: &str, absent: &str| usage[of][field].as_u64().map_or_else(|| absent.to_owned(), show);
        table.row([what.to_owned(), amount("used", "-"), amount("quota", "unlimited")]);
    }
    for (what, field) in
        [("  workspaces", "workspaces_bytes"), ("  snapshots", "snapshots_bytes"), ("  logs", "logs_bytes")]
    {
        let used = usage["disk"][field].as_u64().unwrap_or_default();
        table.row([what.to_owned(), humanize::bytes(used), String::new()]);
    }
    table.lines().into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot;

    #[test]
    fn the_table_matches_its_snapshot() {
        let usage = json!({
            "used": {"sessions": 2, "executions": 0, "cpu_ms": 90_000, "disk_bytes": 5 << 20},
            "quota": {"sessions": 50, "disk_bytes": 1u64 << 30},
            "disk": {"workspaces_bytes": 4 << 20, "snapshots_bytes": 0, "logs_bytes": 1 << 20},
        });
        snapshot::assert("usage", &table(&usage).join("\n"));
    }
}
