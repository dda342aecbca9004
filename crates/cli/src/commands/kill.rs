//! `headwater kill`: end executions, or send them a signal.

use std::time::Duration;

use headwater_contract::Client;

use crate::args::KillArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::resolve;

/// Ends them, the whole tree each; with a signal, only sends it.
pub async fn kill(place: &Place, args: &KillArgs) -> Result<u8, CommandError> {
    let client = place.existing().await?;
    for text in &args.executions {
        let id = resolve::execution(&client, text).await?;
        if let Some(signal) = args.signal {
            // Sent once: a signal that was delivered before the answer was lost must not come twice.
            client.signal(id, signal, args.tree).await?;
        } else {
            let grace = args.now.then_some(Duration::ZERO);
            client.insist(async |client: &Client| client.cancel(id, grace).await).await?;
        }
    }
    Ok(0)
}
