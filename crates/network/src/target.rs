//! A target of a connection: a host and a port, as requests and the configuration write them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The longest name in DNS.
const MAX_NAME_BYTES: usize = 253;
/// The longest label of a name.
const MAX_LABEL_BYTES: usize = 63;

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The host is missing or not valid.
    #[error("`{0}` is not a host name")]
    Host(String),
    /// The port is missing or not valid.
    #[error("`{0}` has no valid port")]
    Port(String),
}

/// A host: a name in lower case, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name of letters, digits, `-`, `_` and dots, without a dot at its end.
    Name(String),
    /// An IP address.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
        }
    }
}

impl Host {
    /// Parses a host; an IPv6 address is in brackets.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let wrong = || TargetError::Host(shown(text));
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr =
                inner.strip_suffix(']').ok_or_else(wrong)?.parse().map_err(|_| wrong())?;
            return Ok(Self::Address(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=MAX_LABEL_BYTES).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        // `127.1`, `0x7f.1` and the like are addresses to some programs and names to others: here they are neither.
        let last = name.rsplit('.').next().unwrap_or_default();
        let numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
        if name.len() > MAX_NAME_BYTES || numeric || !name.split('.').all(is_label) {
            return Err(wrong());
        }
        Ok(Self::Name(name))
    }
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The name or address.
    pub host: Host,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Target {
    /// Parses `host:port`; `default_port` applies if the port is left out.
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, TargetError> {
        let (host, port) = split(text);
        let no_port = || TargetError::Port(shown(text));
        let port = match port {
            // `u16::from_str` also accepts `+80`.
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().ok().filter(|port| *port > 0).ok_or_else(no_port)?
            }
            Some(_) => return Err(no_port()),
            None => default_port.ok_or_else(no_port)?,
        };
        Ok(Self { host: Host::parse(host)?, port })
    }
}

/// Splits a text into the host and the port, if it has one.
pub fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// The beginning of a text, escaped for a message.
fn shown(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_default).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(text: &str) -> Option<String> {
        Target::parse(text, Some(80)).ok().map(|target| target.to_string())
    }

    #[test]
    fn names_and_addresses_are_distinguished_and_normalised() {
        for (text, is) in [
            ("PyPI.org:443", "pypi.org:443"),
            ("pypi.org.", "pypi.org:80"),
            ("a_b.example:1", "a_b.example:1"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:443", "[::1]:443"),
            ("[::1]", "[::1]:80"),
        ] {
            assert_eq!(target(text).as_deref(), Some(is));
        }
        assert!(matches!(Host::parse("127.0.0.1"), Ok(Host::Address(_))));
    }

    #[test]
    fn ambiguous_addresses_and_invalid_names_are_refused() {
        for text in [
            "",
            ":80",
            "a:",
            "a:0",
            "a:65536",
            "a:+80",
            "a:80:80",
            "::1",
            "[::1",
            "[127.0.0.1]:80",
            "127.1",
            "2130706433",
            "0x7f.0x0.0x0.0x1",
            "0x7f000001",
            "0177.0.0.1",
            "1.2.3.4.5",
            "a..b",
            ".a",
            "a b",
            "user@host",
            "a/b",
            "a\r\nb",
            "a%2eb",
            "ä.example",
            "[fe80::1%lo]:80",
        ] {
            assert_eq!(target(text), None, "{text}");
        }
        assert_eq!(target(&"a.".repeat(200)), None);
        assert_eq!(Target::parse("a", None), Err(TargetError::Port("a".into())));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_what_it_reads_it_reads_again(text in ".{0,80}") {
            if let Ok(target) = Target::parse(&text, Some(80)) {
                prop_assert_eq!(Target::parse(&target.to_string(), None), Ok(target));
            }
        }

        #[test]
        fn likely_texts_break_it_neither(text in "[a-z0-9.:\\[\\]@-]{0,40}") {
            if let Ok(target) = Target::parse(&text, None) {
                prop_assert!(target.port > 0);
                prop_assert_eq!(Target::parse(&target.to_string(), None), Ok(target));
            }
        }
    }
}
