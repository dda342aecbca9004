//! Checks of `Host` and `Origin`: the names of this server, and the pages that may call it.
//!
//! A page of another site can send requests to 127.0.0.1 from a person's browser, and can make its own name resolve
//! to 127.0.0.1 (DNS rebinding). `Origin` reveals the first, `Host` the second.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use headwater_protocol::api::ErrorCode;

use crate::config::Config;
use crate::error::ApiError;

/// The names of this server, and the origins that may call it.
#[derive(Debug)]
pub(crate) struct Origins {
    /// Names in lower case, with a port.
    hosts: Vec<String>,
    /// Origins in lower case, as browsers send them.
    pages: Vec<String>,
    /// Whether every IP address is a name of this server: it listens on all of them.
    any_address: bool,
    port: u16,
    /// Whether pages of this machine may call, whatever their port: the server listens on loopback only, and the
    /// configuration names no other origins, names or proxies.
    any_local_page: bool,
}

impl Origins {
    /// The names of a server that listens on `listens`.
    pub(crate) fn new(config: &Config, listens: SocketAddr) -> Self {
        let port = listens.port();
        let mut hosts = vec![listens.to_string()];
        if listens.ip().is_loopback() {
            hosts.extend([format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        for host in &config.hosts {
            let host = host.to_ascii_lowercase();
            if !has_port(&host) {
                hosts.push(format!("{host}:{port}"));
            }
            hosts.push(host);
        }
        let is_local =
            config.origins.is_empty() && config.hosts.is_empty() && config.trusted_proxies.is_empty();
        let pages = config.origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        Self {
            hosts,
            pages: pages.collect(),
            any_address: listens.ip().is_unspecified(),
            port,
            any_local_page: listens.ip().is_loopback() && is_local,
        }
    }

    /// Refuses a request for another server name.
    ///
    /// The request line may name a server too (`GET http://name/path`), and then both names must be names of this server.
    pub(crate) fn check_host(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), ApiError> {
        let scheme = Scheme::of(headers);
        let authority = uri.authority().map(|name| name.as_str().to_ascii_lowercase());
        let mut named = headers.get_all(header::HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default().to_ascii_lowercase(),
            (None, None) => authority.clone().unwrap_or_default(),
            _ => String::new(), // two names are ambiguous
        };
        let others = [Some(host), authority].into_iter().flatten().find(|name| !self.is_ours(name, scheme));
        let Some(other) = others else { return Ok(()) };
        Err(ApiError::new(
            ErrorCode::WrongHost,
            format!("`{}` is not a name of this server", other.chars().take(64).collect::<String>()),
            "use its address, or add the name to `[server] hosts`",
        ))
    }

    fn is_ours(&self, host: &str, scheme: Scheme) -> bool {
        let usual = scheme.port();
        let with_port = if has_port(host) { host.to_owned() } else { format!("{host}:{usual}") };
        if self.hosts.iter().any(|ours| ours == host || *ours == with_port) {
            return true;
        }
        let literal = host.parse::<SocketAddr>().map(|address| address.port());
        let bare = host.trim_matches(['[', ']']).parse::<IpAddr>().map(|_| usual);
        self.any_address && literal.or(bare) == Ok(self.port)
    }

    /// Whether the origin is listed by name in `[server] origins`.
    pub(super) fn is_listed(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| self.pages.contains(&origin.to_ascii_lowercase())) && origin != "*"
    }

    /// Whether `[server] origins` has `*`.
    pub(super) fn lists_all(&self) -> bool {
        self.pages.iter().any(|page| page == "*")
    }

    /// Whether pages of this origin may call without cookies because they are of this machine: a development
    /// server, for example. Cookies are not accepted from them, because browsers share cookies between ports.
    pub(super) fn is_local_page(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        self.any_local_page && host.is_some_and(is_loopback)
    }

    /// Whether a request comes from a page of this server or of an origin that is listed by name.
    pub(super) fn may_use_cookies(&self, headers: &HeaderMap) -> bool {
        headers
            .get(header::ORIGIN)
            .is_some_and(|origin| self.is_listed(origin) || self.is_own_page(origin, headers))
    }

    /// Whether the origin is this server with the same scheme. Another scheme may be another server.
    fn is_own_page(&self, origin: &HeaderValue, headers: &HeaderMap) -> bool {
        let (origin, scheme) = (origin.to_str().unwrap_or("null").to_ascii_lowercase(), Scheme::of(headers));
        origin.strip_prefix(scheme.prefix()).is_some_and(|host| self.is_ours(host, scheme))
    }

    /// Refuses a request of another site's page. Programs send no `Origin`.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let refused = |origin: &str| {
            ApiError::forbidden(
                format!(
                    "pages of `{}` may not call this server",
                    origin.chars().take(64).collect::<String>()
                ),
                "add the origin to `[server] origins` if they should; behind a proxy with TLS, add the proxy's address \
                 to `[server] trusted_proxies` and let it set `X-Forwarded-Proto`",
            )
        };
        // `same-site` is another port or subdomain, for example a program that a session serves.
        if headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site")
            && headers.get(header::ORIGIN).is_none()
            && headers.get("sec-fetch-mode").is_none_or(|mode| mode != "navigate")
        {
            return Err(refused("another site"));
        }
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let is_allowed = self.lists_all()
            || self.is_listed(origin)
            || self.is_own_page(origin, headers)
            || self.is_local_page(origin);
        if is_allowed {
            return Ok(());
        }
        Err(refused(&origin.to_str().unwrap_or("null").to_ascii_lowercase()))
    }
}

/// The scheme that the client uses: HTTPS if a trusted proxy says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl Scheme {
    fn of(headers: &HeaderMap) -> Self {
        if super::cookie::is_secure(headers) { Self::Https } else { Self::Http }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }
}

/// The address of this server as the client of this request uses it. The guard has checked the name.
pub(crate) fn own_origin(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    format!("{}{}", Scheme::of(headers).prefix(), host.to_ascii_lowercase())
}

/// Whether a host, with or without a port, is `localhost` or a loopback address.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, _)) if has_port(host) => name,
        _ => host,
    };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || name.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(name, port)| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Origins {
        let mut config = Config::new("/d");
        config.hosts = vec!["Headwater.example".into()];
        config.origins = vec!["https://app.example/".into()];
        Origins::new(&config, "127.0.0.1:8080".parse().unwrap())
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        let (ours, uri) = (ours(), Uri::from_static("/"));
        for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "headwater.example"]
        {
            assert!(ours.check_host(&headers(header::HOST, host), &uri).is_ok(), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1:81", "127.0.0.1", "localhost.evil.example:8080", "10.0.0.1:8080", ""]
        {
            assert!(ours.check_host(&headers(header::HOST, host), &uri).is_err(), "{host}");
        }
        let mut two = headers(header::HOST, "127.0.0.1:8080");
        two.append(header::HOST, "evil.example".parse().unwrap());
        assert!(ours.check_host(&two, &uri).is_err() && ours.check_host(&HeaderMap::new(), &uri).is_err());
    }

    #[test]
    fn the_name_in_the_request_line_counts_like_host() {
        let ours = ours();
        let named = headers(header::HOST, "127.0.0.1:8080");
        let own = Uri::from_static("http://localhost:8080/v1/info");
        assert!(ours.check_host(&named, &own).is_ok() && ours.check_host(&HeaderMap::new(), &own).is_ok());
        for other in ["http://other.example/v1/info", "http://me@localhost:8080/", "http://localhost:81/"] {
            assert!(ours.check_host(&named, &other.parse().unwrap()).is_err(), "{other}");
        }
    }

    #[test]
    fn a_page_of_our_name_and_another_scheme_is_not_ours() {
        let ours = ours();
        for (proto, origin, is_ours) in [
            ("", "http://headwater.example", true),
            ("", "https://headwater.example", false),
            ("", "https://127.0.0.1:8080", false),
            ("https", "https://headwater.example", true),
            ("https", "http://headwater.example", false),
        ] {
            let mut headers = headers(header::ORIGIN, origin);
            if !proto.is_empty() {
                headers.insert("x-forwarded-proto", proto.parse().unwrap());
            }
            assert_eq!(ours.check_origin(&headers).is_ok(), is_ours, "{proto} {origin}");
            assert_eq!(ours.may_use_cookies(&headers), is_ours, "{proto} {origin}");
        }
    }

    #[test]
    fn a_page_beside_us_that_says_no_origin_may_only_lead_here() {
        let ours = ours();
        let ask = |site: &str, mode: &str| {
            let mut headers = headers("sec-fetch-site".parse().unwrap(), site);
            headers.insert("sec-fetch-mode", mode.parse().unwrap());
            ours.check_origin(&headers).is_ok()
        };
        for site in ["cross-site", "same-site"] {
            assert!(!ask(site, "no-cors") && !ask(site, "cors") && ask(site, "navigate"), "{site}");
        }
        for site in ["same-origin", "none"] {
            assert!(ask(site, "no-cors") && ask(site, "navigate"), "{site}");
        }
    }

    #[test]
    fn pages_of_this_machine_may_call_a_server_on_loopback_without_cookies() {
        let local = Origins::new(&Config::new("/d"), "127.0.0.1:8080".parse().unwrap());
        let public = Origins::new(&Config::new("/d"), "0.0.0.0:8080".parse().unwrap());
        for origin in
            ["http://localhost:5173", "http://127.0.0.1:3000", "https://localhost", "http://[::1]:1"]
        {
            let headers = headers(header::ORIGIN, origin);
            assert!(local.check_origin(&headers).is_ok() && !local.may_use_cookies(&headers), "{origin}");
            assert!(
                public.check_origin(&headers).is_err() && ours().check_origin(&headers).is_err(),
                "{origin}"
            );
        }
        for origin in
            ["http://localhost.evil.example", "http://evil.example:127", "http://10.0.0.1:5173", "null"]
        {
            assert!(local.check_origin(&headers(header::ORIGIN, origin)).is_err(), "{origin}");
        }
    }

    #[test]
    fn only_our_own_pages_and_those_that_were_named_may_call() {
        let ours = ours();
        assert!(ours.check_origin(&HeaderMap::new()).is_ok());
        for origin in ["http://127.0.0.1:8080", "http://localhost:8080", "https://app.example"] {
            assert!(ours.check_origin(&headers(header::ORIGIN, origin)).is_ok(), "{origin}");
        }
        for origin in [
            "null",
            "http://evil.example",
            "http://localhost:81",
            "https://app.example.evil.example",
            "file://",
        ] {
            assert!(ours.check_origin(&headers(header::ORIGIN, origin)).is_err(), "{origin}");
        }
    }
}
