//! `headwater wait`: waits until executions have ended, and prints their exit codes.

use std::time::Instant;

use crate::args::WaitArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::output::{print_json, print_line};
use crate::{exit, resolve, view};

/// Waits for all of them, in the order in which they were named.
pub async fn wait(place: &Place, args: &WaitArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let mut ids = Vec::new();
    for text in &args.executions {
        ids.push(resolve::execution(&engine, text).await?);
    }
    let until = args.timeout.and_then(|time| Instant::now().checked_add(time));
    for id in ids {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let execution = engine.wait(id, left).await?;
        let Some(verdict) = view::verdict(&execution) else { return Ok(exit::TIMED_OUT) };
        if args.json {
            print_json(&view::object(&execution))?;
        } else {
            print_line(&exit::code(&verdict).to_string())?;
        }
    }
    Ok(0)
}
