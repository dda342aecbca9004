//! `headwater attach`: follow an execution and type into it. Detaching leaves it running.

use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Seq};

use crate::args::AttachArgs;
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::input;
use crate::live::{self, CtrlC, End, Interrupts, resize};
use crate::output::print_note;
use crate::show::{Format, Gaps};
use crate::style::Style;
use crate::system::Resizes;
use crate::terminal::TerminalMode;
use crate::{exit, resolve, terminal};

/// How much of the earlier output is shown: about a screen.
const TAIL_BYTES: u64 = 16 << 10;

/// How to follow an execution.
#[derive(Debug, Default)]
pub struct How {
    /// The position to begin after; about a screen before the end if absent.
    after: Option<u64>,
    /// Do not pass on input.
    no_stdin: bool,
    /// Print events as JSON.
    json: bool,
}

/// Follows the execution and returns the exit code.
pub async fn attach(place: &Place, args: &AttachArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let id = resolve::execution(&engine, &args.execution).await?;
    let how = How { after: args.after, no_stdin: args.no_stdin, json: args.json };
    follow(engine, id, &how).await
}

/// Follows this execution and returns the exit code.
pub async fn follow(engine: Engine, id: ExecutionId, args: &How) -> Result<u8, CommandError> {
    let (execution, reads) = engine.execution_and_input(id).await?;
    let mut interrupts = Interrupts::listen()?;
    let options = FollowOptions {
        after: Seq(args.after.unwrap_or(0)),
        tail_bytes: args.after.is_none().then_some(TAIL_BYTES),
        tail_once: true,
        ..FollowOptions::default()
    };
    let events = engine.follow(id, options).await?;
    let running = execution.exit.is_none();
    let types = reads && !args.no_stdin && running && !terminal::stdin_is_null();
    // At a terminal the keys are read even if the program gets none of them: two of them leave.
    let watches_keys = running && terminal::stdin_is_terminal() && !terminal::in_background();
    let input = if watches_keys { Some(input::keys()) } else { types.then(input::own) };
    let mode = match &input {
        Some(_) if !watches_keys => None,
        Some(_) if types && execution.tty.is_some() => TerminalMode::raw()?,
        Some(_) => TerminalMode::lines()?,
        None => None,
    };
    let resizes = Resizes::listen()?;
    if execution.tty.is_some() {
        resize(&engine, id);
    }
    let session = live::Session {
        engine,
        id,
        format: if args.json { Format::Json } else { Format::Bytes },
        gaps: if args.after.is_some() { Gaps::All } else { Gaps::AfterOutput },
        input,
        passes_input: types,
        detach_keys: mode.is_some(),
        tty: execution.tty.is_some(),
        ctrl_c: CtrlC::Detaches,
        resizes,
    };
    let end = live::follow(session, events, &mut interrupts).await;
    drop(mode);
    match end? {
        End::Ended(verdict, shown) => {
            if let Some(line) = exit::line(&verdict).filter(|_| !args.json) {
                print_note(&Style::of_stderr().red(&format!("headwater: {line}")));
            }
            shown.check(id)?;
            Ok(exit::code(&verdict))
        }
        End::Detached => {
            print_note(&Style::of_stderr().dim(&format!("\r\nheadwater: {}", detached_note(id))));
            Ok(0)
        }
        End::ReaderGone => Ok(0),
    }
}

fn detached_note(id: ExecutionId) -> String {
    format!("detached; {id} is still running")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_note_on_detaching_matches_its_snapshot() {
        snapshot::assert(
            "attach-detached",
            &detached_note("exe_00000000000000000000000000000001".parse().unwrap()),
        );
    }
}
