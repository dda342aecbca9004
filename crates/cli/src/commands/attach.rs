//! `headwater attach`: follow an execution and type into it. Detaching leaves it running.

use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Seq};

use crate::args::AttachArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::input;
use crate::live::{self, CtrlC, End, Interrupts, resize};
use crate::show::{Format, Gaps};
use crate::style::Style;
use crate::terminal::RawMode;
use crate::{exit, resolve};

/// How much of the earlier output is shown: about a screen.
const TAIL_BYTES: u64 = 16 << 10;

/// Follows the execution and returns the exit code.
pub async fn attach(place: &Place, args: &AttachArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let id = resolve::execution(&engine, &args.execution).await?;
    let (execution, reads) = engine.execution_and_input(id).await?;
    let mut interrupts = Interrupts::listen()?;
    let options = FollowOptions {
        after: Seq(args.after.unwrap_or(0)),
        tail_bytes: args.after.is_none().then_some(TAIL_BYTES),
        tail_once: true,
        ..FollowOptions::default()
    };
    let events = engine.follow(id, options).await?;
    let types = reads && !args.no_stdin && execution.exit.is_none() && !input::own_is_null();
    let input = types.then(input::own);
    let raw = if execution.tty.is_some() && input.is_some() { RawMode::enter()? } else { None };
    if execution.tty.is_some() {
        resize(&engine, id);
    }
    let session = live::Session {
        engine,
        id,
        format: if args.json { Format::Json } else { Format::Bytes },
        gaps: if args.after.is_some() { Gaps::All } else { Gaps::AfterOutput },
        input,
        detach_keys: raw.is_some(),
        tty: execution.tty.is_some(),
        ctrl_c: CtrlC::Detaches,
    };
    let end = live::follow(session, events, &mut interrupts).await;
    drop(raw);
    match end? {
        End::Ended(verdict, shown) => {
            if let Some(line) = exit::line(&verdict).filter(|_| !args.json) {
                eprintln!("{}", Style::of_stderr().red(&format!("headwater: {line}")));
            }
            shown.check(id)?;
            Ok(exit::code(&verdict))
        }
        End::Detached => {
            eprintln!("{}", Style::of_stderr().dim(&format!("\r\nheadwater: {}", detached_note(id))));
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
