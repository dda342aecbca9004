//! `headwater hibernate`: ends the programs of sessions and keeps their workspaces.

use crate::args::HibernateArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::resolve;

/// Hibernates the sessions, one after another.
pub async fn hibernate(place: &Place, args: &HibernateArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let mut ids = Vec::new();
    for text in &args.sessions {
        ids.push(resolve::session(&engine, text).await?);
    }
    for id in ids {
        engine.hibernate(id).await?;
    }
    Ok(0)
}
