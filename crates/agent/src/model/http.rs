//! The HTTP client of a model.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use super::ModelErrorKind;
use super::config::{Api, ModelConfig};
use super::fault::Fault;
use super::key::Key;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The version of the messages API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The addresses of `localhost`: not every resolver knows it.
const LOCALHOST: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
];

/// A client for this address. It follows no redirects, because a key must not follow one, and it has no limit of the
/// total time, because an answer may take long.
pub(super) fn client(url: &Url) -> Result<Client, Fault> {
    // Refused if one is installed already, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .resolve_to_addrs("localhost", &LOCALHOST);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // No certificates have to be loaded if none will be checked.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| Fault::transport(ModelErrorKind::Unreachable, &error))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The headers of a call. Their values are not shown by anything that prints them.
pub(super) fn headers(config: &ModelConfig, key: Option<&Key>) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, value: &str| {
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            Fault::no_key(&format!("the value of `{name}` contains characters that no header can have"))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<_, Fault>(())
    };
    if config.api == Api::Messages {
        add(HeaderName::from_static("anthropic-version"), ANTHROPIC_VERSION)?;
    }
    match (config.api, key) {
        (_, None) => {}
        (Api::Messages, Some(key)) => add(HeaderName::from_static("x-api-key"), key.expose())?,
        (_, Some(key)) => add(AUTHORIZATION, &format!("Bearer {}", key.expose()))?,
    }
    for (name, value) in &config.headers {
        if let Ok(name) = HeaderName::try_from(name) {
            add(name, value)?;
        }
    }
    Ok(headers)
}
