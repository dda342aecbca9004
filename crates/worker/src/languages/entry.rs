//! A language of the registry: its description, and how it is run on this host, if it is installed.

use std::path::PathBuf;
use std::sync::OnceLock;

use headwater_sandbox::wire::Bind;

use super::config::LanguageConfig;
use super::language::Language;
use super::{look_up, version};

/// A language, installed or not.
#[derive(Debug)]
pub struct Entry {
    /// The name that requests use.
    pub name: String,
    /// Other names that requests may use.
    pub aliases: Vec<String>,
    /// The file name suffixes, without the dot.
    pub suffixes: Vec<String>,
    /// The name of its icon.
    pub icon: String,
    /// The Debian package of its tool, if known.
    pub package: Option<String>,
    /// Whether one of its variants compiles.
    pub can_build: bool,
    /// The variants whose tools are installed, best first.
    ways: Vec<Way>,
    /// The index of the variant that is used.
    chosen: OnceLock<Option<usize>>,
    version: OnceLock<Option<String>>,
}

#[derive(Debug)]
struct Way {
    language: Language,
    /// The tool on the host, and the arguments that print its version.
    host: PathBuf,
    ask: Vec<String>,
    least_version: Option<String>,
}

impl Entry {
    pub(super) fn find(name: &str, config: &LanguageConfig, binds: &[Bind]) -> Self {
        let others = config.otherwise.iter().map(|other| config.clone().overlaid(other));
        let all: Vec<_> = std::iter::once(config.clone()).chain(others).collect();
        Self {
            name: name.to_owned(),
            aliases: config.aliases.clone().unwrap_or_default(),
            suffixes: config.all_suffixes(),
            icon: config.icon.clone().unwrap_or_else(|| name.to_owned()),
            package: config.package.clone(),
            can_build: all.iter().any(|config| config.build.is_some() || config.compiles == Some(true)),
            ways: all.iter().filter_map(|config| Way::find(name, config, binds)).collect(),
            chosen: OnceLock::new(),
            version: OnceLock::new(),
        }
    }

    /// The variant that is used on this host. The first call may run a tool for its version: see [`Self::is_settled`].
    pub fn language(&self) -> Option<&Language> {
        self.chosen_way().map(|way| &way.language)
    }

    /// Whether [`Self::language`] returns without running a tool.
    pub fn is_settled(&self) -> bool {
        self.chosen.get().is_some() || self.ways.first().is_none_or(|way| way.least_version.is_none())
    }

    fn chosen_way(&self) -> Option<&Way> {
        let choose = || self.ways.iter().position(Way::is_new_enough);
        self.ways.get((*self.chosen.get_or_init(choose))?)
    }

    /// Its version, if it was determined.
    pub fn version(&self) -> Option<&str> {
        self.version.get()?.as_deref()
    }

    /// Whether its tool was run for its version.
    pub fn is_asked(&self) -> bool {
        self.version.get().is_some()
    }

    /// Runs its tool for the version, once. This takes as long as the tool takes, within a timeout.
    pub fn ask_version(&self) -> Option<&str> {
        let ask = || self.chosen_way().and_then(|way| version::ask(&way.host, &way.ask));
        self.version.get_or_init(ask).as_deref()
    }

    /// How to install it.
    pub fn remedy(&self) -> String {
        match &self.package {
            Some(package) => format!("apt-get install {package}"),
            None => format!(
                "install it in a system folder, or correct `languages.{}.interpreters` (and `binds`) in the configuration",
                self.name
            ),
        }
    }
}

impl Way {
    fn find(name: &str, config: &LanguageConfig, binds: &[Bind]) -> Option<Self> {
        if !config.needs.iter().flatten().all(|tool| look_up(tool, binds).is_some()) {
            return None;
        }
        let (inside, host) = config.interpreters.iter().flatten().find_map(|tool| look_up(tool, binds))?;
        let ask = config.version.clone().unwrap_or_else(|| vec!["--version".to_owned()]);
        let language = Language::new(name, inside, config);
        Some(Self { language, host, ask, least_version: config.least_version.clone() })
    }

    fn is_new_enough(&self) -> bool {
        self.least_version.as_ref().is_none_or(|least| {
            version::ask(&self.host, &self.ask).is_some_and(|found| version::is_at_least(&found, least))
        })
    }
}
