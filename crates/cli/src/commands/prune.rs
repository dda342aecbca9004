//! `headwater prune`: delete logs of ended executions, by the configured rules or by the flags.

use std::io::IsTerminal;

use headwater_protocol::api::{PruneBody, PruneRequest};

use crate::args::PruneArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::output::{print_line, print_prompt};
use crate::{humanize, resolve};

/// Deletes logs, or prints what it would delete.
pub async fn prune(place: &Place, args: &PruneArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let session_id = match &args.session {
        Some(text) => Some(resolve::session(&engine, text).await?.to_string()),
        None => None,
    };
    let mut request = PruneRequest {
        owner: args.owner.clone(),
        session_id,
        older_than: args.older_than.map(|time| format!("{}ms", time.as_millis())),
        keep: args.keep,
        all: args.all_logs,
        dry_run: true,
    };
    if args.dry_run || !args.yes {
        let found = engine.prune(&request).await?;
        if args.dry_run {
            return print(&found, args.json);
        }
        if found.logs == 0 {
            return print(&PruneBody { dry_run: false, ..found }, args.json);
        }
        if !is_confirmed(&found)? {
            return Err(CommandError::new(ErrorKind::Refused, "not confirmed: nothing was deleted"));
        }
    }
    request.dry_run = false;
    print(&engine.prune(&request).await?, args.json)
}

/// Asks the user at the terminal.
fn is_confirmed(found: &PruneBody) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(cannot_ask(found));
    }
    print_prompt(&question(found));
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| CommandError::internal(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn logs(found: &PruneBody) -> String {
    humanize::count(found.logs, "log")
}

fn question(found: &PruneBody) -> String {
    format!("Delete {} of ended executions ({})? [y/N] ", logs(found), humanize::bytes(found.bytes))
}

fn cannot_ask(found: &PruneBody) -> CommandError {
    let message = format!("{} ({}) to delete, not confirmed", logs(found), humanize::bytes(found.bytes));
    CommandError::usage(message).hint("use `--yes` to delete without confirmation, or `--dry-run` to list")
}

fn print(pruned: &PruneBody, json: bool) -> Result<u8, CommandError> {
    if json {
        let text = serde_json::to_string(pruned);
        print_line(&text.map_err(|error| CommandError::internal(error.to_string()))?)?;
        return Ok(0);
    }
    lines(pruned).iter().try_for_each(|line| print_line(line))?;
    Ok(0)
}

/// The report as text: with `--dry-run` the executions, and always the number and size of the logs.
fn lines(pruned: &PruneBody) -> Vec<String> {
    let mut lines = if pruned.dry_run { pruned.executions.clone() } else { Vec::new() };
    let done = if pruned.dry_run { "would delete" } else { "deleted" };
    lines.push(format!("{done} {} ({})", logs(pruned), humanize::bytes(pruned.bytes)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn question_and_report_match_their_snapshots() {
        let executions = vec!["exe_00000000000000000000000000000001".to_owned()];
        let found = PruneBody { dry_run: true, logs: 1, bytes: 4096, executions };
        let removed = PruneBody { dry_run: false, logs: 12, bytes: 3 << 20, executions: Vec::new() };
        let text = [question(&found), lines(&found).join("\n"), lines(&removed).join("\n")].join("\n\n");
        snapshot::assert("prune", &text);
        snapshot::assert_errors("prune-without-terminal", &[cannot_ask(&found)]);
    }
}
