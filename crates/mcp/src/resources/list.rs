//! `resources/list` and `resources/templates/list`.

use headwater_contract::v1::{FileKind, ListFilesRequest};
use headwater_protocol::{Command, Execution};
use headwater_tools::Agent;
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceTemplate};

use super::{failed, uri};

/// Executions and files that are listed, each. Older executions and deeper files are found by the tools.
const MAX_LISTED: usize = 100;
/// The same, as the worker counts.
const MAX_FILES: u32 = 100;
/// The longest description of a command, in characters.
const MAX_COMMAND_CHARS: usize = 120;

/// The newest executions, and what is at the top of the workspace.
pub(crate) async fn list(agent: &Agent, workspace: &str) -> Result<Vec<Resource>, ErrorData> {
    let session = agent.session();
    let client = agent.host().calls();
    let mut executions =
        client.retry(|client| client.executions(Some(session), false)).await.map_err(failed)?;
    executions.sort_by_key(|execution| std::cmp::Reverse((execution.started_at_ms, execution.id)));
    let mut all: Vec<Resource> = executions.iter().take(MAX_LISTED).map(of_execution).collect();

    let request = &ListFilesRequest {
        session_id: session.to_string(),
        limit: MAX_FILES,
        ..ListFilesRequest::default()
    };
    let files = client.retry(|client| client.list_files(request.clone())).await.map_err(failed)?;
    all.extend(files.entries.into_iter().filter(|entry| entry.kind() == FileKind::File).map(|entry| {
        let name = String::from_utf8_lossy(&entry.path).into_owned();
        Resource::new(uri::of_file(workspace, &entry.path), name).with_size(entry.size)
    }));
    Ok(all)
}

fn of_execution(execution: &Execution) -> Resource {
    let bytes = execution.stdout_bytes + execution.stderr_bytes + execution.output_bytes;
    let end = execution.state.verdict().map_or_else(
        || execution.state.name().to_owned(),
        |verdict| match verdict.code {
            Some(code) => format!("exit code {code}"),
            None => verdict.reason.name().to_owned(),
        },
    );
    let command = one_line(&execution.spec.command);
    Resource::new(uri::of_output(execution.id), format!("output of {}", execution.id))
        .with_title(command)
        .with_description(end)
        .with_mime_type("text/plain")
        .with_size(bytes)
}

fn one_line(command: &Command) -> String {
    let text = match command {
        Command::Argv(words) => words.join(" "),
        Command::Shell(line) => line.clone(),
        Command::Code { language, code, .. } => format!("{language}: {code}"),
    };
    let plain = |ch: char| if ch.is_control() { ' ' } else { ch };
    text.chars().take(MAX_COMMAND_CHARS).map(plain).collect()
}

/// How to address any part of any resource.
pub(crate) fn templates(workspace: &str) -> Vec<ResourceTemplate> {
    let root = workspace.trim_end_matches('/');
    vec![
        ResourceTemplate::new("exec://{execution}/output{?stream,from,to,lines}", "output of an execution")
            .with_description(
                "Everything that a command printed, as raw bytes. stream: stdout or stderr; from, to: bytes \
                 from 0; lines: for example 10-20.",
            )
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("file://{root}/{{+path}}{{?from,to,lines}}"), "file of the workspace")
            .with_description("A file. from, to: bytes from 0; lines: for example 10-20."),
    ]
}
