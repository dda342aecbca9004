//! `headwater forget`: remove the logs of executions that are closed.

use headwater_contract::Client;

use crate::args::ForgetArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::resolve;

/// Removes them.
pub async fn forget(place: &Place, args: &ForgetArgs) -> Result<u8, CommandError> {
    let client = place.existing().await?;
    for text in &args.executions {
        let id = resolve::execution(&client, text).await?;
        client.insist(async |client: &Client| client.forget(id).await).await?;
    }
    Ok(0)
}
