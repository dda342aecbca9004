//! `headwater forget`: delete the logs of ended executions.

use crate::args::ForgetArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::resolve;

/// Deletes the logs.
pub async fn forget(place: &Place, args: &ForgetArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    for text in &args.executions {
        let id = resolve::execution(&engine, text).await?;
        engine.forget(id).await?;
    }
    Ok(0)
}
