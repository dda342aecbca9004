//! Fetches from registries: over TLS where configured, with the same address checks as all other connections.

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::HeaderMap;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

use super::super::dial::{DialError, Dialler};
use super::super::response::{NEEDS_PROXY, Refusal};
use super::super::target::{Host, Target};
use super::super::upstream::Scheme;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause between two parts of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 5;
/// Idle connections that are kept to one registry.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct FetchError {
    /// All that is known, for the log.
    text: String,
    /// What the program that asked is told: nothing about the host's network.
    shown: String,
}

impl FetchError {
    /// An error whose text may be shown.
    pub(super) fn new(message: impl Into<String>) -> Self {
        let text = message.into();
        Self { shown: text.clone(), text }
    }

    /// The reason as the program that asked gets it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The error with all its causes, but without the URL, which may contain a password.
    pub(super) fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut dial = None;
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            dial = dial.or_else(|| inner.downcast_ref::<DialError>());
            cause = inner.source();
        }
        let shown = reason(&text, dial, error.is_timeout());
        Self { text, shown }
    }
}

/// What a failed request means, and what helps.
fn reason(text: &str, dial: Option<&DialError>, timeout: bool) -> String {
    match dial {
        Some(DialError::Private { .. }) => {
            "the registry is in a private network; the operator can list it in `network.allow_private`"
                .to_owned()
        }
        Some(DialError::Unresolved { .. }) => {
            format!("the name of the registry cannot be resolved; {NEEDS_PROXY}")
        }
        _ if text.contains("proxy authorization required") => Refusal::proxy_credentials().message,
        _ if text.contains("tunnel error") => {
            "the operator's proxy refuses the registry; the operator can allow it there, or list it in \
             `network.no_proxy`"
                .to_owned()
        }
        _ if text.contains("certificate") => {
            "the registry's certificate is not trusted; the operator can name the authority's file in \
             `SSL_CERT_FILE` of the worker"
                .to_owned()
        }
        _ if timeout => format!("the registry does not answer in time; {NEEDS_PROXY}"),
        _ => format!("the registry does not answer; {NEEDS_PROXY}"),
    }
}

/// Sends requests to registries.
#[derive(Debug)]
pub(super) struct Fetcher {
    dialler: Dialler,
    /// The registries as configured: their URLs may contain a user name and a password.
    registries: Vec<Url>,
    /// One client with address checks, and one without: for the operator's exceptions, because a resolver does not see
    /// the port, and for the operator's proxy, which may have a private address.
    clients: OnceLock<Result<[Client; 2], String>>,
}

impl Fetcher {
    pub(super) const fn new(dialler: Dialler, registries: Vec<Url>) -> Self {
        Self { dialler, registries, clients: OnceLock::new() }
    }

    /// Sends a GET request and follows redirects.
    pub(super) async fn get(&self, url: &Url, headers: HeaderMap) -> Result<Response, FetchError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.client(&url)?.get(url.clone()).headers(headers.clone());
            if let Some(registry) = self.registries.iter().find(|registry| is_same(registry, &url)) {
                request = request.basic_auth(registry.username(), registry.password());
            }
            let response = request.send().await.map_err(FetchError::of)?;
            let moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let Some(location) = response.headers().get(LOCATION).filter(|_| moved) else {
                return Ok(response);
            };
            let next = location.to_str().ok().and_then(|location| url.join(location).ok());
            let next = next.ok_or_else(|| FetchError::new("the registry redirects to an invalid URL"))?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(FetchError::new("the registry redirects from `https` to another scheme"));
            }
            url = next;
        }
        Err(FetchError::new("the registry redirects too often"))
    }

    /// The client for a URL.
    fn client(&self, url: &Url) -> Result<&Client, FetchError> {
        let invalid = || FetchError::new("the registry redirects to an invalid URL");
        if !matches!(url.scheme(), "https" | "http") {
            return Err(invalid());
        }
        let target = target_of(url).ok_or_else(invalid)?;
        self.dialler
            .refuse_private_address(&target)
            .map_err(|_| FetchError::new(format!("`{target}` is in a private network")))?;
        let proxied = self.dialler.proxy_for(scheme_of(url), &target).is_some();
        let clients = self.clients.get_or_init(|| {
            let make = |trusted| {
                let resolver = CheckedResolver { dialler: self.dialler.clone(), trusted };
                client(resolver, trusted.then(|| upstream_proxy(self.dialler.clone())))
            };
            Ok([make(false)?, make(true)?])
        });
        let [checked, trusted] = clients.as_ref().map_err(|error| FetchError::new(error.clone()))?;
        Ok(if proxied || self.dialler.is_exception(&target) { trusted } else { checked })
    }
}

/// Whether this URL belongs to the registry and the registry has a password.
fn is_same(registry: &Url, url: &Url) -> bool {
    !registry.username().is_empty() && registry.origin() == url.origin()
}

fn scheme_of(url: &Url) -> Scheme {
    if url.scheme() == "https" { Scheme::Https } else { Scheme::Http }
}

/// Sends requests through the operator's proxy, if their host is not reached directly.
fn upstream_proxy(dialler: Dialler) -> reqwest::Proxy {
    reqwest::Proxy::custom(move |url| {
        let target = target_of(url)?;
        dialler.proxy_for(scheme_of(url), &target).map(|proxy| proxy.url.clone())
    })
}

/// The host and port of a URL.
fn target_of(url: &Url) -> Option<Target> {
    let host = Host::parse(url.host_str()?).ok()?;
    Some(Target { host, port: url.port_or_known_default()? })
}

fn client(resolver: CheckedResolver, proxy: Option<reqwest::Proxy>) -> Result<Client, String> {
    // Fails if another part of the process has installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().no_proxy();
    let builder = match proxy {
        Some(proxy) => builder.proxy(proxy),
        None => builder,
    };
    builder
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(resolver))
        .build()
        .map_err(|error| error.to_string())
}

/// The resolver of a client: the client dials only addresses that it returns.
#[derive(Debug)]
struct CheckedResolver {
    dialler: Dialler,
    /// Skips the check; only for targets that are exceptions.
    trusted: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (dialler, trusted) = (self.dialler.clone(), self.trusted);
        Box::pin(async move {
            let host = Host::parse(name.as_str())?;
            // The client fills in the port.
            let target = Target { host, port: 0 };
            let found =
                if trusted { dialler.unchecked(&target).await? } else { dialler.addresses(&target).await? };
            let addresses: Vec<SocketAddr> = found;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
