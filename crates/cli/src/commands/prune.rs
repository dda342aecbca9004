//! `headwater prune`: remove logs of ended executions, by the rules of the configuration or by what the caller names.

use std::io::{IsTerminal, Write};

use headwater_protocol::api::{PruneBody, PruneRequest};

use crate::args::PruneArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::output::say;
use crate::{resolve, words};

/// Removes them, or reports what it would remove.
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
            return tell(&found, args.json);
        }
        if found.logs == 0 {
            return tell(&PruneBody { dry_run: false, ..found }, args.json);
        }
        if !is_confirmed(&found)? {
            return Err(CommandError::new(ErrorKind::Refused, "nothing was removed"));
        }
    }
    request.dry_run = false;
    tell(&engine.prune(&request).await?, args.json)
}

/// Asks whoever sits at the terminal.
fn is_confirmed(found: &PruneBody) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(cannot_ask(found));
    }
    eprint!("{}", question(found));
    // A terminal that takes no question gives no answer either.
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| CommandError::internal(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn question(found: &PruneBody) -> String {
    format!("Remove {} logs of ended executions ({})? [y/N] ", found.logs, words::bytes(found.bytes))
}

fn cannot_ask(found: &PruneBody) -> CommandError {
    let message = format!("{} logs would be removed ({})", found.logs, words::bytes(found.bytes));
    CommandError::usage(message).hint("say `--yes` to remove them, or `--dry-run` to list them")
}

fn tell(pruned: &PruneBody, json: bool) -> Result<u8, CommandError> {
    if json {
        let text = serde_json::to_string(pruned);
        say(&text.map_err(|error| CommandError::internal(error.to_string()))?)?;
        return Ok(0);
    }
    lines(pruned).iter().try_for_each(|line| say(line))?;
    Ok(0)
}

/// For people: the executions if nothing was removed, and how much it is.
fn lines(pruned: &PruneBody) -> Vec<String> {
    let mut lines = if pruned.dry_run { pruned.executions.clone() } else { Vec::new() };
    let done = if pruned.dry_run { "would remove" } else { "removed" };
    lines.push(format!("{done} {} logs ({})", pruned.logs, words::bytes(pruned.bytes)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn question_and_report_read_like_this() {
        let executions = vec!["exe_00000000000000000000000000000001".to_owned()];
        let found = PruneBody { dry_run: true, logs: 1, bytes: 4096, executions };
        let removed = PruneBody { dry_run: false, logs: 12, bytes: 3 << 20, executions: Vec::new() };
        let text = [question(&found), lines(&found).join("\n"), lines(&removed).join("\n")].join("\n\n");
        snapshot::assert("prune", &text);
        snapshot::assert_errors("prune-without-terminal", &[cannot_ask(&found)]);
    }
}
