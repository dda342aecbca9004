//! `headwater snapshot`: create, list, restore and remove snapshots of a workspace.

use headwater_protocol::api::SnapshotBody;
use headwater_protocol::{SessionId, SnapshotId};

use crate::args::SnapshotAction;
use crate::confirm::confirm;
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_json, print_line, print_list};
use crate::view::{self, Table};
use crate::{humanize, resolve};

/// Runs the action.
pub async fn snapshot(place: &Place, action: SnapshotAction) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    match action {
        SnapshotAction::Create { session, name, json } => {
            let session = resolve::session(&engine, &session).await?;
            let created = engine.create_snapshot(session, name.as_deref()).await?;
            if json { print_json(&view::object(&created))? } else { print_line(&created.id.to_string())? }
        }
        SnapshotAction::List { session, json } => {
            let session = resolve::session(&engine, &session).await?;
            let all = engine.snapshots(session).await?;
            print_list(&all, json, table)?;
        }
        SnapshotAction::Restore { session: text, snapshot, yes } => {
            let session = resolve::session(&engine, &text).await?;
            let id = find(&engine, session, &snapshot).await?;
            let what = format!(
                "replace the workspace of session `{}` with snapshot `{}`",
                printable(&text),
                printable(&snapshot)
            );
            confirm(&what, yes)?;
            engine.restore_snapshot(session, id).await?;
        }
        SnapshotAction::Remove { session, snapshots } => {
            let session = resolve::session(&engine, &session).await?;
            let mut ids = Vec::new();
            for text in &snapshots {
                ids.push(find(&engine, session, text).await?);
            }
            for id in ids {
                engine.remove_snapshot(session, id).await?;
            }
        }
    }
    Ok(0)
}

/// The snapshot of a session with this id, this unique prefix of an id, or this unique name.
pub async fn find(engine: &Engine, session: SessionId, text: &str) -> Result<SnapshotId, CommandError> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    pick(&engine.snapshots(session).await?, text)
}

fn pick(all: &[SnapshotBody], text: &str) -> Result<SnapshotId, CommandError> {
    let named: Vec<_> =
        all.iter().filter(|one| one.name.as_deref() == Some(text)).map(|one| one.id).collect();
    let full = format!("snp_{}", text.strip_prefix("snp_").unwrap_or(text));
    let by_prefix = || all.iter().map(|one| one.id).filter(|id| id.to_string().starts_with(&full)).collect();
    let found: Vec<SnapshotId> = if named.is_empty() && full != "snp_" { by_prefix() } else { named };
    let message = match found.as_slice() {
        [one] => return Ok(*one),
        [] => format!("there is no snapshot `{text}`"),
        many => format!("`{text}` matches {} snapshots", many.len()),
    };
    Err(CommandError::new(ErrorKind::NotFound, message).hint("`headwater snapshot list SESSION` lists them"))
}

fn table(all: &[SnapshotBody]) -> Vec<String> {
    let mut table = Table::new(&["SNAPSHOT", "NAME", "CREATED", "SIZE", "FILES"]);
    for one in all {
        table.row([
            table.id(&one.id),
            printable(one.name.as_deref().unwrap_or("-")),
            humanize::ago(one.created_at.0),
            humanize::bytes(one.bytes),
            one.files.to_string(),
        ]);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use headwater_protocol::api::Timestamp;

    use super::*;
    use crate::snapshot;

    fn one(digit: u32, name: Option<&str>) -> SnapshotBody {
        SnapshotBody {
            id: format!("snp_{digit}{:031}", 0).parse().unwrap(),
            name: name.map(Into::into),
            created_at: Timestamp(headwater_protocol::now_ms() - 25 * 3_600_000),
            bytes: 4096,
            files: 2,
        }
    }

    #[test]
    fn a_snapshot_is_found_by_id_prefix_and_name() {
        let all = [one(1, Some("clean")), one(2, Some("twin")), one(3, Some("twin"))];
        for text in ["clean", "1", "snp_1"] {
            assert_eq!(pick(&all, text), Ok(all[0].id), "{text}");
        }
        for text in ["twin", "snp_", "", "9"] {
            assert_eq!(pick(&all, text).unwrap_err().kind, ErrorKind::NotFound, "{text}");
        }
    }

    #[test]
    fn the_table_matches_its_snapshot() {
        snapshot::assert("snapshot-list", &table(&[one(1, None), one(2, Some("clean"))]).join("\n"));
    }
}
