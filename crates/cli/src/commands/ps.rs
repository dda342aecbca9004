//! `headwater ps`: lists executions, with `--processes` their processes as well.

use headwater_protocol::Process;
use headwater_protocol::api::{ExecutionBody, ExecutionStateName};

use crate::args::PsArgs;
use crate::connect::Place;
use crate::engine::{Engine, Which};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_json, print_line};
use crate::view::{self, Table};
use crate::{humanize, resolve};

/// Lists executions, newest last.
pub async fn ps(place: &Place, args: &PsArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let session = match &args.session {
        Some(text) => Some(resolve::session(&engine, text).await?),
        None => None,
    };
    let mut all = engine.executions(session, if args.all { Which::All } else { Which::Open }).await?;
    all.sort_by_key(|execution| (execution.started_at, execution.id));
    let mut listed = Vec::new();
    for execution in all {
        let processes = if args.processes { processes(&engine, &execution).await? } else { Vec::new() };
        listed.push((execution, processes));
    }
    if args.json {
        for (execution, processes) in &listed {
            let mut value = view::object(execution);
            if args.processes {
                value["processes"] = processes.iter().map(view::process_json).collect();
            }
            print_json(&value)?;
        }
    } else {
        for line in table(&listed) {
            print_line(&line)?;
        }
    }
    Ok(0)
}

/// The processes of an execution; none if it has ended or its log was deleted meanwhile.
async fn processes(engine: &Engine, execution: &ExecutionBody) -> Result<Vec<Process>, CommandError> {
    if execution.state == ExecutionStateName::Closed {
        return Ok(Vec::new());
    }
    match engine.processes(execution.id).await {
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Refused) => Ok(Vec::new()),
        answer => answer,
    }
}

fn table(listed: &[(ExecutionBody, Vec<Process>)]) -> Vec<String> {
    let mut table = Table::new(&["EXECUTION", "SESSION", "STATE", "STARTED", "BYTES", "COMMAND"]);
    for (execution, processes) in listed {
        let bytes = execution.stdout_bytes + execution.stderr_bytes + execution.output_bytes;
        let plain = |text: String| (text.clone(), text);
        table.painted_row([
            plain(table.id(&execution.id)),
            plain(table.id(&execution.session_id)),
            view::state(execution, table.style()),
            plain(humanize::ago(execution.started_at.0)),
            plain(humanize::bytes(bytes)),
            plain(view::command_line(&execution.command)),
        ]);
        for process in processes {
            let line =
                format!("  pid {} (parent {}) {}", process.pid, process.ppid, printable(&process.name));
            table.row([line]);
        }
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Execution, ExecutionState, Reason, Seq, StartSpec, Verdict, now_ms};

    use super::*;
    use crate::snapshot;

    fn execution(id: u32, spec: StartSpec, state: ExecutionState) -> ExecutionBody {
        ExecutionBody::from(Execution {
            id: format!("exe_{id:032x}").parse().unwrap(),
            session_id: format!("ses_{id:032x}").parse().unwrap(),
            spec,
            state,
            started_at_ms: now_ms() - 25 * 3_600_000,
            stdout_bytes: 1 << 20,
            stderr_bytes: 0,
            output_bytes: 0,
            last_seq: Seq(9),
            log_removed: None,
        })
    }

    #[test]
    fn the_table_matches_its_snapshot() {
        let exited = Verdict { code: Some(0), ..Verdict::new(Reason::Exited) };
        let killed = Verdict { signal: Some(9), ..Verdict::new(Reason::Signalled) };
        let listed = [
            (execution(1, StartSpec::shell("a | b"), ExecutionState::Queued), Vec::new()),
            (
                execution(2, StartSpec::argv(["sleep", "1 h"]), ExecutionState::Running { pid: 7 }),
                vec![Process { pid: 7, ppid: 1, name: "sleep".into() }],
            ),
            (execution(3, StartSpec::shell("x"), ExecutionState::Exited { verdict: exited }), Vec::new()),
            (execution(4, StartSpec::shell("x"), ExecutionState::Closed { verdict: killed }), Vec::new()),
            (
                execution(
                    5,
                    StartSpec::shell("x"),
                    ExecutionState::Closed { verdict: Verdict::new(Reason::TimedOut) },
                ),
                Vec::new(),
            ),
        ];
        snapshot::assert("ps", &table(&listed).join("\n"));
    }
}
