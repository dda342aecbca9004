//! There is no store on this system: tokens are those of a server.

use std::future::Ready;
use std::path::Path;

use serde_json::Value;

use super::NewToken;
use crate::error::CommandError;
use crate::host::refused;

pub(super) fn create(_: &Path, _: &NewToken) -> Ready<Result<Value, CommandError>> {
    refused()
}

pub(super) fn list(_: &Path) -> Ready<Result<Vec<Value>, CommandError>> {
    refused()
}

pub(super) fn revoke(_: &Path, _: &[String]) -> Ready<Result<(), CommandError>> {
    refused()
}
