//! There is no worker on this system: commands need a server.

use std::future::{Ready, ready};

use headwater_contract::Client;

use super::Place;
use crate::error::CommandError;
use crate::host::{no_server, refused};
use crate::server::Server;

#[allow(clippy::unused_self)] // as on Linux
impl Place {
    /// The running server of the data folder.
    pub fn own_server(&self) -> Result<Server, CommandError> {
        Err(no_server())
    }

    /// The worker, if it is running.
    pub fn running(&self) -> Ready<Result<Option<Client>, CommandError>> {
        ready(Ok(None))
    }

    /// The worker, started if it is not running.
    pub fn worker(&self) -> Ready<Result<Client, CommandError>> {
        refused()
    }

    /// The worker of a data folder that must exist.
    pub(super) fn existing(&self) -> Ready<Result<Client, CommandError>> {
        refused()
    }
}
