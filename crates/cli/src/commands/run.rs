//! `headwater run`: starts an execution, streams its output and exits with its exit code.
//!
//! 1. [`plan`] builds the request from the flags; invalid requests are refused before anything runs.
//! 2. The server is used, or the worker is found or started; the session is looked up.
//! 3. The request carries ids that we chose, so that repeating it after a lost answer starts nothing twice.
//! 4. The log is followed to the verdict, over any number of restarts of the worker or the server.

mod chosen;
mod plan;

use std::time::Duration;

use headwater_protocol::{ExecutionId, Network, SessionId, SessionSpec};

pub use self::chosen::ChosenWorkspace;
use self::plan::{Plan, Where};
use crate::args::{ProgramArgs, millis};
use crate::connect::Place;
use crate::engine::{Engine, Events, Run, Target};
use crate::error::CommandError;
use crate::live::{self, CtrlC, End, Interrupts};
use crate::output::{print_json, print_line, print_note};
use crate::show::{Format, Gaps};
use crate::style::Style;
use crate::system::Resizes;
use crate::terminal::TerminalMode;
use crate::{exit, resolve, terminal, view};

/// After how long a session that was created for one program ends by itself, if this process could not end it.
const TEMPORARY_SESSION_IDLE: Duration = Duration::from_mins(1);

/// Runs the command in this workspace and returns the exit code.
pub async fn run(
    mut place: Place,
    args: &ProgramArgs,
    chosen: ChosenWorkspace<'_>,
) -> Result<u8, CommandError> {
    chosen.check_server(place.server.is_some())?;
    place.sandbox = chosen.sandbox(args)?;
    // Before the plan reads the size of the terminal.
    let resizes = Resizes::listen()?;
    let mut plan = Plan::new(args, chosen)?;
    let mut interrupts = Interrupts::listen()?;
    let (engine, target, temporary) = tokio::select! {
        found = find(&place, &mut plan) => found?,
        () = interrupts.next() => return Ok(exit::CANCELLED),
    };
    let run = Run::new(target, plan.spec.clone());
    let detach = plan.detach;
    let done = match start(&engine, &run, &plan, &mut interrupts).await {
        Ok(Some((id, events))) => follow(engine.clone(), id, plan, events, interrupts, resizes).await,
        Ok(None) => Ok(0),
        Err(error) => {
            engine.undo(&run).await;
            Err(error)
        }
    };
    if let Some(session) = temporary.filter(|_| !detach) {
        // If it fails, the session ends by its idle timeout.
        let _ = engine.end_session(session, true).await;
    }
    done
}

/// Finds the engine, the language of a file and the session.
async fn find(place: &Place, plan: &mut Plan) -> Result<(Engine, Target, Option<SessionId>), CommandError> {
    let engine = place.engine().await?;
    if plan.suffix.is_some() {
        plan.set_language(&engine.languages(Duration::ZERO).await?)?;
    }
    let (target, temporary) = match &plan.place {
        // A server gives a one-shot no network, so the session is created for it.
        Where::Own(spec) if matches!(engine, Engine::Remote(_)) && spec.network != Network::None => {
            let spec = SessionSpec {
                one_shot: false,
                idle_timeout_ms: Some(millis(TEMPORARY_SESSION_IDLE)),
                ..(**spec).clone()
            };
            let id = engine.create_session(&spec).await?.id;
            (Target::In(id), Some(id))
        }
        Where::Own(spec) => (Target::Own(spec.clone()), None),
        Where::In(text) => (Target::In(resolve::session(&engine, text).await?), None),
    };
    Ok((engine, target, temporary))
}

/// Starts the execution and, unless detached, begins to follow it. Interrupts are counted meanwhile and acted on once
/// there is something to cancel; the third one does not wait for that.
async fn start(
    engine: &Engine,
    run: &Run,
    plan: &Plan,
    interrupts: &mut Interrupts,
) -> Result<Option<(ExecutionId, Events)>, CommandError> {
    let mut asking = std::pin::pin!(ask(engine, run, plan));
    loop {
        tokio::select! {
            answer = &mut asking => return answer,
            () = interrupts.next() => if interrupts.count >= 3 {
                return Err(CommandError::internal("interrupted before the start was confirmed; the program may be running"));
            },
        }
    }
}

async fn ask(engine: &Engine, run: &Run, plan: &Plan) -> Result<Option<(ExecutionId, Events)>, CommandError> {
    if !plan.detach {
        return Ok(Some(engine.run(run).await?));
    }
    let execution = engine.start(run).await?;
    if plan.json {
        print_json(&view::object(&execution))?;
    } else {
        print_line(&execution.id.to_string())?;
    }
    Ok(None)
}

async fn follow(
    engine: Engine,
    id: ExecutionId,
    mut plan: Plan,
    events: Events,
    mut interrupts: Interrupts,
    resizes: Resizes,
) -> Result<u8, CommandError> {
    let raw = if plan.spec.tty.is_some() && plan.input.is_some() { TerminalMode::raw()? } else { None };
    let format = if plan.json { Format::Json } else { Format::Bytes };
    let session = live::Session {
        engine: engine.clone(),
        id,
        format,
        gaps: Gaps::All,
        input: plan.input.take(),
        passes_input: true,
        detach_keys: false,
        tty: plan.spec.tty.is_some(),
        ctrl_c: CtrlC::Cancels,
        resizes,
    };
    let end = live::follow(session, events, &mut interrupts).await;
    drop(raw);
    match end.map_err(|error| error.hint(format!("`headwater attach {id}` continues")))? {
        End::Ended(verdict, shown) => {
            if let Some(line) = exit::line(&verdict).filter(|_| !plan.json) {
                // A terminal prints `^C` at the cursor.
                let apart = if interrupts.count > 0 && terminal::stdin_is_terminal() { "\n" } else { "" };
                let style = Style::of_stderr();
                print_note(&format!("{apart}{}", style.red(&format!("headwater: {line}"))));
                if let Some(hint) = plan.hint(exit::code(&verdict)) {
                    print_note(&format!("{} {hint}", style.cyan("hint:")));
                }
            }
            shown.check(id)?;
            Ok(exit::code(&verdict))
        }
        End::Detached => {
            print_note(&format!("headwater: {}", detached_note(id)));
            Ok(exit::CANCELLED)
        }
        End::ReaderGone => {
            // As with a pipe: a program whose reader is gone should end.
            let cancelled = engine.cancel(id, None).await;
            cancelled.map_or(Ok(exit::READER_GONE), |()| Ok(exit::READER_GONE))
        }
    }
}

fn detached_note(id: ExecutionId) -> String {
    format!("detached; the program is still running, `headwater kill --now {id}` ends it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_note_on_detaching_matches_its_snapshot() {
        snapshot::assert(
            "run-detached",
            &detached_note("exe_00000000000000000000000000000001".parse().unwrap()),
        );
    }
}
