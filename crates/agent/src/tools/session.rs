//! The tools of the session: commands and files.

use std::time::Duration;

use headwater_protocol::ExecutionId;
use headwater_protocol::conversation::{ConversationEvent, ToolCall, ToolCallState};
use headwater_tools::schema::{Call, Tool};
use headwater_tools::{Agent, Outcome, Progress, Request};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::approvals::{self, Answer};
use crate::calls::Done;
use crate::journal::JournalError;
use crate::work::Work;

/// How long an interrupted command may take to end: SIGTERM, five seconds, SIGKILL, and its last output.
const END_PATIENCE: Duration = Duration::from_secs(12);

/// Whether a tool changes files without starting a program.
pub(super) fn changes_files(tool: &Tool) -> bool {
    matches!(tool.name, "apply_patch" | "edit_file" | "write_file")
}

/// Whether a tool starts a program.
fn starts(call: &Call) -> bool {
    matches!(
        call,
        Call::ExecCommand(_)
            | Call::Shell(_)
            | Call::ShellCommand(_)
            | Call::RunCode(_)
            | Call::CodeExecution(_)
            | Call::RunCommand(_)
    )
}

/// The result of a call that a restart of the server interrupted.
pub(super) fn interrupted() -> Done {
    Done::stopped(
        "The server was restarted while this call ran: it may have done its work, in whole or in part. Check what it has \
         changed before you repeat it.",
    )
}

pub(super) async fn call(work: &Work, call: &ToolCall, tool: &'static Tool) -> Result<Done, JournalError> {
    let parsed = match tool.call(call.input.clone().unwrap_or_default()) {
        Ok(parsed) => parsed,
        Err(error) => return Ok(Done::failed(error.to_string())),
    };
    let agent = match work.agent().await {
        Ok(agent) => agent,
        Err(error) => return Ok(Done::failed(error.to_string())),
    };
    let one = One { work, call, agent, starts: starts(&parsed) };
    if call.state == ToolCallState::Running && !one.starts && !tool.hints.read_only {
        return Ok(interrupted());
    }
    // A program that was started before a restart of the server is not started again.
    let earlier = if one.starts && work.is_resumed {
        match work.context.place.executions_of(&call.tool_call_id).await {
            Ok(found) => found.first().copied(),
            Err(error) => return Ok(Done::failed(error.to_string())),
        }
    } else {
        None
    };
    if changes_files(tool) {
        one.running(None).await?;
    }
    let mut done = one.consented(parsed, earlier).await?;
    if let Some(image) = &mut done.output.image {
        let path = call.input.as_ref().and_then(|input| input.get("path")?.as_str()).unwrap_or_default();
        path.clone_into(&mut image.path);
        path.rsplit('/').next().unwrap_or_default().clone_into(&mut image.name);
    }
    Ok(done)
}

/// A file of the workspace as a path for the tools.
pub(crate) fn workspace_file(path: &str) -> &str {
    path.strip_prefix("/workspace/").unwrap_or(path)
}

/// One call.
struct One<'a> {
    work: &'a Work,
    call: &'a ToolCall,
    agent: Agent,
    starts: bool,
}

impl One<'_> {
    /// Runs it, after a person has allowed it if that is needed.
    async fn consented(&self, parsed: Call, earlier: Option<ExecutionId>) -> Result<Done, JournalError> {
        let (work, session) = (self.work, self.agent.session());
        let mut approved = None;
        loop {
            let request = Request {
                call: parsed.clone(),
                tool_call_id: Some(self.call.tool_call_id.clone()),
                approved: approved.clone(),
            };
            let (outcome, is_stopped) = self.attempt(request, earlier).await?;
            let Some(outcome) = outcome else {
                return Ok(Done::stopped("The turn was stopped; the call has no result."));
            };
            let question = outcome.question.clone().filter(|_| approved.is_none() && !is_stopped);
            let Some(question) = question else {
                let mut done = Done::of(outcome, session);
                if is_stopped {
                    done.state = ToolCallState::Stopped;
                    done.output.text.push_str("\n[the person stopped the turn; the command was ended]");
                }
                return Ok(done);
            };
            if !work.read(|now| approvals::is_allowed(now, &question)) {
                if !work.context.settings.is_interactive {
                    return Ok(Done::of(outcome, session));
                }
                match approvals::ask(work, &self.call.tool_call_id, approvals::approval(&question)).await? {
                    Answer::Allowed => {}
                    Answer::Denied(reason) => return Ok(Done::denied(reason.as_deref())),
                    Answer::Stopped => {
                        return Ok(Done::stopped("The turn was stopped before the person answered."));
                    }
                }
            }
            approved = Some(question.wanted.fingerprint());
        }
    }

    /// Runs it until it has a result or the turn is stopped. Then the program is ended, and its last output is the result.
    async fn attempt(
        &self,
        request: Request,
        earlier: Option<ExecutionId>,
    ) -> Result<(Option<Outcome>, bool), JournalError> {
        let (live, mut progress) = watch::channel(Progress::default());
        let mut result = Box::pin(async {
            match earlier {
                Some(execution) => self.agent.resume(request, execution, Some(live)).await,
                None => self.agent.call(request, Some(live)).await,
            }
        });
        let stop = &self.work.context.stop;
        let mut execution: Option<ExecutionId> = None;
        let mut stopped_at: Option<Instant> = None;
        let mut is_ended = false;
        loop {
            if let (Some(id), Some(_), false) = (execution, stopped_at, is_ended) {
                is_ended = true;
                // An error means that it has ended, or that nobody can end it.
                let _ = self.agent.host().calls().retry(|client| client.cancel(id, None)).await;
            }
            tokio::select! {
                biased;
                outcome = &mut result => return Ok((Some(outcome), stopped_at.is_some())),
                Ok(()) = progress.changed(), if self.starts && execution.is_none() => {
                    execution = progress.borrow_and_update().execution;
                    if execution.is_some() {
                        self.running(execution).await?;
                    }
                }
                () = stop.cancelled(), if stopped_at.is_none() => {
                    if !self.starts {
                        return Ok((None, true));
                    }
                    stopped_at = Some(Instant::now());
                }
                () = until(stopped_at.map(|at| at + END_PATIENCE)) => return Ok((None, true)),
            }
        }
    }

    async fn running(&self, execution_id: Option<ExecutionId>) -> Result<(), JournalError> {
        let tool_call_id = self.call.tool_call_id.clone();
        let child_id = None;
        self.work
            .append(vec![ConversationEvent::ToolCallRunning { tool_call_id, execution_id, child_id }])
            .await
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
