//! `exec_command` and `run_code`.

use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::{Command, StartSpec, Stdin, TtySize};
use tokio::time::Instant;

use super::condition::{Conditions, listens};
use super::reading::{Reading, View};
use super::spec::{Display, complete};
use super::start::{Script, Started, start, start_script};
use super::{Context, inline_patch, report};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::output::Budget;
use crate::schema::{ExecCommand, InitialStdin, OnDisconnect, RunCode};

/// The time between SIGTERM and SIGKILL at a time limit: the whole tree ends within a second of the limit.
pub(super) const LIMIT_GRACE: Duration = Duration::from_millis(500);
/// How long the end of a command is awaited after its time limit, for example over a restart of the worker.
pub(super) const END_PATIENCE: Duration = Duration::from_secs(40);

/// Calls `exec_command`.
pub(super) async fn exec_command(context: &Context<'_>, asked: &ExecCommand) -> Result<Outcome, ToolError> {
    let agent = context.agent;
    if let Some(patch) = inline_patch::of_script(&asked.cmd) {
        check_no_workdir(asked.workdir.as_deref())?;
        return agent.call_files(&patch).await;
    }
    let conditions = Conditions::new(asked.wait_for.as_ref())?;
    let begin = Instant::now();
    let script = Script { text: &asked.cmd, shell: asked.shell.as_deref(), login: asked.login };
    let spec = |argv| command_spec(context, asked, argv);
    let taken = match conditions.port {
        Some(port) if listens(agent.host(), agent.session(), port).await? => Some(port),
        _ => None,
    };
    let mut started = start_script(context, script, spec, asked.on_disconnect).await?;
    started
        .notes
        .extend(taken.map(|port| format!("port {port} listened already before this command started")));
    result_of_command(context, asked, started, begin).await
}

/// Waits for a command that was started.
pub(super) async fn result_of_command(
    context: &Context<'_>,
    asked: &ExecCommand,
    mut started: Started,
    begin: Instant,
) -> Result<Outcome, ToolError> {
    let (agent, conditions) = (context.agent, Conditions::new(asked.wait_for.as_ref())?);
    let budget = Budget::tokens(asked.max_output_tokens);
    let view = View { budget, keep_ansi: asked.ansi, errors_apart: false };
    let mut reading = Reading::new(agent, &started.execution, view, conditions);
    reading.follow(context, begin + Duration::from_millis(asked.yield_ms())).await?;
    started.keep();
    let Started { execution, notes, .. } = started;
    report::outcome(agent, &execution, reading, begin, notes)
}

fn command_spec(context: &Context<'_>, asked: &ExecCommand, argv: Vec<String>) -> StartSpec {
    let size = asked.size.map_or_else(TtySize::default, |size| TtySize { rows: size.rows, cols: size.cols });
    let spec = StartSpec {
        cwd: asked.workdir.clone(),
        stdin: match asked.stdin {
            InitialStdin::Open => Stdin::Open,
            InitialStdin::Null => Stdin::None,
        },
        tty: asked.tty.then_some(size),
        merge_output: !asked.tty,
        timeout_ms: asked.timeout_ms,
        limits: asked.limits.clone().unwrap_or_default(),
        ..StartSpec::argv(argv)
    };
    complete(context, spec, Display { terminal: asked.tty, colours: asked.ansi })
}

/// A patch names its files relative to the workspace.
pub(super) fn check_no_workdir(workdir: Option<&str>) -> Result<(), ToolError> {
    match workdir {
        None | Some("" | "." | "./" | "/workspace") => Ok(()),
        Some(_) => Err(ToolError::new("apply_patch cannot be called with a workdir")
            .hint("Call the tool apply_patch; paths in a patch are relative to the workspace")),
    }
}

/// Calls `run_code`: runs a program to its end.
pub(super) async fn run_code(context: &Context<'_>, asked: &RunCode) -> Result<Outcome, ToolError> {
    let begin = Instant::now();
    let code = Command::Code {
        language: asked.language.trim().to_owned(),
        code: asked.code.clone(),
        file: None,
        args: Vec::new(),
    };
    let spec = StartSpec {
        cwd: asked.workdir.clone(),
        stdin: asked.stdin.clone().map_or(Stdin::None, |text| Stdin::Given(Bytes::from(text))),
        merge_output: true,
        ..limited(StartSpec::new(code), asked.timeout_ms)
    };
    let spec = complete(context, spec, Display { terminal: false, colours: false });
    let started = start(context, spec, OnDisconnect::Keep).await?;
    result_of_code(context, asked, started, begin).await
}

/// Waits for a program that was started.
pub(super) async fn result_of_code(
    context: &Context<'_>,
    asked: &RunCode,
    started: Started,
    begin: Instant,
) -> Result<Outcome, ToolError> {
    let (agent, Started { execution, notes, .. }) = (context.agent, started);
    let budget = Budget::tokens(asked.max_output_tokens);
    let view = View { budget, keep_ansi: false, errors_apart: false };
    let mut reading = Reading::new(agent, &execution, view, Conditions::default());
    reading.follow(context, begin + Duration::from_millis(asked.timeout_ms) + END_PATIENCE).await?;
    report::outcome(agent, &execution, reading, begin, notes)
}

/// A spec with a time limit, at which the whole tree ends.
pub(super) fn limited(spec: StartSpec, timeout_ms: u64) -> StartSpec {
    let grace_ms = u64::try_from(LIMIT_GRACE.as_millis()).ok();
    StartSpec { timeout_ms: Some(timeout_ms.max(1)), grace_ms, ..spec }
}
