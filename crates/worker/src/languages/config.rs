//! The configuration of a language, by the operator or built in.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_protocol::Limits;
use headwater_protocol::units::{format_duration, parse_duration};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use headwater_protocol::settings::FileLimits;

/// The longest name of a language.
const MAX_NAME_BYTES: usize = 64;

/// A language, or the changes to a built-in one: absent fields keep its values.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LanguageConfig {
    /// Other names of the language.
    pub aliases: Option<Vec<String>>,
    /// The file name suffixes without the dot; the first is used for files that the worker creates.
    pub suffixes: Option<Vec<String>>,
    /// The only suffix.
    pub suffix: Option<String>,
    /// The interpreters or compilers to search for, best first: absolute paths, or names in the system folders.
    pub interpreters: Option<Vec<String>>,
    /// Other programs that must be installed.
    pub needs: Option<Vec<String>>,
    /// The minimum version of the interpreter, such as `22.18`.
    pub least_version: Option<String>,
    /// Arguments that run code; `{code}` stands for it. The code's own arguments follow. If absent, code is run from a file.
    pub args: Option<Vec<String>>,
    /// Arguments that run a file; `{file}` stands for its path. Its own arguments follow.
    pub run_file: Option<Vec<String>>,
    /// Arguments that run a file with code that is too long for an argument; the code should not notice the difference.
    pub run_long: Option<Vec<String>>,
    /// Arguments that compile `{file}` to `{out}`, a program in the temporary folder `{dir}`.
    pub build: Option<Vec<String>>,
    /// Environment variables of the compiler.
    pub build_env: Option<BTreeMap<String, String>>,
    /// The command that runs the built program, by default `["{out}"]`. `{stem}` is the file's name without its suffix.
    pub run_built: Option<Vec<String>>,
    /// Whether it compiles before it runs, without a separate step.
    pub compiles: Option<bool>,
    /// An interpreter in the workspace that is used instead if it exists, as in a virtual environment.
    pub environment: Option<String>,
    /// Arguments that make the interpreter print its version, by default `["--version"]`.
    pub version: Option<Vec<String>>,
    /// The Debian package of the interpreter.
    pub package: Option<String>,
    /// The name of its icon, by default the name of the language.
    pub icon: Option<String>,
    /// The longest run time of its code, such as `300s`.
    #[serde(deserialize_with = "duration", serialize_with = "write_duration")]
    pub max_runtime: Option<Duration>,
    /// The limits of its code, if they are lower than those of the session.
    #[serde(deserialize_with = "limits", serialize_with = "write_limits")]
    pub limits: Limits,
    /// Alternatives, if the interpreter is not installed: each has only the differences.
    pub otherwise: Vec<LanguageConfig>,
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

fn limits<'de, D: Deserializer<'de>>(from: D) -> Result<Limits, D::Error> {
    let limits = FileLimits::deserialize(from)?.parse().map_err(serde::de::Error::custom)?;
    limits.first_invalid().map_or(Ok(limits), |why| Err(serde::de::Error::custom(why)))
}

#[allow(clippy::ref_option)] // as serde calls it
fn write_duration<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(format_duration).serialize(to)
}

fn write_limits<S: Serializer>(limits: &Limits, to: S) -> Result<S::Ok, S::Error> {
    FileLimits::from(limits).serialize(to)
}

impl LanguageConfig {
    /// This configuration with the fields of the other.
    #[must_use]
    pub(super) fn overlaid(mut self, other: &Self) -> Self {
        let changes_tool = other.interpreters.is_some();
        let changes_run = other.args.is_some() || other.run_file.is_some();
        if changes_tool {
            // The arguments of one tool do not fit another.
            (self.otherwise, self.needs, self.least_version) = (Vec::new(), None, None);
        }
        if changes_run && other.build.is_none() {
            (self.build, self.run_built) = (None, None);
        }
        if other.build.is_some() && !changes_run {
            (self.args, self.run_file, self.run_long) = (None, None, None);
        }
        if other.suffix.is_some() {
            self.suffixes = None;
        }
        macro_rules! take {
            ($($field:ident),*) => { $( if other.$field.is_some() { self.$field.clone_from(&other.$field); } )* };
        }
        take!(aliases, suffixes, suffix, interpreters, needs, least_version, args, run_file, run_long, build);
        take!(build_env, run_built, compiles, environment, version, package, icon, max_runtime);
        self.limits = other.limits.or(&self.limits);
        if !other.otherwise.is_empty() {
            self.otherwise.clone_from(&other.otherwise);
        }
        self
    }

    /// The file name suffixes.
    pub(super) fn all_suffixes(&self) -> Vec<String> {
        match (&self.suffixes, &self.suffix) {
            (Some(all), _) => all.clone(),
            (None, Some(one)) if !one.is_empty() => vec![one.clone()],
            _ => Vec::new(),
        }
    }

    /// Checks the configuration. `known`: it changes a built-in language.
    pub(super) fn check(&self, name: &str, known: bool) -> Result<(), String> {
        let is_name = |text: &str| {
            (1..=MAX_NAME_BYTES).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'`' | b'%' | b'?'))
        };
        if !is_name(name) {
            return Err(format!("languages: `{name}` is not a valid name"));
        }
        if let Some(alias) = self.aliases.iter().flatten().find(|alias| !is_name(alias)) {
            return Err(format!("languages.{name}.aliases: `{alias}` is not a valid name"));
        }
        let suffixes = self.all_suffixes();
        if let Some(suffix) = suffixes.iter().find(|suffix| suffix.is_empty() || suffix.contains(['/', '\0']))
        {
            return Err(format!("languages.{name}.suffix: `{suffix}` is not a valid suffix"));
        }
        if !known && self.interpreters.is_none() {
            return Err(format!("languages.{name}.interpreters: must name at least one program"));
        }
        if !known && self.args.is_none() && self.run_file.is_none() && self.build.is_none() {
            return Err(format!("languages.{name}: needs `args`, `run_file` or `build`"));
        }
        if self.max_runtime.is_some_and(|time| time.is_zero()) {
            return Err(format!("languages.{name}.max_runtime: must be more than 0"));
        }
        self.otherwise.iter().try_for_each(|other| other.check(name, true))
    }
}
