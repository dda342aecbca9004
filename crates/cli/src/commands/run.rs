//! `headwater run`: start something, show its output live, end with its exit code.
//!
//! 1. The request is made of the flags ([`plan`]); what makes no sense is refused before anything runs.
//! 2. The server is taken, or a worker is found or started; the session is looked up.
//! 3. It is asked for under names that we chose, so that asking again after a lost answer starts nothing twice.
//! 4. The log is followed to the verdict, over any number of restarts of the worker or the server.

mod plan;

use headwater_protocol::{ExecutionId, SandboxKind};

use self::plan::{Plan, Where};
use crate::args::RunArgs;
use crate::connect::Place;
use crate::engine::{Engine, Events, Run, Target};
use crate::error::CommandError;
use crate::live::{CtrlC, End, Interrupts, Watch, watch};
use crate::output::{say, say_json};
use crate::show::{Format, Gaps};
use crate::style::Style;
use crate::terminal::RawMode;
use crate::{exit, resolve, terminal, view};

/// Runs it; answers with the exit code.
pub async fn run(mut place: Place, args: &RunArgs) -> Result<u8, CommandError> {
    place.sandbox = args.sandbox.map(SandboxKind::from);
    let plan = Plan::new(args)?;
    let mut interrupts = Interrupts::listen()?;
    let (engine, target) = tokio::select! {
        found = find(&place, &plan) => found?,
        () = interrupts.next() => return Ok(exit::CANCELLED),
    };
    let run = Run::new(target, plan.spec.clone());
    match start(&engine, &run, &plan, &mut interrupts).await {
        Ok(Some((id, events))) => follow(engine, id, plan, events, interrupts).await,
        Ok(None) => Ok(0),
        Err(error) => {
            engine.undo(&run).await;
            Err(error)
        }
    }
}

/// What to talk to, and the session.
async fn find(place: &Place, plan: &Plan) -> Result<(Engine, Target), CommandError> {
    let engine = place.engine().await?;
    let target = match &plan.place {
        Where::Own(spec) => Target::Own(spec.clone()),
        Where::In(text) => Target::In(resolve::session(&engine, text).await?),
    };
    Ok((engine, target))
}

/// Starts it, and begins to follow it unless it is to be left alone. Interrupts are counted meanwhile, and heeded when
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
                return Err(CommandError::internal("left before it was known to have started"));
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
        say_json(&view::object(&execution))?;
    } else {
        say(&execution.id.to_string())?;
    }
    Ok(None)
}

async fn follow(
    engine: Engine,
    id: ExecutionId,
    mut plan: Plan,
    events: Events,
    mut interrupts: Interrupts,
) -> Result<u8, CommandError> {
    let raw = if plan.spec.tty.is_some() && plan.input.is_some() { RawMode::enter()? } else { None };
    let format = if plan.json { Format::Json } else { Format::Bytes };
    let how = Watch {
        engine: engine.clone(),
        id,
        format,
        gaps: Gaps::All,
        input: plan.input.take(),
        detach_keys: false,
        tty: plan.spec.tty.is_some(),
        ctrl_c: CtrlC::Cancels,
    };
    let end = watch(how, events, &mut interrupts).await;
    drop(raw);
    match end.map_err(|error| error.hint(format!("`headwater attach {id}` goes on")))? {
        End::Ended(verdict, shown) => {
            if let Some(line) = exit::line(&verdict).filter(|_| !plan.json) {
                // A terminal shows `^C` where the cursor was.
                let apart = if interrupts.count > 0 && terminal::stdin_is_terminal() { "\n" } else { "" };
                let style = Style::of_stderr();
                eprintln!("{apart}{}", style.red(&format!("headwater: {line}")));
                if let Some(hint) = plan.hint(exit::code(&verdict)) {
                    eprintln!("{} {hint}", style.cyan("hint:"));
                }
            }
            shown.check(id)?;
            Ok(exit::code(&verdict))
        }
        End::Left => {
            eprintln!("headwater: {}", left_running(id));
            Ok(exit::CANCELLED)
        }
        End::ReaderGone => {
            // As a pipe would: a program whose reader is gone is to end.
            let cancelled = engine.cancel(id, None).await;
            cancelled.map_or(Ok(exit::READER_GONE), |()| Ok(exit::READER_GONE))
        }
    }
}

fn left_running(id: ExecutionId) -> String {
    format!("left it running; `headwater kill --now {id}` ends it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_note_on_leaving_reads_like_this() {
        snapshot::assert("run-left", &left_running("exe_00000000000000000000000000000001".parse().unwrap()));
    }
}
