//! `headwater fork`: creates a session with a copy of the workspace of another.

use super::{sessions, snapshot};
use crate::args::ForkArgs;
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::output::{print_json, print_line};
use crate::{resolve, view};

/// Creates the session and prints its id.
pub async fn fork(place: &Place, args: &ForkArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let from = resolve::session(&engine, &args.session).await?;
    let snapshot = match &args.snapshot {
        Some(text) => Some(snapshot::find(&engine, from, text).await?),
        None => None,
    };
    if let Some(name) = &args.name
        && matches!(engine, Engine::Local(_))
    {
        sessions::check_is_free(&engine, name).await?;
    }
    let session = engine.fork(from, args.name.clone(), snapshot).await?;
    if args.json {
        print_json(&view::object(&session))?;
    } else {
        print_line(&session.id.to_string())?;
    }
    Ok(0)
}
