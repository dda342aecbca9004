//! `headwater attach`: watch an execution and type into it. Leaving never ends it.

use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Seq};

use crate::args::AttachArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::input;
use crate::live::{CtrlC, End, Interrupts, Watch, resize, watch};
use crate::show::{Format, Gaps};
use crate::style::Style;
use crate::terminal::RawMode;
use crate::{exit, resolve};

/// What is shown of the past: about a screen.
const TAIL_BYTES: u64 = 16 << 10;

/// Watches; answers with the exit code.
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
    let how = Watch {
        engine,
        id,
        format: if args.json { Format::Json } else { Format::Bytes },
        gaps: if args.after.is_some() { Gaps::All } else { Gaps::AfterOutput },
        input,
        detach_keys: raw.is_some(),
        tty: execution.tty.is_some(),
        ctrl_c: CtrlC::Leaves,
    };
    let end = watch(how, events, &mut interrupts).await;
    drop(raw);
    match end? {
        End::Ended(verdict, shown) => {
            if let Some(line) = exit::line(&verdict).filter(|_| !args.json) {
                eprintln!("{}", Style::of_stderr().red(&format!("headwater: {line}")));
            }
            shown.check(id)?;
            Ok(exit::code(&verdict))
        }
        End::Left => {
            eprintln!("{}", Style::of_stderr().dim(&format!("\r\nheadwater: {}", left_running(id))));
            Ok(0)
        }
        End::ReaderGone => Ok(0),
    }
}

fn left_running(id: ExecutionId) -> String {
    format!("left; {id} runs on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_note_on_leaving_reads_like_this() {
        snapshot::assert(
            "attach-left",
            &left_running("exe_00000000000000000000000000000001".parse().unwrap()),
        );
    }
}
