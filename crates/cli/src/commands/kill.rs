//! `headwater kill`: end executions, or send them a signal.

use std::time::Duration;

use crate::args::KillArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::resolve;

/// Ends the whole process tree of each execution, or sends each the signal.
pub async fn kill(place: &Place, args: &KillArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    for text in &args.executions {
        let id = resolve::execution(&engine, text).await?;
        if let Some(signal) = args.signal {
            engine.signal(id, signal, args.tree).await?;
        } else {
            engine.cancel(id, args.now.then_some(Duration::ZERO)).await?;
        }
    }
    Ok(0)
}
