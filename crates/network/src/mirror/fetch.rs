//! Fetching from registries: over TLS as they are configured, through the same checks as everything else.

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::HeaderMap;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

use super::super::dial::Dialler;
use super::super::target::{Host, Target};

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Between two parts of an answer.
const READ_PATIENCE: Duration = Duration::from_secs(30);
/// An answer that leads elsewhere leads at most so often elsewhere.
const REDIRECTS: usize = 5;
/// Idle connections kept to a registry.
const KEPT: usize = 8;

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct FetchError(String);

impl FetchError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// With all that it says of its causes; never the address, which may hold a password.
    fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Self(text)
    }
}

/// Fetches.
#[derive(Debug)]
pub(super) struct Fetch {
    dialler: Dialler,
    /// The registries as configured: with a name and a password in them, if they want those.
    registries: Vec<Url>,
    /// For everything, and for what the operator excepted: names are looked up without their port.
    clients: OnceLock<Result<[Client; 2], String>>,
}

impl Fetch {
    pub(super) const fn new(dialler: Dialler, registries: Vec<Url>) -> Self {
        Self { dialler, registries, clients: OnceLock::new() }
    }

    /// Asks for what is at this address, which may lead to others.
    pub(super) async fn get(&self, url: &Url, headers: HeaderMap) -> Result<Response, FetchError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let mut request = self.client(&url)?.get(url.clone()).headers(headers.clone());
            if let Some(registry) = self.registries.iter().find(|registry| is_same(registry, &url)) {
                request = request.basic_auth(registry.username(), registry.password());
            }
            let response = request.send().await.map_err(FetchError::of)?;
            let moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let Some(place) = response.headers().get(LOCATION).filter(|_| moved) else {
                return Ok(response);
            };
            let next = place.to_str().ok().and_then(|place| url.join(place).ok());
            let next =
                next.ok_or_else(|| FetchError::new("the registry leads to an address that is none"))?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(FetchError::new("the registry leads from `https` to something less safe"));
            }
            url = next;
        }
        Err(FetchError::new("the registry leads from one address to the next without end"))
    }

    /// The client that may be used for an address.
    fn client(&self, url: &Url) -> Result<&Client, FetchError> {
        let strange = || FetchError::new("the registry leads to an address that is none");
        if !matches!(url.scheme(), "https" | "http") {
            return Err(strange());
        }
        let host = Host::parse(url.host_str().unwrap_or_default()).map_err(|_| strange())?;
        let target = Target { host, port: url.port_or_known_default().ok_or_else(strange)? };
        let exception = self.dialler.is_exception(&target);
        if let (Host::Address(address), false) = (&target.host, exception)
            && !super::super::address::is_public(*address)
        {
            return Err(FetchError::new(format!("`{target}` is in a private network")));
        }
        let made = self.clients.get_or_init(|| {
            let make = |trusted| client(Checked { dialler: self.dialler.clone(), trusted });
            Ok([make(false)?, make(true)?])
        });
        let [checked, trusted] = made.as_ref().map_err(|error| FetchError::new(error.clone()))?;
        Ok(if exception { trusted } else { checked })
    }
}

/// Whether a registry that wants a password is the one at this address.
fn is_same(registry: &Url, url: &Url) -> bool {
    !registry.username().is_empty() && registry.origin() == url.origin()
}

fn client(names: Checked) -> Result<Client, String> {
    // Another part of the process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_PATIENCE)
        .read_timeout(READ_PATIENCE)
        .pool_max_idle_per_host(KEPT)
        .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(names))
        .build()
        .map_err(|error| error.to_string())
}

/// Names for the client: it dials what it is told here and nothing else.
#[derive(Debug)]
struct Checked {
    dialler: Dialler,
    /// Only for addresses that were found to be exceptions.
    trusted: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (dialler, trusted) = (self.dialler.clone(), self.trusted);
        Box::pin(async move {
            let host = Host::parse(name.as_str())?;
            // The port is the client's to fill in.
            let target = Target { host, port: 0 };
            let found =
                if trusted { dialler.unchecked(&target).await? } else { dialler.addresses(&target).await? };
            let addresses: Vec<SocketAddr> = found;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
