//! Resolves host names to addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;

/// How long a lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Resolves host names; tests use their own.
pub(crate) trait Resolver: fmt::Debug + Send + Sync {
    /// All addresses of a name.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Uses the names of the configuration, then the host's (`/etc/hosts`, and the name servers of `/etc/resolv.conf`). Not
/// the C library's resolver: the binary is static and cannot load its modules.
pub(crate) struct HostResolver {
    fixed: BTreeMap<String, Vec<IpAddr>>,
    resolver: OnceLock<Result<TokioResolver, String>>,
}

impl fmt::Debug for HostResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostResolver").field("fixed", &self.fixed).finish_non_exhaustive()
    }
}

impl HostResolver {
    pub(crate) const fn new(fixed: BTreeMap<String, Vec<IpAddr>>) -> Self {
        Self { fixed, resolver: OnceLock::new() }
    }

    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if let Some(addresses) = self.fixed.get(name) {
            return Ok(addresses.clone());
        }
        let built = self.resolver.get_or_init(|| {
            TokioResolver::builder_tokio()
                .and_then(hickory_resolver::ResolverBuilder::build)
                .map_err(|error| error.to_string())
        });
        let resolver = built.as_ref().map_err(|error| io::Error::other(error.clone()))?;
        // The dot turns off the host's search domains.
        let asked = tokio::time::timeout(LOOKUP_TIMEOUT, resolver.lookup_ip(format!("{name}."))).await;
        let found = asked.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?;
        Ok(found.iter().collect())
    }
}

impl Resolver for HostResolver {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.look_up(name).boxed()
    }
}
