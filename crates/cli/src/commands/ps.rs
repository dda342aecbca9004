//! `headwater ps`: executions, and their processes if asked for.

use headwater_contract::Client;
use headwater_protocol::{Execution, Process};

use crate::args::PsArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::output::say;
use crate::view::{self, Table};
use crate::{resolve, words};

/// Lists them, newest last.
pub async fn ps(place: &Place, args: &PsArgs) -> Result<u8, CommandError> {
    let client = place.existing().await?;
    let session = match &args.session {
        Some(text) => Some(resolve::session(&client, text).await?),
        None => None,
    };
    let mut all = client.insist(async |client: &Client| client.executions(session, false).await).await?;
    // Those whose program has ended but whose children still write are not over.
    all.retain(|execution| args.all || execution.state.name() != "closed");
    all.sort_by_key(|execution| (execution.started_at_ms, execution.id));
    let mut listed = Vec::new();
    for execution in all {
        let processes = if args.processes { processes(&client, &execution).await? } else { Vec::new() };
        listed.push((execution, processes));
    }
    if args.json {
        for (execution, processes) in &listed {
            let mut value = view::execution_json(execution);
            if args.processes {
                value["processes"] = processes.iter().map(view::process_json).collect();
            }
            say(&value.to_string())?;
        }
    } else {
        for line in table(&listed) {
            say(&line)?;
        }
    }
    Ok(0)
}

/// Its processes; none if it is over, or is forgotten meanwhile.
async fn processes(client: &Client, execution: &Execution) -> Result<Vec<Process>, CommandError> {
    if execution.state.name() == "closed" {
        return Ok(Vec::new());
    }
    match client.insist(async |client: &Client| client.processes(execution.id).await).await {
        Err(error) if error.fault().is_none() => Err(error.into()),
        answer => Ok(answer.unwrap_or_default()),
    }
}

fn table(listed: &[(Execution, Vec<Process>)]) -> Vec<String> {
    let mut table = Table::new(&["EXECUTION", "SESSION", "STATE", "STARTED", "BYTES", "COMMAND"]);
    for (execution, processes) in listed {
        let bytes = execution.stdout_bytes + execution.stderr_bytes + execution.output_bytes;
        let plain = |text: String| (text.clone(), text);
        table.painted_row([
            plain(table.id(&execution.id)),
            plain(table.id(&execution.session_id)),
            view::state(execution, table.style()),
            plain(words::ago(execution.started_at_ms)),
            plain(words::bytes(bytes)),
            plain(view::command_line(&execution.spec.command)),
        ]);
        for process in processes {
            let line =
                format!("  pid {} (of {}) {}", process.pid, process.ppid, view::printable(&process.name));
            table.row([line]);
        }
    }
    table.lines()
}
