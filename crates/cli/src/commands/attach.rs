//! `headwater attach`: watch an execution and type into it. Leaving never ends it.

use headwater_contract::{Client, FollowOptions};
use headwater_protocol::{Execution, Seq, Stdin};

use crate::args::AttachArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::input::{self, Input};
use crate::live::{CtrlC, End, Interrupts, Watch, resize, watch};
use crate::show::Format;
use crate::style::Style;
use crate::terminal::RawMode;
use crate::{exit, resolve};

/// What is shown of the past: about a screen.
const TAIL_BYTES: u64 = 16 << 10;

/// Watches; answers with the exit code.
pub async fn attach(place: &Place, args: &AttachArgs) -> Result<u8, CommandError> {
    let client = place.existing().await?;
    let id = resolve::execution(&client, &args.execution).await?;
    let execution = client.insist(async |client| client.execution(id).await).await?;
    let mut interrupts = Interrupts::listen()?;
    let options = FollowOptions {
        after: Seq(args.after.unwrap_or(0)),
        tail_bytes: args.after.is_none().then_some(TAIL_BYTES),
        tail_once: true,
        ..FollowOptions::default()
    };
    let follower = client.insist(async |client: &Client| client.follow(id, options.clone()).await).await?;
    let input = (!args.no_stdin).then(|| own_input(&execution)).flatten();
    let raw = if execution.spec.tty.is_some() && input.is_some() { RawMode::enter()? } else { None };
    if execution.spec.tty.is_some() {
        resize(&client, id);
    }
    let how = Watch {
        client,
        id,
        format: if args.json { Format::Json } else { Format::Bytes { gaps: args.after.is_some() } },
        input,
        detach_keys: raw.is_some(),
        tty: execution.spec.tty.is_some(),
        ctrl_c: CtrlC::Leaves,
    };
    let end = watch(how, follower, &mut interrupts).await;
    drop(raw);
    match end? {
        End::Verdict(verdict) => {
            if let Some(line) = exit::line(&verdict).filter(|_| !args.json) {
                eprintln!("{}", Style::of_stderr().red(&format!("headwater: {line}")));
            }
            Ok(exit::code(&verdict))
        }
        End::Left => {
            eprintln!("{}", Style::of_stderr().dim(&format!("\r\nheadwater: left; {id} runs on")));
            Ok(0)
        }
        End::ReaderGone => Ok(0),
    }
}

/// Our standard input, if the program reads and somebody can type.
fn own_input(execution: &Execution) -> Option<Input> {
    let reads = execution.spec.stdin == Stdin::Open || execution.spec.tty.is_some();
    let ended = execution.state.verdict().is_some();
    (reads && !ended && !input::own_is_null()).then(input::own)
}
