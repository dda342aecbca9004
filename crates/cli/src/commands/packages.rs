//! `headwater packages`: the packages that are installed in a session.

use serde_json::json;

use crate::args::PackagesArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::escape::printable;
use crate::output::{print_json, print_line};
use crate::resolve;
use crate::view::Table;

/// Prints a table or JSON.
pub async fn packages(place: &Place, args: &PackagesArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let session = resolve::session(&engine, &args.session).await?;
    let all = engine.packages(session, args.node).await?;
    if args.json {
        all.iter()
            .try_for_each(|(name, version)| print_json(&json!({ "name": name, "version": version })))?;
        return Ok(0);
    }
    let mut table = Table::new(&["PACKAGE", "VERSION"]);
    for (name, version) in &all {
        table.row([printable(name), printable(version)]);
    }
    table.lines().iter().try_for_each(|line| print_line(line))?;
    Ok(0)
}
