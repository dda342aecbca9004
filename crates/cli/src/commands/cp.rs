//! `headwater cp`: copies files and folders to and from a session, as `cp -r` does.

mod download;
mod path;
mod progress;
mod upload;

use std::sync::Arc;

use self::path::Location;
use self::progress::Progress;
use crate::args::CopyArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::resolve;

/// Copies in one of the two directions.
pub async fn cp(place: &Place, args: &CopyArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let progress = Arc::new(Progress::new(!args.quiet));
    match (Location::parse(&args.from), Location::parse(&args.to)) {
        (Location::Here(from), Location::Session { session, path }) => {
            let session = resolve::session(&engine, &session).await?;
            upload::upload(&engine, &from, session, &path, &progress).await?;
        }
        (Location::Session { session, path }, Location::Here(to)) => {
            let session = resolve::session(&engine, &session).await?;
            download::download(&engine, session, &path, &to, &progress).await?;
        }
        (Location::Here(_), Location::Here(_)) => return Err(no_session(args)),
        (Location::Session { .. }, Location::Session { .. }) => return Err(two_sessions()),
    }
    progress.finish();
    Ok(0)
}

fn no_session(args: &CopyArgs) -> CommandError {
    CommandError::usage(format!("neither `{}` nor `{}` is in a session", args.from, args.to))
        .hint("write a path in a session as SESSION:PATH")
}

fn two_sessions() -> CommandError {
    CommandError::usage("files cannot be copied from one session to another directly")
        .hint("copy them here first, or create the session with `headwater fork`")
}

fn missing(what: &str) -> CommandError {
    CommandError::new(ErrorKind::NotFound, format!("`{what}` does not exist"))
}

fn not_copied(what: &str) -> CommandError {
    CommandError::new(ErrorKind::Refused, format!("`{what}` is neither a file nor a folder"))
        .hint("a link, a FIFO, a socket or a device is copied only as part of a folder, or not at all")
}

fn failed(what: &str, error: &std::io::Error) -> CommandError {
    CommandError::new(ErrorKind::Refused, format!("cannot {what}: {error}"))
}
