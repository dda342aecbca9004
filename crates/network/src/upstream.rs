//! The operator's own proxy: in many networks the only way out.
//!
//! It is set by `network.upstream_proxy`, or by the usual variables of the worker's environment (`HTTPS_PROXY`,
//! `HTTP_PROXY`, `NO_PROXY`). Hosts with an address in the configuration (`network.hosts`, `network.allow_private`) are
//! reached directly: the proxy does not know that address. The proxy resolves all other names, so their addresses
//! cannot be checked here.

use std::fmt;

use base64::Engine;
use hyper::header::HeaderValue;
use reqwest::Url;

use super::config::NetworkConfig;
use super::no_proxy::Exception;
use super::target::{Host, Target};

/// The value of `upstream_proxy` that ignores the environment.
pub(crate) const NONE: &str = "none";
/// The port of a proxy whose URL has none.
const DEFAULT_PORT: u16 = 80;

/// A proxy.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) target: Target,
    /// The URL, with the user name and the password.
    pub(crate) url: Url,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<HeaderValue>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.target) // the credentials are a secret
    }
}

/// Which proxy is used for which target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Upstream {
    https: Option<Proxy>,
    http: Option<Proxy>,
    exceptions: Vec<Exception>,
    /// Names with an address in the configuration.
    names: Vec<String>,
    targets: Vec<Target>,
}

/// Which kind of connection a proxy is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Upstream {
    /// The proxies of the configuration, or of the environment if the configuration has none.
    pub(crate) fn new(config: &NetworkConfig, env: impl Fn(&str) -> Option<String>) -> Self {
        let of_env = |name: &str| {
            let lower = name.to_ascii_lowercase();
            env(name).filter(|text| !text.is_empty()).or_else(|| env(&lower).filter(|text| !text.is_empty()))
        };
        let named = |name: &str| {
            let text = of_env(name)?;
            let parsed = Proxy::parse(&text);
            if let Err(why) = &parsed {
                tracing::error!(variable = name, why, "the proxy of the environment is not used");
            }
            parsed.ok()
        };
        let (https, http) = match &config.upstream_proxy {
            UpstreamProxy::None => (None, None),
            UpstreamProxy::Url(url) => (Proxy::of(url).ok(), Proxy::of(url).ok()),
            UpstreamProxy::Environment => (named("HTTPS_PROXY"), named("HTTP_PROXY")),
        };
        let listed = match &config.no_proxy {
            Some(list) => list.clone(),
            None => of_env("NO_PROXY").iter().flat_map(|text| text.split(',')).map(str::to_owned).collect(),
        };
        Self {
            https,
            http,
            exceptions: listed.iter().filter_map(|text| Exception::parse(text)).collect(),
            names: config.hosts.keys().cloned().collect(),
            targets: config.allow_private.clone(),
        }
    }

    /// The proxy for a target; `None`: it is reached directly.
    pub(crate) fn proxy_for(&self, scheme: Scheme, target: &Target) -> Option<&Proxy> {
        let proxy = match scheme {
            Scheme::Https => self.https.as_ref(),
            Scheme::Http => self.http.as_ref(),
        }?;
        let named = matches!(&target.host, Host::Name(name) if self.names.contains(name));
        let direct = named
            || self.targets.contains(target)
            || self.exceptions.iter().any(|exception| exception.matches(target));
        (!direct).then_some(proxy)
    }
}

/// The setting `network.upstream_proxy`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum UpstreamProxy {
    /// What the worker's environment says.
    #[default]
    Environment,
    /// No proxy, whatever the environment says.
    None,
    /// This proxy. The URL may have a user name and a password.
    Url(Url),
}

impl UpstreamProxy {
    /// Parses the setting.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Environment),
            NONE => Ok(Self::None),
            text => Proxy::parse(text).map(|proxy| Self::Url(proxy.url)),
        }
    }
}

impl fmt::Display for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => Ok(()),
            Self::None => write!(f, "{NONE}"),
            Self::Url(url) => write!(f, "{url}"),
        }
    }
}

impl Proxy {
    /// Parses the URL of a proxy; as usual the scheme may be left out. The error does not repeat the text, which may
    /// contain a password.
    fn parse(text: &str) -> Result<Self, String> {
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url: Url = full.parse().map_err(|_| "it is not the URL of a proxy".to_owned())?;
        Self::of(&url)
    }

    fn of(url: &Url) -> Result<Self, String> {
        if url.scheme() != "http" {
            return Err(format!("a proxy by `{}` is not supported: use `http://host:port`", url.scheme()));
        }
        let host = Host::parse(url.host_str().unwrap_or_default()).map_err(|error| error.to_string())?;
        let user = percent_decoded(url.username());
        let password = percent_decoded(url.password().unwrap_or_default());
        let authorization = (!user.is_empty()).then(|| {
            let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
            let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let target = Target { host, port: url.port().unwrap_or(DEFAULT_PORT) };
        Ok(Self { target, url: url.clone(), authorization: authorization.flatten() })
    }
}

/// Decodes `%41`; invalid sequences stay.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let decoded = pair.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(set: &[(&str, &str)], config: &str) -> Upstream {
        let config = toml::from_str::<crate::config::FileNetwork>(config).unwrap().parse().unwrap();
        Upstream::new(&config, |name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn proxied(upstream: &Upstream, target: &str) -> Option<String> {
        let target = Target::parse(target, Some(443)).unwrap();
        upstream.proxy_for(Scheme::Https, &target).map(|proxy| proxy.target.to_string())
    }

    #[test]
    fn the_environment_counts_and_the_setting_wins_over_it() {
        let env = [("HTTPS_PROXY", "http://a.test:3128"), ("http_proxy", "b.test:8080")];
        let both = upstream(&env, "");
        assert_eq!(proxied(&both, "pypi.org").as_deref(), Some("a.test:3128"));
        let target = Target::parse("pypi.org:80", None).unwrap();
        let http = both.proxy_for(Scheme::Http, &target).unwrap();
        assert_eq!(http.target.to_string(), "b.test:8080");
        let set = upstream(&env, "upstream_proxy = \"http://c.test\"");
        assert_eq!(proxied(&set, "pypi.org").as_deref(), Some("c.test:80"));
        assert_eq!(proxied(&upstream(&env, "upstream_proxy = \"none\""), "pypi.org"), None);
        assert_eq!(proxied(&upstream(&[("HTTPS_PROXY", "socks5://a.test:1")], ""), "pypi.org"), None);
    }

    #[test]
    fn exceptions_are_names_domains_ports_addresses_and_blocks() {
        let no_proxy = "localhost, .corp.test,*.lab.test,one.test:8443,10.0.0.0/8,192.0.2.7,[::1],,bad/x";
        let upstream = upstream(&[("HTTPS_PROXY", "http://p.test:1"), ("no_proxy", no_proxy)], "");
        for direct in [
            "localhost",
            "corp.test",
            "a.corp.test",
            "b.lab.test",
            "one.test:8443",
            "10.2.3.4",
            "192.0.2.7",
            "[::1]",
        ] {
            assert_eq!(proxied(&upstream, direct), None, "{direct}");
        }
        for other in ["acorp.test", "one.test", "11.0.0.1", "192.0.2.8", "[::2]", "pypi.org"] {
            assert!(proxied(&upstream, other).is_some(), "{other}");
        }
        let all = tests::upstream(&[("HTTPS_PROXY", "http://p.test:1"), ("NO_PROXY", "*")], "");
        assert_eq!(proxied(&all, "pypi.org"), None);
    }

    #[test]
    fn hosts_with_an_address_in_the_configuration_are_reached_directly() {
        let config = "allow_private = [\"own.test:8443\"]\nno_proxy = [\"x.test\"]\n[hosts]\n\"fixed.test\" = \"10.0.0.1\"";
        let upstream = upstream(&[("HTTPS_PROXY", "http://p.test:1"), ("NO_PROXY", "*")], config);
        for direct in ["own.test:8443", "fixed.test", "x.test"] {
            assert_eq!(proxied(&upstream, direct), None, "{direct}");
        }
        assert!(proxied(&upstream, "own.test").is_some(), "the setting wins over NO_PROXY");
    }

    #[test]
    fn credentials_are_a_header_and_never_shown() {
        let upstream = upstream(&[("HTTPS_PROXY", "http://us%40er:p%3Ass@p.test:1")], "");
        let target = Target::parse("pypi.org:443", None).unwrap();
        let proxy = upstream.proxy_for(Scheme::Https, &target).unwrap();
        let header = proxy.authorization.as_ref().unwrap();
        assert_eq!(header.to_str().unwrap(), "Basic dXNAZXI6cDpzcw==");
        let shown = format!("{upstream:?} {proxy:?}");
        assert!(!shown.contains("ss@") && !shown.contains("dXNA") && !shown.contains("p%3Ass"), "{shown}");
    }
}
