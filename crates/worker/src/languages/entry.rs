//! A language of the registry: what is told of it, and the way in which it runs here, if there is one.

use std::path::PathBuf;
use std::sync::OnceLock;

use headwater_sandbox::wire::Bind;

use super::config::LanguageConfig;
use super::language::Language;
use super::{look_up, version};

/// A language, whether or not it can be run here.
#[derive(Debug)]
pub struct Entry {
    /// Its one name.
    pub name: String,
    /// Others.
    pub aliases: Vec<String>,
    /// How names of its files end, without the dot.
    pub suffixes: Vec<String>,
    /// The name of its icon.
    pub icon: String,
    /// The Debian package that brings its tool, if that is known.
    pub package: Option<String>,
    /// Whether some way of it compiles.
    pub can_build: bool,
    /// Ways whose tools are there, best first.
    ways: Vec<Way>,
    /// Which of them.
    chosen: OnceLock<Option<usize>>,
    version: OnceLock<Option<String>>,
}

#[derive(Debug)]
struct Way {
    language: Language,
    /// The tool on the host, and how it is asked for its version.
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

    /// The way it runs here, if it does. The first time, a tool may be asked for its version: see [`Self::is_settled`].
    pub fn language(&self) -> Option<&Language> {
        self.chosen_way().map(|way| &way.language)
    }

    /// Whether [`Self::language`] answers at once.
    pub fn is_settled(&self) -> bool {
        self.chosen.get().is_some() || self.ways.first().is_none_or(|way| way.least_version.is_none())
    }

    fn chosen_way(&self) -> Option<&Way> {
        let choose = || self.ways.iter().position(Way::is_new_enough);
        self.ways.get((*self.chosen.get_or_init(choose))?)
    }

    /// Its version, if it was asked for and told.
    pub fn version(&self) -> Option<&str> {
        self.version.get()?.as_deref()
    }

    /// Whether its tool was asked for its version.
    pub fn is_asked(&self) -> bool {
        self.version.get().is_some()
    }

    /// Asks its tool for the version, once. This takes as long as the tool takes, and not for ever.
    pub fn ask_version(&self) -> Option<&str> {
        let ask = || self.chosen_way().and_then(|way| version::ask(&way.host, &way.ask));
        self.version.get_or_init(ask).as_deref()
    }

    /// What to do where it cannot be run.
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
            version::ask(&self.host, &self.ask).is_some_and(|said| version::is_at_least(&said, least))
        })
    }
}
