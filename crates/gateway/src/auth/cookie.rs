//! The cookie of the web app, protected against cross-site request forgery (CSRF).
//!
//! A browser sends a cookie with every request, even one that another site's page makes. So a request that changes
//! something or opens a WebSocket must also show where it comes from: by an allowed `Origin`, by
//! `Sec-Fetch-Site: same-origin`, or by a header that a page of another site cannot set without a CORS preflight.

use axum::http::{HeaderMap, HeaderValue, Method, header};

use super::Origins;
use super::proxies::FORWARDED_PROTO;
use crate::error::ApiError;

/// The name of the cookie over plain HTTP.
pub(crate) const COOKIE: &str = "headwater_session";
/// The name of the cookie over TLS: browsers accept the prefix `__Host-` only from the exact host and only over TLS.
pub(crate) const SECURE_COOKIE: &str = "__Host-headwater_session";
/// The header that a page of the web app may send instead of `Origin`.
const CSRF_HEADER: &str = "x-headwater-csrf";

/// Whether the browser uses TLS, according to a trusted proxy. The guard removes the header of other clients.
pub(super) fn is_secure(headers: &HeaderMap) -> bool {
    headers.get(FORWARDED_PROTO).is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// The name of the cookie for this connection.
fn name(headers: &HeaderMap) -> &'static str {
    if is_secure(headers) { SECURE_COOKIE } else { COOKIE }
}

/// The value of the cookie. Only the name for this kind of connection counts.
pub(super) fn get(headers: &HeaderMap) -> Option<String> {
    let name = name(headers);
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// The value of `Set-Cookie` that sets the cookie.
pub(crate) fn set(headers: &HeaderMap, secret: &str, seconds: u64) -> String {
    let secure = if is_secure(headers) { "; Secure" } else { "" };
    format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}", name(headers))
}

/// The value of `Set-Cookie` that removes the cookie.
pub(crate) fn cleared(headers: &HeaderMap) -> String {
    set(headers, "", 0)
}

/// Refuses a request that a page of another site could have caused.
pub(super) fn check(origins: &Origins, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let is_safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if is_safe && !headers.contains_key(header::UPGRADE) {
        return Ok(());
    }
    let same_origin = HeaderValue::from_static("same-origin");
    let is_ours = origins.may_use_cookies(headers)
        || headers.get("sec-fetch-site") == Some(&same_origin)
        || headers.get(CSRF_HEADER).is_some_and(|value| !value.is_empty());
    if is_ours {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "a cookie alone is not accepted for a change: the request does not show which page sent it",
        "send `Origin`, as browsers do, or `X-Headwater-CSRF: 1`; programs send `Authorization`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_name_of_the_cookie_says_whether_it_is_for_tls() {
        let (plain, tls) = (headers(&[]), headers(&[("x-forwarded-proto", "https")]));
        assert_eq!(set(&plain, "x", 7), "headwater_session=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=7");
        assert!(set(&tls, "x", 7).starts_with("__Host-headwater_session=x; Path=/;"));
        assert!(set(&tls, "x", 7).ends_with("; Secure"));
        let both = "headwater_session=planted; __Host-headwater_session=good";
        assert_eq!(
            get(&headers(&[("x-forwarded-proto", "https"), ("cookie", both)])).as_deref(),
            Some("good")
        );
        assert_eq!(get(&headers(&[("cookie", "headwater_session=planted")])).as_deref(), Some("planted"));
        assert_eq!(
            get(&headers(&[("x-forwarded-proto", "https"), ("cookie", "headwater_session=planted")])),
            None
        );
    }

    #[test]
    fn a_cookie_changes_nothing_for_a_page_that_is_not_ours() {
        let mut config = Config::new("/d");
        config.origins = vec!["*".into()];
        let origins = Origins::new(&config, "127.0.0.1:8080".parse().unwrap());
        let ask = |method: Method, pairs: &[(&'static str, &str)]| {
            check(&origins, &method, &headers(pairs)).map_err(|error| error.status.as_u16())
        };
        assert_eq!(ask(Method::GET, &[]), Ok(()));
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(ask(method.clone(), &[]), Err(403), "{method}");
            for good in [
                ("origin", "http://127.0.0.1:8080"),
                ("sec-fetch-site", "same-origin"),
                ("x-headwater-csrf", "1"),
            ] {
                assert_eq!(ask(method.clone(), &[good]), Ok(()), "{good:?}");
            }
            for bad in [
                ("origin", "http://evil.example"),
                ("sec-fetch-site", "same-site"),
                ("sec-fetch-site", "none"),
                ("x-headwater-csrf", ""),
            ] {
                assert_eq!(ask(method.clone(), &[bad]), Err(403), "{bad:?}");
            }
        }
        assert_eq!(ask(Method::GET, &[("upgrade", "websocket")]), Err(403));
        assert_eq!(
            ask(Method::GET, &[("upgrade", "websocket"), ("origin", "http://127.0.0.1:8080")]),
            Ok(())
        );
    }
}
