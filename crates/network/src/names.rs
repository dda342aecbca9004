//! Names to addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever knows addresses.
pub(crate) trait Names: fmt::Debug + Send + Sync {
    /// All addresses of a name.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Those of the configuration, then the host's (`/etc/hosts`, and the name servers of `/etc/resolv.conf`). Not the C
/// library's: the binary is static and cannot load its parts.
pub(crate) struct HostNames {
    fixed: BTreeMap<String, Vec<IpAddr>>,
    resolver: OnceLock<Result<TokioResolver, String>>,
}

impl fmt::Debug for HostNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostNames").field("fixed", &self.fixed).finish_non_exhaustive()
    }
}

impl HostNames {
    pub(crate) const fn new(fixed: BTreeMap<String, Vec<IpAddr>>) -> Self {
        Self { fixed, resolver: OnceLock::new() }
    }

    async fn ask(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if let Some(addresses) = self.fixed.get(name) {
            return Ok(addresses.clone());
        }
        let made = self.resolver.get_or_init(|| {
            TokioResolver::builder_tokio()
                .and_then(hickory_resolver::ResolverBuilder::build)
                .map_err(|error| error.to_string())
        });
        let resolver = made.as_ref().map_err(|error| io::Error::other(error.clone()))?;
        // The dot keeps the host's search domains out of it.
        let asked = tokio::time::timeout(PATIENCE, resolver.lookup_ip(format!("{name}."))).await;
        let found = asked.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?;
        Ok(found.iter().collect())
    }
}

impl Names for HostNames {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.ask(name).boxed()
    }
}
