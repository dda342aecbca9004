//! Trusted proxies (`[server] trusted_proxies`), which report the address and the scheme of the client.
//!
//! Anybody can send `X-Forwarded-For`. So `Forwarded`, `X-Forwarded-For` and `X-Forwarded-Proto` are read only if the
//! other end of the connection is a trusted proxy. They are read from right to left, because each proxy appends what it
//! knows: the first address that is not a trusted proxy is the client. After this the request's [`ConnectInfo`] is the
//! client, and the only header that is left of these is `X-Forwarded-Proto: https`, if it is true.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, Request};

use crate::config::Network;

const FORWARDED: &str = "forwarded";
const FORWARDED_FOR: &str = "x-forwarded-for";
pub(super) const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// The longest chain of proxies that is followed.
const MAX_HOPS: usize = 32;

/// Replaces the headers of proxies by what may be trusted of them.
pub(crate) fn resolve_client<B>(trusted: &[Network], request: &mut Request<B>) {
    let Some(ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<SocketAddr>>().copied() else {
        return;
    };
    let is_proxy = is_trusted(trusted, peer.ip());
    let headers = request.headers_mut();
    let client = if is_proxy { client(trusted, peer.ip(), headers) } else { peer.ip() };
    let is_https = is_proxy && is_https(headers);
    for name in [FORWARDED, FORWARDED_FOR, FORWARDED_PROTO] {
        headers.remove(name);
    }
    if is_https {
        headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
    }
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(client.to_canonical(), peer.port())));
}

fn is_trusted(trusted: &[Network], address: IpAddr) -> bool {
    trusted.iter().any(|network| network.contains(address))
}

/// The client, as the proxies say. A proxy writes one of the two headers and may pass on the other one as the client sent
/// it: where they contradict each other, neither is used.
fn client(trusted: &[Network], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let walk = |name: &str, read: fn(&str) -> Option<IpAddr>| {
        let hops = values(headers, name);
        (!hops.is_empty()).then(|| first_untrusted(trusted, peer, &hops, read))
    };
    let plain = walk(FORWARDED_FOR, address);
    let standard = walk(FORWARDED, |hop| parameter(hop, "for").and_then(|value| address(&value)));
    match (plain, standard) {
        (Some(one), Some(other)) if one != other => peer,
        (Some(one), _) | (None, Some(one)) => one,
        (None, None) => peer,
    }
}

/// The first address from the right that is not a trusted proxy. A malformed address ends the search at its proxy.
fn first_untrusted(
    trusted: &[Network],
    peer: IpAddr,
    hops: &[String],
    read: fn(&str) -> Option<IpAddr>,
) -> IpAddr {
    let mut client = peer;
    for hop in hops.iter().rev().take(MAX_HOPS) {
        let Some(address) = read(hop) else { break };
        client = address;
        if !is_trusted(trusted, address) {
            break;
        }
    }
    client
}

/// Whether the client used HTTPS, as the last proxy reports.
fn is_https(headers: &HeaderMap) -> bool {
    let proto = values(headers, FORWARDED_PROTO).pop();
    let proto = proto.or_else(|| values(headers, FORWARDED).pop().and_then(|hop| parameter(&hop, "proto")));
    proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
}

/// All elements of a list header, which may be sent in several lines. A quoted string of `Forwarded` holds no comma in
/// practice; one that does is split into parts that are not addresses.
fn values(headers: &HeaderMap, name: &str) -> Vec<String> {
    let lines = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("?"));
    lines.flat_map(|line| line.split(',')).map(|hop| hop.trim().to_owned()).collect()
}

/// A parameter of an element of `Forwarded`, without its quotes.
fn parameter(hop: &str, wanted: &str) -> Option<String> {
    let mut pairs = hop.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let alone = bare.parse::<IpAddr>().ok();
    let found = alone.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    found.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(trusted: &[&str], peer: &str, headers: &[(&str, &str)]) -> (String, bool) {
        let trusted: Vec<Network> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(()).unwrap();
        let peer = SocketAddr::new(peer.parse().unwrap(), 9);
        request.extensions_mut().insert(ConnectInfo(peer));
        resolve_client(&trusted, &mut request);
        let ConnectInfo(client) = request.extensions().get::<ConnectInfo<SocketAddr>>().unwrap();
        assert!(!request.headers().contains_key(FORWARDED) && !request.headers().contains_key(FORWARDED_FOR));
        (client.ip().to_string(), request.headers().contains_key(FORWARDED_PROTO))
    }

    #[test]
    fn untrusted_proxies_are_not_believed() {
        let said = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-proto", "https"),
            ("forwarded", "for=192.0.2.1"),
        ];
        for (trusted, peer) in [(&[][..], "127.0.0.1"), (&["10.0.0.0/8"][..], "127.0.0.1")] {
            assert_eq!(settled(trusted, peer, &said), (peer.to_owned(), false));
        }
        assert_eq!(settled(&["127.0.0.1"], "127.0.0.1", &said), ("192.0.2.1".to_owned(), true));
    }

    #[test]
    fn the_client_is_the_first_from_the_right_that_is_not_a_proxy() {
        let trusted = &["10.0.0.0/8", "::1"];
        for (name, value, client) in [
            ("x-forwarded-for", "6.6.6.6, 192.0.2.1", "192.0.2.1"),
            ("x-forwarded-for", "6.6.6.6, 192.0.2.1, 10.1.1.1", "192.0.2.1"),
            ("x-forwarded-for", "10.9.9.9", "10.9.9.9"),
            ("x-forwarded-for", "192.0.2.1:4711", "192.0.2.1"),
            ("x-forwarded-for", "2001:db8::1", "2001:db8::1"),
            ("x-forwarded-for", "6.6.6.6, nonsense", "10.0.0.1"),
            ("x-forwarded-for", "6.6.6.6, nonsense, 10.2.2.2", "10.2.2.2"),
            ("x-forwarded-for", "", "10.0.0.1"),
            ("forwarded", "for=6.6.6.6, for=192.0.2.1;proto=https;by=10.0.0.1", "192.0.2.1"),
            ("forwarded", "For=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("forwarded", "for=6.6.6.6, for=_hidden", "10.0.0.1"),
            ("forwarded", "for=6.6.6.6, proto=https", "10.0.0.1"),
        ] {
            assert_eq!(settled(trusted, "10.0.0.1", &[(name, value)]).0, client, "{name}: {value}");
        }
        let lines = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(settled(trusted, "10.0.0.1", &lines).0, "192.0.2.1");
        let two = [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=6.6.6.6")];
        assert_eq!(settled(trusted, "10.0.0.1", &two).0, "10.0.0.1", "they contradict each other");
        assert_eq!(settled(trusted, "::ffff:10.0.0.1", &lines).0, "192.0.2.1");
    }

    #[test]
    fn the_last_proxy_says_whether_it_was_asked_over_tls() {
        let https = |name: &str, value: &str| settled(&["10.0.0.1"], "10.0.0.1", &[(name, value)]).1;
        assert!(https("x-forwarded-proto", "HTTPS") && https("x-forwarded-proto", "http, https"));
        assert!(!https("x-forwarded-proto", "https, http") && !https("x-forwarded-proto", "wss"));
        assert!(https("forwarded", "for=192.0.2.1;proto=https") && !https("forwarded", "for=192.0.2.1"));
    }
}
