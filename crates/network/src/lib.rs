//! The network of sessions: the filtering proxy and the mirror of package registries.
//!
//! A session with `network: packages` has only its own loopback device. Its init listens there ([`PORT`]), and the
//! worker accepts: [`outlet`] takes connections, [`proxy`] routes each request. A request to another host goes through
//! [`forward`] or [`tunnel`] and the [`dial`]ler, if the operator's list [`allow`]s it; a request to the outlet itself
//! is for the [`mirror`], which fetches packages and caches them for all sessions.

mod address;
pub mod allow;
pub mod config;
mod connect;
mod connection_permits;
mod dial;
mod forward;
mod headers;
mod meter;
mod mirror;
mod no_proxy;
mod outlet;
mod proxy;
mod resolver;
mod response;
pub mod target;
mod tunnel;
mod upstream;

use std::path::Path;
use std::sync::Arc;

use headwater_contract::v1::CacheUsage;
use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Network as Wanted, SandboxKind};
use tokio::runtime::Handle;

use crate::config::{NetworkConfig, PackagesConfig};
use connection_permits::ConnectionPermits;
use dial::Dialler;
use mirror::Mirror;
use resolver::HostResolver;
use upstream::Upstream;

/// The port of the outlet on 127.0.0.1 of each session. The same for all, so that lock files and configuration that
/// were written in one session work in the next.
pub const PORT: u16 = 41_080;

/// Connections of all sessions together: enough for four owners at their limit.
const MAX_CONNECTIONS: usize = 4096;

/// The network of a worker's sessions.
#[derive(Debug)]
pub struct Network {
    rules: NetworkConfig,
    dialler: Dialler,
    mirror: Mirror,
    permits: ConnectionPermits,
    /// Separate from the runtime that moves output.
    runtime: Handle,
}

impl Network {
    /// `data` is the worker's data folder, which holds the package cache.
    pub fn new(rules: NetworkConfig, packages: &PackagesConfig, data: &Path, runtime: Handle) -> Arc<Self> {
        let upstream = Upstream::new(&rules, |name| std::env::var(name).ok());
        let names = Arc::new(HostResolver::new(rules.hosts.clone()));
        let dialler = Dialler::new(names, &rules.allow_private, upstream);
        Arc::new(Self {
            mirror: Mirror::new(packages, dialler.clone(), data.join("packages")),
            dialler,
            permits: ConnectionPermits::new(MAX_CONNECTIONS, rules.max_connections_of_owner),
            rules,
            runtime,
        })
    }

    /// The look-ups and the size of the package cache. Blocks.
    pub fn package_cache(&self) -> CacheUsage {
        self.mirror.cache_usage()
    }

    /// Whether a session may have this network.
    pub fn permit(&self, wanted: Wanted, sandbox: SandboxKind) -> Result<(), Fault> {
        let refuse = |message: &str, hint: &str| Err(Fault::new(FaultKind::Invalid, message).hint(hint));
        match wanted {
            Wanted::Packages if sandbox == SandboxKind::None => refuse(
                "the network `packages` needs isolation: without it a session uses the host's network",
                "leave out `network`, or run the worker with isolation",
            ),
            Wanted::Packages if !self.rules.allow_packages => refuse(
                "sessions with the network `packages` are disabled on this server",
                "the operator can set `allow_packages = true` in `[network]` of the configuration",
            ),
            Wanted::Full if !self.rules.allow_full => refuse(
                "sessions with the network `full` are not allowed on this server",
                "use `packages`, or have the operator set `allow_full = true` in `[network]` of the configuration",
            ),
            Wanted::None | Wanted::Packages | Wanted::Full => Ok(()),
        }
    }
}

/// The environment of programs in a session with `network: packages`, so that package managers work without
/// configuration.
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
        // The mirror accepts no audit reports, and a lock file must not contain the address of the outlet.
        all.push(("npm_config_audit", "false".to_owned()));
        all.push(("npm_config_omit_lockfile_registry_resolved", "true".to_owned()));
    }
    if packages.go_proxy.is_some() {
        // Its checksum database is asked through the same proxy; version control systems cannot be reached.
        all.push(("GOPROXY", format!("{outlet}/go")));
    }
    all
}

/// The configuration of cargo that leads it to the mirror: cargo takes this from no variable.
pub fn cargo_config(packages: &PackagesConfig) -> Option<String> {
    packages.cargo_index.as_ref().map(|_| {
        format!(
            "[source.crates-io]\nreplace-with = \"headwater\"\n\n[source.headwater]\n\
             registry = \"sparse+http://127.0.0.1:{PORT}/cargo/\"\n"
        )
    })
}

/// The settings of Maven that lead it to the mirror.
pub fn maven_settings(packages: &PackagesConfig) -> Option<String> {
    packages.maven_repository.as_ref().map(|_| {
        format!(
            "<settings>\n  <mirrors>\n    <mirror>\n      <id>headwater</id>\n      <mirrorOf>*</mirrorOf>\n      \
             <url>http://127.0.0.1:{PORT}/maven</url>\n    </mirror>\n  </mirrors>\n</settings>\n"
        )
    })
}
