//! There is no store on this system: users are those of a server.

use std::future::Ready;
use std::path::Path;

use serde_json::Value;

use crate::args::UserAction;
use crate::error::CommandError;
use crate::host::refused;

#[allow(clippy::needless_pass_by_value)] // as on Linux
pub(super) fn change(_: &Path, _: UserAction) -> Ready<Result<Option<String>, CommandError>> {
    refused()
}

pub(super) fn list(_: &Path) -> Ready<Result<Vec<Value>, CommandError>> {
    refused()
}
