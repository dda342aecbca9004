//! `headwater logs`: the output of an execution, from any position; `--follow` continues live.

use std::io::IsTerminal;

use headwater_contract::FollowOptions;
use headwater_protocol::{Seq, Stream};

use crate::args::LogsArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::output::print_note;
use crate::show::{Format, Gaps, show};
use crate::style::Style;
use crate::{exit, resolve};

/// Prints the log.
pub async fn logs(place: &Place, args: &LogsArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let id = resolve::execution(&engine, &args.execution).await?;
    let options = FollowOptions {
        after: Seq(args.after),
        until_closed: true,
        tail_bytes: args.tail,
        tail_once: true,
        streams: args.stream.iter().copied().map(Stream::from).collect(),
        no_wait: !args.follow,
        ..FollowOptions::default()
    };
    let events = engine.follow(id, options).await?;
    let gaps = if args.tail.is_none() { Gaps::All } else { Gaps::AfterOutput };
    let shown = show(events, if args.json { Format::Json } else { Format::Bytes }, gaps).await?;
    let line = shown.verdict.as_ref().and_then(exit::line);
    if let Some(line) = line.filter(|_| !args.json && std::io::stderr().is_terminal()) {
        print_note(&Style::of_stderr().dim(&format!("headwater: {line}")));
    }
    shown.check(id)?;
    Ok(0)
}
