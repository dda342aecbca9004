//! `[network]` and `[packages]`: what sessions may reach, and where packages come from.

use std::collections::BTreeMap;
use std::net::IpAddr;

use headwater_protocol::units::{format_bytes, parse_bytes};
use reqwest::Url;
use serde::{Deserialize, Serialize};

pub use crate::allow::Pattern;
pub use crate::target::{Host, Target};
pub use crate::upstream::UpstreamProxy;

/// The registries behind pip and npm.
const DEFAULT_REGISTRIES: [&str; 3] = ["pypi.org", "files.pythonhosted.org", "registry.npmjs.org"];
const DEFAULT_PYTHON_INDEX: &str = "https://pypi.org/simple";
const DEFAULT_NPM_REGISTRY: &str = "https://registry.npmjs.org";
const DEFAULT_CARGO_INDEX: &str = "https://index.crates.io";
const DEFAULT_GO_PROXY: &str = "https://proxy.golang.org";
const DEFAULT_MAVEN_REPOSITORY: &str = "https://repo.maven.apache.org/maven2";
const DEFAULT_DEBIAN_MIRROR: &str = "https://deb.debian.org/debian";
const DEFAULT_CACHE_BYTES: u64 = 5 << 30;
/// A cache smaller than this could not hold one package of the usual size.
const MIN_CACHE_BYTES: u64 = 1 << 20;

/// Connections of one owner: enough for 16 busy sessions, and a quarter of all connections.
const DEFAULT_CONNECTIONS_OF_OWNER: usize = 1024;

/// What sessions may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Whether a session may have `network: packages`.
    pub allow_packages: bool,
    /// Whether a session may have `network: full`.
    pub allow_full: bool,
    /// Connections of all sessions of one owner with `network: packages` at once.
    pub max_connections_of_owner: usize,
    /// The hosts that `network: packages` reaches.
    pub registries: Vec<Pattern>,
    /// Hosts that may be reached although their address is private.
    pub allow_private: Vec<Target>,
    /// Host names with fixed addresses, which are not looked up.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// The proxy through which all other hosts are reached.
    pub upstream_proxy: UpstreamProxy,
    /// Hosts that are reached without that proxy; `None`: those of the environment.
    pub no_proxy: Option<Vec<String>>,
}

/// Where packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagesConfig {
    /// The index of Python packages (PEP 503 or 691) behind the mirror; `None`: no mirror.
    pub python_index: Option<Url>,
    /// The registry of npm packages behind the mirror.
    pub npm_registry: Option<Url>,
    /// The sparse index of Rust crates.
    pub cargo_index: Option<Url>,
    /// The proxy of Go modules.
    pub go_proxy: Option<Url>,
    /// The repository of Maven.
    pub maven_repository: Option<Url>,
    /// The mirror of Debian packages.
    pub debian_mirror: Option<Url>,
    /// The size limit of the cache.
    pub cache_bytes: u64,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            allow_packages: true,
            allow_full: false,
            max_connections_of_owner: DEFAULT_CONNECTIONS_OF_OWNER,
            registries: DEFAULT_REGISTRIES.iter().filter_map(|name| Pattern::parse(name).ok()).collect(),
            allow_private: Vec::new(),
            hosts: BTreeMap::new(),
            upstream_proxy: UpstreamProxy::default(),
            no_proxy: None,
        }
    }
}

impl Default for PackagesConfig {
    fn default() -> Self {
        Self {
            python_index: DEFAULT_PYTHON_INDEX.parse().ok(),
            npm_registry: DEFAULT_NPM_REGISTRY.parse().ok(),
            cargo_index: DEFAULT_CARGO_INDEX.parse().ok(),
            go_proxy: DEFAULT_GO_PROXY.parse().ok(),
            maven_repository: DEFAULT_MAVEN_REPOSITORY.parse().ok(),
            debian_mirror: DEFAULT_DEBIAN_MIRROR.parse().ok(),
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }
}

/// The URL without its password, for display.
pub fn without_password(url: &Url) -> String {
    let mut url = url.clone();
    // Fails only for URLs that cannot have a password.
    let _ = url.set_password(None);
    url.into()
}

/// The table `[network]`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileNetwork {
    allow_packages: Option<bool>,
    allow_full: Option<bool>,
    max_connections_of_owner: Option<usize>,
    registries: Option<Vec<String>>,
    allow_private: Vec<String>,
    hosts: BTreeMap<String, OneOrMore>,
    upstream_proxy: Option<String>,
    no_proxy: Option<Vec<String>>,
}

/// The table `[packages]`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilePackages {
    python_index: Option<String>,
    npm_registry: Option<String>,
    cargo_index: Option<String>,
    go_proxy: Option<String>,
    maven_repository: Option<String>,
    debian_mirror: Option<String>,
    cache: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<&NetworkConfig> for FileNetwork {
    fn from(config: &NetworkConfig) -> Self {
        let addresses = |all: &Vec<IpAddr>| OneOrMore::More(all.iter().map(ToString::to_string).collect());
        Self {
            allow_packages: Some(config.allow_packages),
            allow_full: Some(config.allow_full),
            max_connections_of_owner: Some(config.max_connections_of_owner),
            registries: Some(config.registries.iter().map(ToString::to_string).collect()),
            allow_private: config.allow_private.iter().map(ToString::to_string).collect(),
            hosts: config.hosts.iter().map(|(host, all)| (host.clone(), addresses(all))).collect(),
            upstream_proxy: Some(config.upstream_proxy.to_string()),
            no_proxy: config.no_proxy.clone(),
        }
    }
}

impl From<&PackagesConfig> for FilePackages {
    fn from(config: &PackagesConfig) -> Self {
        let url = |url: &Option<Url>| Some(url.as_ref().map(ToString::to_string).unwrap_or_default());
        Self {
            python_index: url(&config.python_index),
            npm_registry: url(&config.npm_registry),
            cargo_index: url(&config.cargo_index),
            go_proxy: url(&config.go_proxy),
            maven_repository: url(&config.maven_repository),
            debian_mirror: url(&config.debian_mirror),
            cache: Some(format_bytes(config.cache_bytes)),
        }
    }
}

impl FileNetwork {
    /// Checks the section and fills in the defaults.
    pub fn parse(self) -> Result<NetworkConfig, String> {
        let mut config = NetworkConfig::default();
        config.allow_packages = self.allow_packages.unwrap_or(config.allow_packages);
        config.allow_full = self.allow_full.unwrap_or(config.allow_full);
        config.max_connections_of_owner = match self.max_connections_of_owner {
            Some(0) => return Err("network.max_connections_of_owner: must be at least 1".into()),
            given => given.unwrap_or(config.max_connections_of_owner),
        };
        if let Some(registries) = self.registries {
            let read = |text: &String| {
                Pattern::parse(text).map_err(|error| {
                    format!("network.registries: {error}: write `host`, `*.host` or `host:port`")
                })
            };
            config.registries = registries.iter().map(read).collect::<Result<_, _>>()?;
        }
        let read = |text: &String| {
            Target::parse(text, None)
                .map_err(|error| format!("network.allow_private: {error}: write `host:port`"))
        };
        config.allow_private = self.allow_private.iter().map(read).collect::<Result<_, _>>()?;
        let proxy = self.upstream_proxy.as_deref().unwrap_or_default();
        config.upstream_proxy =
            UpstreamProxy::parse(proxy).map_err(|why| format!("network.upstream_proxy: {why}"))?;
        config.no_proxy = self.no_proxy;
        for (name, addresses) in self.hosts {
            let Ok(Host::Name(host)) = Host::parse(&name) else {
                return Err(format!("network.hosts: `{name}` is not a host name"));
            };
            config.hosts.insert(host, addresses.parse(&name)?);
        }
        Ok(config)
    }
}

impl OneOrMore {
    fn parse(self, name: &str) -> Result<Vec<IpAddr>, String> {
        let texts = match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        };
        let read = |text: &String| {
            text.parse().map_err(|_| format!("network.hosts.{name}: `{text}` is not an IP address"))
        };
        texts.iter().map(read).collect()
    }
}

impl FilePackages {
    /// Checks the section and fills in the defaults.
    pub fn parse(self) -> Result<PackagesConfig, String> {
        let mut config = PackagesConfig::default();
        for (name, text, setting) in [
            ("python_index", self.python_index, &mut config.python_index),
            ("npm_registry", self.npm_registry, &mut config.npm_registry),
            ("cargo_index", self.cargo_index, &mut config.cargo_index),
            ("go_proxy", self.go_proxy, &mut config.go_proxy),
            ("maven_repository", self.maven_repository, &mut config.maven_repository),
            ("debian_mirror", self.debian_mirror, &mut config.debian_mirror),
        ] {
            if let Some(text) = text {
                *setting = registry(name, &text)?;
            }
        }
        if let Some(text) = self.cache {
            config.cache_bytes = parse_bytes(&text).map_err(|e| format!("packages.cache: {e}"))?;
            if config.cache_bytes < MIN_CACHE_BYTES {
                return Err(format!("packages.cache: `{text}` is too small, the minimum is `1Mi`"));
            }
        }
        Ok(config)
    }
}

/// The URL of a registry; an empty text means none.
fn registry(name: &str, text: &str) -> Result<Option<Url>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    // As cargo writes it.
    let plain = text.strip_prefix("sparse+").unwrap_or(text);
    let url: Url = plain.parse().map_err(|error| format!("packages.{name}: `{text}`: {error}"))?;
    let valid = matches!(url.scheme(), "https" | "http") && url.query().is_none() && url.fragment().is_none();
    if valid { Ok(Some(url)) } else { Err(format!("packages.{name}: `{text}` is not the URL of a registry")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Result<NetworkConfig, String> {
        toml::from_str::<FileNetwork>(text).map_err(|error| error.to_string())?.parse()
    }

    fn packages(text: &str) -> Result<PackagesConfig, String> {
        toml::from_str::<FilePackages>(text).map_err(|error| error.to_string())?.parse()
    }

    #[test]
    fn without_a_word_packages_come_from_the_public_registries_and_nothing_else_is_reached() {
        let (network, packages) = (network("").unwrap(), packages("").unwrap());
        assert!(network.allow_packages && !network.allow_full && network.allow_private.is_empty());
        assert_eq!(network.registries.len(), DEFAULT_REGISTRIES.len());
        assert!(packages.python_index.is_some() && packages.npm_registry.is_some());
    }

    #[test]
    fn configured_values_are_used() {
        let config = network(
            "registries = [\"*.example.org\"]\nallow_private = [\"127.0.0.1:8080\"]\nallow_full = true\n\
             [hosts]\n\"a.test\" = \"10.0.0.1\"\n\"b.test\" = [\"::1\", \"10.0.0.2\"]\n",
        )
        .unwrap();
        assert_eq!((config.registries.len(), config.allow_private.len(), config.allow_full), (1, 1, true));
        assert_eq!(config.hosts["b.test"].len(), 2);
        let config = packages("python_index = \"\"\ncache = \"2Mi\"").unwrap();
        assert!(config.python_index.is_none() && config.cache_bytes == 2 << 20);
    }

    #[test]
    fn invalid_settings_are_named() {
        for (text, says) in [
            ("registries = [\"https://pypi.org\"]", "network.registries"),
            ("allow_private = [\"host\"]", "network.allow_private"),
            ("[hosts]\n\"a.test\" = \"here\"", "network.hosts.a.test"),
            ("[hosts]\n\"127.0.0.1\" = \"10.0.0.1\"", "network.hosts"),
            ("full = true", "full"),
            ("upstream_proxy = \"socks5://a.test:1\"", "network.upstream_proxy"),
            ("upstream_proxy = \"http://user:secret@\"", "network.upstream_proxy"),
        ] {
            let error = network(text).unwrap_err();
            assert!(error.contains(says) && !error.contains("secret"), "{error}");
        }
        for (text, says) in [
            ("python_index = \"pypi.org\"", "packages.python_index"),
            ("npm_registry = \"ftp://a.example\"", "packages.npm_registry"),
            ("cache = \"lots\"", "packages.cache"),
            ("cache = \"1K\"", "packages.cache"),
        ] {
            let error = packages(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
