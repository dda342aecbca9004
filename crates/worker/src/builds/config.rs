//! The configuration of builds: the table `[builds]`.

use std::time::Duration;

use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

/// Which builds share cache entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Builds of the same owner. The duration of a build then reveals nothing about builds of others.
    #[default]
    Owner,
    /// All builds.
    All,
}

/// The configuration of builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildsConfig {
    /// The default compiler of C++.
    pub compiler: String,
    /// The compilers that a build may name.
    pub compilers: Vec<String>,
    /// The longest duration of a build.
    pub timeout: Duration,
    /// The size limit of the cache.
    pub cache_bytes: u64,
    /// Which builds share cache entries.
    pub share: Share,
}

/// The compiler of C++ if the operator chooses none.
const DEFAULT_COMPILER: &str = "g++";

impl BuildsConfig {
    /// The compiler that the operator chose instead of the default.
    pub(crate) fn chosen(&self) -> Option<&str> {
        Some(self.compiler.as_str()).filter(|compiler| *compiler != DEFAULT_COMPILER)
    }
}

impl Default for BuildsConfig {
    fn default() -> Self {
        Self {
            compiler: DEFAULT_COMPILER.to_owned(),
            compilers: ["g++", "clang++", "gcc", "clang"].map(str::to_owned).to_vec(),
            timeout: Duration::from_mins(2),
            cache_bytes: 5 << 30,
            share: Share::Owner,
        }
    }
}

/// The table in the configuration file.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileBuilds {
    compiler: Option<String>,
    compilers: Option<Vec<String>>,
    timeout: Option<String>,
    cache: Option<String>,
    share: Option<Share>,
}

impl From<&BuildsConfig> for FileBuilds {
    fn from(config: &BuildsConfig) -> Self {
        Self {
            compiler: Some(config.compiler.clone()),
            compilers: Some(config.compilers.clone()),
            timeout: Some(format_duration(config.timeout)),
            cache: Some(format_bytes(config.cache_bytes)),
            share: Some(config.share),
        }
    }
}

impl FileBuilds {
    pub(crate) fn apply(self, config: &mut BuildsConfig) -> Result<(), String> {
        if let Some(compilers) = self.compilers {
            config.compilers = compilers;
        }
        config.compiler = self.compiler.unwrap_or_else(|| config.compiler.clone());
        if let Some(text) = self.timeout {
            config.timeout = time("builds.timeout", &text)?;
        }
        if let Some(text) = self.cache {
            config.cache_bytes = parse_bytes(&text).map_err(|error| format!("builds.cache: {error}"))?;
        }
        config.share = self.share.unwrap_or(config.share);
        check(config)
    }
}

fn time(name: &str, text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(time) if time.is_zero() => Err(format!("{name}: must be more than 0")),
        other => other.map_err(|error| format!("{name}: {error}")),
    }
}

fn check(config: &BuildsConfig) -> Result<(), String> {
    let bad = |name: &&String| name.is_empty() || name.contains(['/', '\0']) || name.starts_with(['.', '-']);
    match config.compilers.iter().chain([&config.compiler]).find(bad) {
        Some(name) => Err(format!("builds.compilers: `{name}` is not the name of a program")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<BuildsConfig, String> {
        let mut config = BuildsConfig::default();
        let file: FileBuilds = toml::from_str(text).map_err(|error| error.to_string())?;
        file.apply(&mut config).map(|()| config)
    }

    #[test]
    fn the_file_wins_over_the_defaults() {
        let config =
            of("compiler = \"clang++\"\ncache = \"1Gi\"\nshare = \"all\"\ntimeout = \"30s\"").unwrap();
        assert_eq!((config.cache_bytes, config.share), (1 << 30, Share::All));
        assert_eq!((config.compiler.as_str(), config.timeout), ("clang++", Duration::from_secs(30)));
    }

    #[test]
    fn an_invalid_setting_is_named() {
        for (text, says) in [
            ("cache = \"lots\"", "builds.cache"),
            ("timeout = \"0s\"", "builds.timeout"),
            ("compilers = [\"/bin/sh\"]", "/bin/sh"),
            ("share = \"some\"", "share"),
            ("colour = 1", "colour"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
