//! Starts commands.

use std::sync::Arc;

use headwater_protocol::{Execution, ExecutionId, ExitDetail, StartSpec};
use tokio::task::JoinHandle;

use super::report::start_error;
use super::room::{Seat, make_room, with_lost_notes};
use super::{Context, approval, spec};
use crate::agent::Agent;
use crate::error::ToolError;
use crate::host::Host;
use crate::policy::Extra;
use crate::schema::OnDisconnect;

/// The shell of systems without bash.
const POSIX_SHELL: &str = "sh";

/// A command that was started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) execution: Execution,
    /// What the result has to say about the start.
    pub(super) notes: Vec<String>,
    guard: Option<Guard>,
}

impl Started {
    /// A command that was started before this call.
    pub(super) const fn running(execution: Execution) -> Self {
        Self { execution, notes: Vec::new(), guard: None }
    }

    /// The call was not cancelled: the command may run on.
    pub(super) fn keep(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.state = State::Done;
        }
        self.guard = None;
    }
}

/// A script and the shell that runs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script<'a> {
    pub(super) text: &'a str,
    pub(super) shell: Option<&'a str>,
    pub(super) login: bool,
}

/// Starts a script. `spec` completes the specification of its arguments.
pub(super) async fn start_script(
    context: &Context<'_>,
    script: Script<'_>,
    spec: impl Fn(Vec<String>) -> StartSpec,
    on_disconnect: OnDisconnect,
) -> Result<Started, ToolError> {
    let shell = spec::shell_of(context.agent.session_info(), script.shell);
    let arguments = |shell| spec::script(shell, script.login, script.text);
    let how = How { on_disconnect, decided: false };
    let mut started = begin(context, spec(arguments(shell)), how).await?;
    if script.shell.is_none() && is_missing(&started.execution) {
        let notes = std::mem::take(&mut started.notes);
        let how = How { decided: true, ..how };
        started = begin(context, spec(arguments(POSIX_SHELL.to_owned())), how).await?;
        started.notes.splice(..0, notes);
    }
    context.live.started(started.execution.id);
    checked(started)
}

/// Starts a command.
pub(super) async fn start(
    context: &Context<'_>,
    spec: StartSpec,
    on_disconnect: OnDisconnect,
) -> Result<Started, ToolError> {
    let started = begin(context, spec, How { on_disconnect, decided: false }).await?;
    context.live.started(started.execution.id);
    checked(started)
}

/// Starts a command. One that could not be started is an execution too: its verdict says why.
pub(super) async fn start_any(context: &Context<'_>, spec: StartSpec) -> Result<Started, ToolError> {
    let started = begin(context, spec, How { on_disconnect: OnDisconnect::Keep, decided: false }).await?;
    context.live.started(started.execution.id);
    Ok(started)
}

fn checked(started: Started) -> Result<Started, ToolError> {
    started.execution.state.verdict().and_then(start_error).map_or(Ok(started), Err)
}

fn is_missing(execution: &Execution) -> bool {
    let detail = execution.state.verdict().and_then(|verdict| verdict.detail.as_ref());
    matches!(detail, Some(ExitDetail::CommandNotFound { .. }))
}

/// How a command is started.
#[derive(Debug, Clone, Copy)]
struct How {
    on_disconnect: OnDisconnect,
    /// Whether the policy has decided about this call before.
    decided: bool,
}

async fn begin(context: &Context<'_>, mut spec: StartSpec, how: How) -> Result<Started, ToolError> {
    let agent = context.agent;
    let extra = approval::check(context, &mut spec, how.decided).await?;
    let mut seat = make_room(agent).await?;
    let notes = std::mem::take(&mut seat.notes);
    let starting = start_in(agent.clone(), spec, extra, seat);
    // In a task, so that a call that is cancelled meanwhile leaves the seat to the start.
    let mut guard = Guard::start(agent.shared_host(), starting, how.on_disconnect);
    let execution = guard.started().await.map_err(|error| with_lost_notes(error, &notes))?;
    let guard = (how.on_disconnect == OnDisconnect::Kill).then_some(guard);
    Ok(Started { execution, notes, guard })
}

/// Starts a command. The seat is free for a count only when the execution is listed, as the one that was used last.
async fn start_in(agent: Agent, spec: StartSpec, extra: Extra, seat: Seat) -> Result<Execution, ToolError> {
    let (host, session) = (agent.host(), agent.session_info());
    let started = if extra.is_empty() {
        host.start(session.id, spec).await
    } else {
        host.start_with(session, spec, &extra).await
    };
    if let Ok(execution) = &started {
        agent.memory().cursor(execution.id);
    }
    drop(seat);
    started
}

/// With `on_disconnect: kill`, ends a command when it is dropped, whether the command has started or is about to.
#[derive(Debug)]
struct Guard {
    host: Arc<dyn Host>,
    state: State,
    on_disconnect: OnDisconnect,
}

#[derive(Debug)]
enum State {
    Starting(JoinHandle<Result<Execution, ToolError>>),
    Started(ExecutionId),
    Done,
}

impl Guard {
    fn start(
        host: Arc<dyn Host>,
        starting: impl Future<Output = Result<Execution, ToolError>> + Send + 'static,
        on_disconnect: OnDisconnect,
    ) -> Self {
        Self { host, state: State::Starting(tokio::spawn(starting)), on_disconnect }
    }

    async fn started(&mut self) -> Result<Execution, ToolError> {
        let State::Starting(task) = &mut self.state else {
            return Err(ToolError::new("the command was started before"));
        };
        let answer = task.await;
        self.state = State::Done;
        let execution = answer.map_err(|error| ToolError::new(format!("the start failed: {error}")))??;
        self.state = State::Started(execution.id);
        Ok(execution)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.on_disconnect == OnDisconnect::Keep {
            return;
        }
        let (host, state) = (Arc::clone(&self.host), std::mem::replace(&mut self.state, State::Done));
        let end = async move {
            let id = match state {
                State::Starting(task) => match task.await {
                    Ok(Ok(execution)) => execution.id,
                    _ => return,
                },
                State::Started(id) => id,
                State::Done => return,
            };
            // An error means that it has ended, or that nobody can end it.
            let _ = host.calls().retry(|client| client.cancel(id, None)).await;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(end);
        }
    }
}
