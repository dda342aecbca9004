//! The headers of requests and responses that pass through a preview.

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::auth::{COOKIE, LINK_PREFIX, SECURE_COOKIE, TOKEN_PREFIX};

/// Headers of one connection, which a proxy does not pass on (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
const KEEP_ALIVE: &str = "keep-alive";

/// Turns the headers of a client into those for the program: as if it was asked at `localhost`, which development servers
/// accept, and without any credential of this server. Returns the protocol that the client wants to change to.
pub(super) fn for_program(headers: &mut HeaderMap, port: u16) -> Option<HeaderValue> {
    let upgrade = headers.get(header::UPGRADE).cloned().filter(|_| has_token(headers, "upgrade"));
    let host = headers.remove(header::HOST);
    remove_of_connection(headers);
    remove_credentials(headers);
    let own = format!("localhost:{port}");
    if let (Some(host), Some(origin)) = (&host, headers.get(header::ORIGIN)) {
        let is_same = [&b"http://"[..], b"https://"]
            .iter()
            .any(|scheme| origin.as_bytes() == [scheme, host.as_bytes()].concat());
        if is_same && let Ok(origin) = HeaderValue::from_str(&format!("http://{own}")) {
            headers.insert(header::ORIGIN, origin);
        }
    }
    if let Ok(own) = HeaderValue::from_str(&own) {
        headers.insert(header::HOST, own);
    }
    if let Some(host) = host {
        headers.insert("x-forwarded-host", host);
    }
    if let Some(upgrade) = &upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, upgrade.clone());
    }
    upgrade
}

/// Turns the headers of the program into those for the client.
pub(super) fn for_client(headers: &mut HeaderMap, is_upgrade: bool) {
    if !is_upgrade {
        remove_of_connection(headers);
    }
    let cookies: Vec<_> = headers.get_all(header::SET_COOKIE).iter().filter_map(without_domain).collect();
    headers.remove(header::SET_COOKIE);
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
    // The host name is a secret: it must not reach other sites, nor search engines.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
}

/// A cookie for the preview only: one with a domain would reach other previews, or this server.
fn without_domain(cookie: &HeaderValue) -> Option<HeaderValue> {
    let text = cookie.to_str().ok()?;
    let is_domain =
        |part: &str| part.split('=').next().unwrap_or_default().trim().eq_ignore_ascii_case("domain");
    let mut parts = text.split(';');
    let pair = parts.next()?.to_owned();
    let kept = parts.filter(|part| !is_domain(part)).fold(pair, |kept, part| kept + ";" + part);
    HeaderValue::from_str(&kept).ok()
}

fn has_token(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case(wanted))
}

/// Removes the headers of the connection, and those that `Connection` names.
fn remove_of_connection(headers: &mut HeaderMap) {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<_> =
        values.flat_map(|value| value.split(',')).map(|name| name.trim().to_owned()).collect();
    for name in named.iter().filter_map(|name| HeaderName::try_from(name.as_str()).ok()) {
        headers.remove(name);
    }
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers.remove(KEEP_ALIVE);
}

/// Removes this server's cookie and tokens. Browsers do not send them to a preview; other clients could.
fn remove_credentials(headers: &mut HeaderMap) {
    let is_ours = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default().trim();
        name == COOKIE || name == SECURE_COOKIE
    };
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let kept: Vec<_> =
        values.flat_map(|value| value.split(';')).map(str::trim).filter(|pair| !is_ours(pair)).collect();
    let kept = HeaderValue::from_str(&kept.join("; ")).ok().filter(|kept| !kept.is_empty());
    headers.remove(header::COOKIE);
    if let Some(kept) = kept {
        headers.insert(header::COOKIE, kept);
    }
    let is_token = |value: &HeaderValue| {
        let is_ours = |word: &str| word.starts_with(TOKEN_PREFIX) || word.starts_with(LINK_PREFIX);
        value.to_str().is_ok_and(|text| text.split_whitespace().any(is_ours))
    };
    if headers.get_all(header::AUTHORIZATION).iter().any(is_token) {
        headers.remove(header::AUTHORIZATION);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        pairs.fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, value);
            all
        })
    }

    fn get<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
        headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn a_program_is_asked_at_localhost_and_gets_no_credential_of_this_server() {
        let mut all = headers(&[
            ("host", "abc.localhost:8080"),
            ("origin", "http://abc.localhost:8080"),
            ("cookie", "theme=dark; headwater_session=secret; __Host-headwater_session=secret"),
            ("cookie", "headwater_session=other; id=7"),
            ("authorization", "Bearer hw_0123"),
            ("connection", "keep-alive, X-Private"),
            ("keep-alive", "timeout=5"),
            ("x-private", "1"),
            ("accept", "text/html"),
        ]);
        assert_eq!(for_program(&mut all, 8000), None);
        assert_eq!(get(&all, "host"), Some("localhost:8000"));
        assert_eq!(get(&all, "origin"), Some("http://localhost:8000"));
        assert_eq!(get(&all, "x-forwarded-host"), Some("abc.localhost:8080"));
        assert_eq!(get(&all, "cookie"), Some("theme=dark; id=7"));
        for gone in ["authorization", "connection", "keep-alive", "x-private"] {
            assert_eq!(get(&all, gone), None, "{gone}");
        }
        assert_eq!(get(&all, "accept"), Some("text/html"));
    }

    #[test]
    fn credentials_and_origins_of_the_program_itself_pass() {
        let mut all = headers(&[
            ("host", "abc.localhost:8080"),
            ("origin", "https://other.example"),
            ("authorization", "Bearer of-the-program"),
            ("cookie", "headwater_session_of_theirs=1"),
        ]);
        for_program(&mut all, 8000);
        assert_eq!(get(&all, "authorization"), Some("Bearer of-the-program"));
        assert_eq!(get(&all, "origin"), Some("https://other.example"));
        assert_eq!(get(&all, "cookie"), Some("headwater_session_of_theirs=1"));
    }

    #[test]
    fn a_websocket_keeps_its_upgrade() {
        let mut all = headers(&[
            ("host", "a.localhost"),
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
        ]);
        assert!(for_program(&mut all, 1).is_some_and(|upgrade| upgrade == "websocket"));
        assert_eq!((get(&all, "connection"), get(&all, "upgrade")), (Some("upgrade"), Some("websocket")));
        let mut without = headers(&[("host", "a.localhost"), ("upgrade", "h2c")]);
        assert_eq!(for_program(&mut without, 1), None);
        assert_eq!(get(&without, "upgrade"), None);
    }

    #[test]
    fn cookies_of_a_program_stay_in_its_preview() {
        let mut all = headers(&[
            ("set-cookie", "a=1; Path=/; Domain=localhost; HttpOnly"),
            ("set-cookie", "b=2"),
            ("referrer-policy", "unsafe-url"),
            ("transfer-encoding", "chunked"),
        ]);
        for_client(&mut all, false);
        let cookies: Vec<_> = all.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(cookies, ["a=1; Path=/; HttpOnly", "b=2"]);
        assert_eq!(get(&all, "referrer-policy"), Some("same-origin"));
        assert_eq!(get(&all, "transfer-encoding"), None);
    }
}
