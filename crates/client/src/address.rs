//! Parsing the address of a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use crate::Result;
use crate::error::ClientError;

/// Parses an address: `http://127.0.0.1:8080`, `https://host/path`, or just `localhost:8080`. A query or fragment is
/// ignored.
pub(crate) fn parse(text: &str) -> Result<Url> {
    let wrong =
        |why: &str| ClientError::BadUrl { url: text.chars().take(200).collect(), why: why.to_owned() };
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut url = Url::parse(&full).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" => {}
        "https" if cfg!(feature = "tls") => {}
        "https" => return Err(wrong("this program was built without TLS")),
        _ => return Err(wrong("it must begin with `http://` or `https://`")),
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("it has no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it must not contain a user or a password: pass the token separately"));
    }
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Whether the server at this address is on this machine.
pub fn is_local(url: &str) -> Result<bool> {
    Ok(is_loopback(&parse(url)?))
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The addresses of `localhost`, without a DNS lookup.
pub(crate) const LOCALHOST: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_given_in_short_and_below_a_path() {
        for (text, full) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("localhost:1", "http://localhost:1/"),
            ("http://[::1]:9/?token=x#y", "http://[::1]:9/"),
            ("http://h/a/b", "http://h/a/b/"),
        ] {
            assert_eq!(parse(text).unwrap().as_str(), full);
        }
        assert_eq!(parse("http://h/a").unwrap().join("v1/info").unwrap().as_str(), "http://h/a/v1/info");
    }

    #[test]
    fn an_invalid_address_is_refused_with_a_reason() {
        for (text, says) in [
            ("", "host"),
            ("ftp://h", "http://"),
            ("http://", "host"),
            ("http://u:p@h", "password"),
            ("a b", ""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                matches!(&error, ClientError::BadUrl { why, .. } if why.contains(says)),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for (text, here) in [
            ("localhost:1", true),
            ("127.0.0.9:1", true),
            ("[::1]:1", true),
            ("10.0.0.1", false),
            ("localhost.evil.example", false),
        ] {
            assert_eq!(is_local(text).unwrap(), here, "{text}");
        }
    }
}
