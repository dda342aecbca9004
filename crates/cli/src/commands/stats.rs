//! `headwater stats`: what running sessions use.

use std::collections::BTreeMap;

use crate::args::StatsArgs;
use crate::connect::Place;
use crate::engine::SessionUse;
use crate::error::CommandError;
use crate::escape::printable;
use crate::output::{print_json, print_line};
use crate::view::{self, Table};
use crate::{humanize, resolve};

/// Prints a table or JSON.
pub async fn stats(place: &Place, args: &StatsArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let mut ids = Vec::new();
    for text in &args.sessions {
        ids.push(resolve::session(&engine, text).await?);
    }
    let used = engine.stats(&ids).await?;
    if args.json {
        used.iter().try_for_each(|one| print_json(&view::object(one)))?;
        return Ok(0);
    }
    let all = engine.sessions(false).await?;
    let names =
        all.into_iter().map(|session| (session.id.to_string(), session.name.unwrap_or_default())).collect();
    table(&used, &names).iter().try_for_each(|line| print_line(line))?;
    Ok(0)
}

fn table(used: &[SessionUse], names: &BTreeMap<String, String>) -> Vec<String> {
    let mut table = Table::new(&["SESSION", "NAME", "CPU TIME", "MEMORY", "PROCESSES", "DISK", "LOGS"]);
    for one in used {
        let name = names.get(&one.session_id).filter(|name| !name.is_empty());
        table.row([
            table.id(&one.session_id),
            printable(name.map_or("-", String::as_str)),
            humanize::duration(one.cpu_ms),
            if one.memory_bytes == 0 { "-".to_owned() } else { humanize::bytes(one.memory_bytes) },
            one.processes.to_string(),
            humanize::bytes(one.disk_bytes),
            humanize::bytes(one.log_bytes),
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
        let id = |digit: u32| format!("ses_{digit:032x}");
        let one = |digit, memory_bytes| SessionUse {
            session_id: id(digit),
            cpu_ms: 1_500,
            memory_bytes,
            processes: 3,
            disk_bytes: 4096,
            log_bytes: 17,
        };
        let names = [(id(1), "dev".to_owned()), (id(2), String::new())].into();
        snapshot::assert("stats", &table(&[one(1, 3 << 20), one(2, 0)], &names).join("\n"));
    }
}
