//! Previews: a port of a session as a web site of its own.
//!
//! Each preview has its own host name, so that its pages have an origin of their own: browsers send them no cookie of
//! this server, and their scripts cannot read anything of it. The name is a signed capability: whoever has it may use
//! the port until it expires, and nothing else. It needs no store, and it stays valid over a restart.

pub(crate) mod headers;
pub(crate) mod label;
pub(crate) mod proxy;

use std::net::IpAddr;
use std::time::Duration;

use axum::http::{Request, header};

use self::label::Target;
use crate::auth::Jwts;
use crate::config::PreviewUrl;

/// How long a preview can be used.
pub(crate) const LIFETIME: Duration = Duration::from_hours(12);
/// Browsers resolve every name below it to this machine, and treat it as trustworthy.
const LOCAL: &str = "localhost";

/// The address of a new preview, for a client that reached the server at `host`. `None` if that is not this machine and
/// the operator has configured no name.
pub(crate) fn url(configured: Option<&PreviewUrl>, host: Option<&str>, label: &str) -> Option<String> {
    if let Some(url) = configured {
        return Some(url.with_label(label));
    }
    let host = host?;
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, format!(":{port}")),
        _ => (host, String::new()),
    };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_local = name.eq_ignore_ascii_case(LOCAL) || address.is_ok_and(|address| address.is_loopback());
    is_local.then(|| format!("http://{label}.{LOCAL}{port}/"))
}

/// The pages that the app may show in a frame, for its content security policy.
pub(crate) fn frame_source(configured: Option<&PreviewUrl>) -> String {
    configured.map_or_else(
        || format!("http://*.{LOCAL}:*"),
        |url| url.with_label("*").trim_end_matches('/').to_owned(),
    )
}

/// What a request asks for whose host name is that of a preview. `None` for any other name.
pub(crate) fn requested<B>(
    jwts: &Jwts,
    configured: Option<&PreviewUrl>,
    request: &Request<B>,
) -> Option<Result<Target, label::Refused>> {
    let host = match request.uri().authority() {
        Some(authority) => authority.as_str(),
        None => request.headers().get(header::HOST)?.to_str().ok()?,
    };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let (label, domain) = name.split_once('.')?;
    let is_ours = domain.eq_ignore_ascii_case(LOCAL)
        || configured.is_some_and(|url| domain.eq_ignore_ascii_case(&url.domain));
    if is_ours { label::parse(jwts, label, crate::now_ms() / 1000) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_client_gets_a_local_address_and_others_need_a_configured_name() {
        for host in ["localhost:8080", "127.0.0.1:8080", "127.1.2.3:8080", "[::1]:8080", "LOCALHOST:8080"] {
            assert_eq!(url(None, Some(host), "abc").as_deref(), Some("http://abc.localhost:8080/"), "{host}");
        }
        assert_eq!(url(None, Some("localhost"), "abc").as_deref(), Some("http://abc.localhost/"));
        for host in ["10.0.0.5:8080", "headwater.example", "localhost.example:8080", ""] {
            assert_eq!(url(None, Some(host), "abc"), None, "{host}");
        }
        let configured: PreviewUrl = "https://*.preview.example:8443".parse().unwrap();
        for host in [Some("localhost:8080"), Some("headwater.example"), None] {
            let expected = "https://abc.preview.example:8443/";
            assert_eq!(url(Some(&configured), host, "abc").as_deref(), Some(expected));
        }
        assert_eq!(frame_source(Some(&configured)), "https://*.preview.example:8443");
        assert_eq!(frame_source(None), "http://*.localhost:*");
    }
}
