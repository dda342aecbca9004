//! What a session reaches of the network: the filtering proxy and the mirror of package registries.
//!
//! A session with `network: packages` has no network but its own loopback device. There its init listens
//! ([`PORT`]), and the worker accepts: [`outlet`] takes connections, [`proxy`] decides what each request is. A request to
//! another host goes through [`forward`] or [`tunnel`] and the [`dial`]ler, if the operator's list [`allow`]s it; a request to
//! the outlet itself is for the [`mirror`], which fetches packages itself and keeps them for all sessions.

mod address;
pub mod allow;
mod answer;
pub mod config;
mod dial;
mod forward;
mod headers;
mod meter;
mod mirror;
mod names;
mod outlet;
mod patient;
mod proxy;
mod seats;
pub mod target;
mod tunnel;

use std::path::Path;
use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Network as Wanted, SandboxKind};
use tokio::runtime::Handle;

use crate::config::{NetworkConfig, PackagesConfig};
use dial::Dialler;
use mirror::Mirror;
use names::HostNames;
use seats::Seats;

/// Where the outlet is, on 127.0.0.1 of each session. One number for all: what is written into a lock file or a
/// configuration in one session holds in the next.
pub const PORT: u16 = 41_080;

/// Connections of all sessions together: those of four owners who use all of theirs.
const ALL_SEATS: usize = 4096;

/// The network of a worker's sessions.
#[derive(Debug)]
pub struct Network {
    rules: NetworkConfig,
    dialler: Dialler,
    mirror: Mirror,
    seats: Seats,
    /// Apart from the runtime that moves output.
    runtime: Handle,
}

impl Network {
    /// `data` is the worker's folder: packages are kept in it.
    pub fn new(rules: NetworkConfig, packages: &PackagesConfig, data: &Path, runtime: Handle) -> Arc<Self> {
        let dialler = Dialler::new(Arc::new(HostNames::new(rules.hosts.clone())), &rules.allow_private);
        Arc::new(Self {
            mirror: Mirror::new(packages, dialler.clone(), data.join("packages")),
            dialler,
            seats: Seats::new(ALL_SEATS, rules.max_connections_of_owner),
            rules,
            runtime,
        })
    }

    /// Whether a session may have this network.
    pub fn permit(&self, wanted: Wanted, sandbox: SandboxKind) -> Result<(), Fault> {
        let refuse = |message: &str, hint: &str| Err(Fault::new(FaultKind::Invalid, message).hint(hint));
        match wanted {
            Wanted::Packages if sandbox == SandboxKind::None => refuse(
                "without walls there is no network of packages: a session has the host's network as it is",
                "leave `network` out, or run the worker with walls",
            ),
            Wanted::Packages if !self.rules.allow_packages => refuse(
                "sessions with the network `packages` are turned off here",
                "the operator can set `allow_packages = true` in `[network]` of the configuration",
            ),
            Wanted::Full if !self.rules.allow_full => refuse(
                "sessions with the network `full` are not allowed here",
                "use `packages`, or have the operator set `allow_full = true` in `[network]` of the configuration",
            ),
            Wanted::None | Wanted::Packages | Wanted::Full => Ok(()),
        }
    }
}

/// What programs of a session with `network: packages` find in their environment, so that package managers need not be
/// told anything.
pub fn environment(packages: &PackagesConfig) -> Vec<(&'static str, String)> {
    let outlet = format!("http://127.0.0.1:{PORT}");
    let local = "127.0.0.1,localhost,::1";
    let mut all = vec![
        ("HTTP_PROXY", outlet.clone()),
        ("HTTPS_PROXY", outlet.clone()),
        ("http_proxy", outlet.clone()),
        ("https_proxy", outlet.clone()),
        ("NO_PROXY", local.to_owned()),
        ("no_proxy", local.to_owned()),
    ];
    if packages.python_index.is_some() {
        all.push(("PIP_INDEX_URL", format!("{outlet}/pypi/simple/")));
        all.push(("UV_DEFAULT_INDEX", format!("{outlet}/pypi/simple/")));
    }
    if packages.npm_registry.is_some() {
        all.push(("npm_config_registry", format!("{outlet}/npm/")));
        // The mirror takes no reports, and a lock file must not name the outlet of one session.
        all.push(("npm_config_audit", "false".to_owned()));
        all.push(("npm_config_omit_lockfile_registry_resolved", "true".to_owned()));
    }
    all
}
