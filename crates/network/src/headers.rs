//! Which headers are forwarded, and which apply only to one hop.

use hyper::HeaderMap;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use super::response::Refusal;
use super::target::Target;

/// Headers of one connection and not of the message (RFC 9110, 7.6.1), and those that clients send to proxies.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("keep-alive"),
];
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Removes hop-by-hop headers, including those that `Connection` names.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // A message must not lose its length or its host by naming them.
        .filter(|name| *name != HOST && *name != CONTENT_LENGTH)
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named).chain([&PROXY_CONNECTION]) {
        headers.remove(name);
    }
}

/// Rewrites the headers of a request for the host. The body is framed anew, so that both sides agree where it ends; a
/// request with contradictory lengths is refused anyway.
pub(crate) fn outgoing(headers: &mut HeaderMap, target: &Target) -> Result<(), Refusal> {
    let lengths = headers.get_all(CONTENT_LENGTH).iter().count();
    if lengths > 1 || (lengths == 1 && headers.contains_key(TRANSFER_ENCODING)) {
        return Err(Refusal::bad("the request states the length of its body twice"));
    }
    strip(headers);
    headers.remove(EXPECT); // the proxy answers it itself
    let host = if target.port == 80 { target.host.to_string() } else { target.to_string() };
    let host = HeaderValue::from_str(&host).map_err(|_| Refusal::bad("the request has no valid host"))?;
    headers.insert(HOST, host); // the one that was checked, not the client's
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        map
    }

    fn sent(lines: &[(&str, &str)]) -> Result<Vec<String>, Refusal> {
        let mut map = headers(lines);
        outgoing(&mut map, &Target::parse("a.example:80", None).unwrap())?;
        let mut names: Vec<_> =
            map.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        names.sort();
        Ok(names)
    }

    #[test]
    fn connection_headers_are_dropped_and_the_host_is_the_checked_one() {
        let lines = [
            ("host", "evil.example"),
            ("connection", "close, x-secret"),
            ("x-secret", "1"),
            ("keep-alive", "1"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic x"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("expect", "100-continue"),
            ("accept", "*/*"),
            ("user-agent", "pip"),
        ];
        assert_eq!(sent(&lines).unwrap(), ["accept: */*", "host: a.example", "user-agent: pip"]);
    }

    #[test]
    fn a_request_that_says_two_things_about_its_length_is_refused() {
        assert!(sent(&[("content-length", "1"), ("content-length", "2")]).is_err());
        assert!(sent(&[("content-length", "1"), ("transfer-encoding", "chunked")]).is_err());
        let kept = sent(&[("content-length", "1"), ("connection", "content-length, host")]).unwrap();
        assert_eq!(kept, ["content-length: 1", "host: a.example"]);
    }

    proptest! {
        #[test]
        fn no_headers_break_it(lines in proptest::collection::vec(("[a-z-]{1,12}", "[ -~]{0,30}"), 0..12)) {
            let mut map = HeaderMap::new();
            for (name, value) in &lines {
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                    map.append(name, value);
                }
            }
            if outgoing(&mut map, &Target::parse("a.example:81", None).unwrap()).is_ok() {
                prop_assert_eq!(&map[HOST], "a.example:81");
                prop_assert!(HOP_BY_HOP.iter().all(|name| !map.contains_key(name)));
            }
        }
    }
}
