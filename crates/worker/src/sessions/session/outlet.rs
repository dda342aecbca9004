//! The outlet of a session with `network: packages`: init listens inside the session, and the worker's network accepts the
//! connections.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::Fault;
use headwater_network::PORT;
use headwater_protocol::Network;
use headwater_sandbox::wire::ToInit;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Session;

/// The outlet is open while it holds a guard.
#[derive(Debug, Default)]
pub(crate) struct Outlet(Mutex<Option<DropGuard>>);

impl Outlet {
    /// Accepts no more connections and ends the open ones.
    pub(crate) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The message that opens the outlet, if a session with this network has one.
pub(crate) fn message(network: Network) -> Option<ToInit> {
    (network == Network::Packages).then_some(ToInit::Listen { port: PORT })
}

impl Session {
    /// Has init open the outlet, if the session has one. Programs that are started after this can use it.
    pub(crate) async fn open_outlet(&self) -> Result<(), Fault> {
        let network = self.record().spec.network;
        match message(network) {
            Some(listen) => self.send(&listen).await,
            None => Ok(()),
        }
    }

    /// The environment variables by which programs find the outlet.
    pub(crate) fn network_environment(&self, network: Network) -> Vec<(&'static str, String)> {
        match (network, self.engine.upgrade()) {
            (Network::Packages, Some(engine)) => headwater_network::environment(&engine.config.packages),
            _ => Vec::new(),
        }
    }

    /// Init has opened the outlet.
    pub(crate) fn outlet_is_open(self: &Arc<Self>, fds: Vec<OwnedFd>) {
        let (Some(outlet), Some(engine)) = (fds.into_iter().next(), self.engine.upgrade()) else { return };
        let closed = CancellationToken::new();
        let owner = self.record().spec.owner().into();
        engine.network.open(self.id, owner, outlet, closed.clone());
        // This closes an outlet that was open before.
        *self.outlet.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(closed.drop_guard());
    }
}
