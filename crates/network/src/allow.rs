//! The allow list: which hosts a session with `network: packages` may reach.

use super::target::{Host, Target, TargetError, split};

/// The ports of an entry without a port.
const PORTS: [u16; 2] = [443, 80];

/// One entry of the list: `pypi.org`, `*.example.org`, `registry.example.org:8443`, `10.0.0.7:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    host: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exact(Host),
    /// Every subdomain of this suffix, which begins with a dot.
    Subdomains(String),
}

impl Pattern {
    /// Parses an entry.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let (host, port) = split(text);
        let port = port.map(|_| Target::parse(text.trim_start_matches("*."), None)).transpose()?;
        let host = match host.strip_prefix("*.") {
            Some(suffix) => match Host::parse(suffix)? {
                Host::Name(name) => HostPattern::Subdomains(format!(".{name}")),
                Host::Address(_) => return Err(TargetError::Host(text.to_owned())),
            },
            None => HostPattern::Exact(Host::parse(host)?),
        };
        Ok(Self { host, port: port.map(|target| target.port) })
    }

    /// Whether the entry allows this host and port.
    pub fn admits(&self, target: &Target) -> bool {
        let host = match (&self.host, &target.host) {
            (HostPattern::Exact(host), other) => host == other,
            (HostPattern::Subdomains(suffix), Host::Name(name)) => {
                name.len() > suffix.len() && name.ends_with(suffix.as_str())
            }
            (HostPattern::Subdomains(_), Host::Address(_)) => false,
        };
        host && self.port.map_or_else(|| PORTS.contains(&target.port), |port| port == target.port)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            HostPattern::Exact(host) => write!(f, "{host}")?,
            HostPattern::Subdomains(suffix) => write!(f, "*{suffix}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(pattern: &str, target: &str) -> bool {
        Pattern::parse(pattern).unwrap().admits(&Target::parse(target, None).unwrap())
    }

    #[test]
    fn a_name_admits_itself_on_the_usual_ports_and_nothing_else() {
        assert!(admits("pypi.org", "pypi.org:443") && admits("pypi.org", "PYPI.ORG.:80"));
        for target in ["pypi.org:22", "pypi.org.evil.example:443", "evilpypi.org:443", "a.pypi.org:443"] {
            assert!(!admits("pypi.org", target), "{target}");
        }
    }

    #[test]
    fn a_star_admits_what_is_below_and_not_the_name_itself() {
        assert!(
            admits("*.example.org", "a.example.org:443") && admits("*.example.org", "a.b.example.org:80")
        );
        for target in ["example.org:443", "aexample.org:443", "a.example.org.b:443", "127.0.0.1:443"] {
            assert!(!admits("*.example.org", target), "{target}");
        }
    }

    #[test]
    fn a_port_that_is_written_is_the_only_one() {
        assert!(admits("a.example:8443", "a.example:8443") && !admits("a.example:8443", "a.example:443"));
        assert!(admits("*.b.example:1", "a.b.example:1") && admits("127.0.0.1:8080", "127.0.0.1:8080"));
    }

    #[test]
    fn invalid_entries_are_refused() {
        for text in ["", "*", "*.", "*.127.0.0.1", "https://pypi.org", "pypi.org/simple", "a:b", "a*.example"]
        {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
        for text in ["pypi.org", "*.example.org:8443", "[::1]:80"] {
            assert_eq!(Pattern::parse(text).unwrap().to_string(), text);
        }
    }
}
