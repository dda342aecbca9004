//! The outlet of a session with `network: packages`: init listens inside, the worker's network answers.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::Fault;
use headwater_network::PORT;
use headwater_protocol::Network;
use headwater_sandbox::wire::ToInit;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Session;

/// Open as long as its guard is here.
#[derive(Debug, Default)]
pub(crate) struct Outlet(Mutex<Option<DropGuard>>);

impl Outlet {
    /// Nobody is served any more.
    pub(crate) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What init is told, if a session has an outlet.
pub(crate) fn message(network: Network) -> Option<ToInit> {
    (network == Network::Packages).then_some(ToInit::Listen { port: PORT })
}

impl Session {
    /// Has init open the outlet, if the session has one. Programs that are started after this find it.
    pub(crate) async fn open_outlet(&self) -> Result<(), Fault> {
        let network = self.record().spec.network;
        match message(network) {
            Some(listen) => self.tell(&listen).await,
            None => Ok(()),
        }
    }

    /// What its programs have to know of it.
    pub(crate) fn network_environment(&self, network: Network) -> Vec<(&'static str, String)> {
        match (network, self.engine.upgrade()) {
            (Network::Packages, Some(engine)) => headwater_network::environment(&engine.config.packages),
            _ => Vec::new(),
        }
    }

    /// Init has opened it.
    pub(crate) fn outlet_is_there(self: &Arc<Self>, fds: Vec<OwnedFd>) {
        let (Some(outlet), Some(engine)) = (fds.into_iter().next(), self.engine.upgrade()) else { return };
        let over = CancellationToken::new();
        let owner = self.record().spec.owner().into();
        engine.network.open(self.id, owner, outlet, over.clone());
        // One that was open before is closed by this.
        *self.outlet.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(over.drop_guard());
    }
}
