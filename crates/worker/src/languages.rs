//! Languages: how code is run.
//!
//! The registry contains the built-in languages, and those that the configuration adds or changes. Interpreters and
//! compilers are searched for in the folders that a session sees, and are called directly, never through a version
//! manager's shim.

mod config;
pub(crate) mod debian;
mod entry;
mod language;
pub(crate) mod packages;
mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_sandbox::wire::Bind;

pub use self::config::LanguageConfig;
pub use self::entry::Entry;
pub use self::language::Language;

/// The built-in languages.
const BOX: &str = include_str!("languages/builtin.toml");

/// The folders that every session sees.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"];

/// The languages of this worker; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    known: Arc<BTreeMap<String, Entry>>,
    /// The language of each alias.
    aliases: Arc<BTreeMap<String, String>>,
}

impl Languages {
    /// Finds the tools of the built-in and configured languages. `binds` are the host folders that sessions see besides the
    /// system's.
    pub fn find(extra: &BTreeMap<String, LanguageConfig>, binds: &[Bind]) -> Self {
        let all = all(extra);
        let aliases = all.iter().flat_map(|(name, config)| {
            let names = config.aliases.iter().flatten();
            names.map(move |alias| (alias.clone(), name.clone()))
        });
        let aliases = aliases.filter(|(alias, _)| !all.contains_key(alias)).collect();
        let known = all.iter().map(|(name, config)| (name.clone(), Entry::find(name, config, binds)));
        Self { known: Arc::new(known.collect()), aliases: Arc::new(aliases) }
    }

    /// The language with this name or alias; `Err` has the known names.
    pub fn get(&self, name: &str) -> Result<&Entry, Vec<&str>> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.known.get(name).ok_or_else(|| self.known.keys().map(String::as_str).collect())
    }

    /// All languages, by name.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.known.values()
    }

    /// The languages that can be run, as far as known without running a tool for its version.
    pub fn present(&self) -> impl Iterator<Item = &Language> {
        self.all().filter(|entry| entry.is_settled()).filter_map(Entry::language)
    }
}

/// Checks the languages of a configuration.
pub(crate) fn check(extra: &BTreeMap<String, LanguageConfig>) -> Result<(), String> {
    let known = in_the_box();
    for (name, config) in extra {
        config.check(name, known.contains_key(name))?;
    }
    let all = all(extra);
    let mut taken: BTreeMap<&str, &str> = all.keys().map(|name| (name.as_str(), name.as_str())).collect();
    // Only the operator's aliases: they override built-in ones.
    for (name, config) in extra {
        for alias in config.aliases.iter().flatten() {
            if let Some(other) = taken.insert(alias, name).filter(|other| *other != name) {
                return Err(format!("languages.{name}.aliases: `{alias}` is already an alias of `{other}`"));
            }
        }
    }
    Ok(())
}

fn all(extra: &BTreeMap<String, LanguageConfig>) -> BTreeMap<String, LanguageConfig> {
    let mut all = in_the_box();
    for (name, config) in extra {
        let base = all.remove(name).unwrap_or_default();
        let mut language = base.overlaid(config);
        // Another tool comes from another package.
        let tool = config.interpreters.iter().flatten().next().filter(|_| config.package.is_none());
        if let Some(package) = tool.and_then(|tool| debian::package_of(tool)) {
            language.package = Some(package);
        }
        all.insert(name.clone(), language);
    }
    all
}

fn in_the_box() -> BTreeMap<String, LanguageConfig> {
    toml::from_str(BOX).unwrap_or_else(|error| {
        tracing::error!(%error, "cannot read the built-in languages");
        BTreeMap::new()
    })
}

/// The path of a tool in a session, and on the host.
pub(crate) fn look_up(name: &str, binds: &[Bind]) -> Option<(String, PathBuf)> {
    if !name.starts_with('/') {
        let mut places = SYSTEM_FOLDERS.iter().map(|folder| format!("{folder}/{name}"));
        return places.find(|path| is_program(path.as_ref())).map(|path| (path.clone(), path.into()));
    }
    let path = Path::new(name);
    let in_system = SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder)).then(|| path.to_owned());
    let in_bind = || {
        binds.iter().find_map(|bind| Some(Path::new(&bind.host).join(path.strip_prefix(&bind.inside).ok()?)))
    };
    let host = in_system.or_else(in_bind)?;
    is_program(&host).then(|| (name.to_owned(), host))
}

/// The versions of Python in the system folders, as names of programs.
pub(crate) fn pythons() -> Vec<String> {
    let entries =
        SYSTEM_FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_version = |name: &String| {
        name.strip_prefix("python3.").is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut found: Vec<_> = names.filter(is_version).collect();
    found.sort();
    found.dedup();
    found
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(text: &str) -> BTreeMap<String, LanguageConfig> {
        toml::from_str(text).unwrap()
    }

    fn find(text: &str) -> Languages {
        Languages::find(&configured(text), &[])
    }

    #[test]
    fn the_languages_in_the_box_are_well_formed_and_have_a_package_each() {
        let all = toml::from_str::<BTreeMap<String, LanguageConfig>>(BOX).unwrap();
        let names: Vec<_> = all.keys().map(String::as_str).collect();
        let expected = [
            "bash",
            "c",
            "cpp",
            "go",
            "java",
            "lua",
            "node",
            "perl",
            "php",
            "python",
            "r",
            "ruby",
            "rust",
            "typescript",
        ];
        assert_eq!(names, expected);
        for (name, config) in &all {
            config.check(name, false).or_else(|_| config.check(name, name == "typescript")).unwrap();
            assert!(config.package.is_some() && !config.all_suffixes().is_empty(), "{name}");
        }
        let mut aliases: Vec<_> = all.values().flat_map(|config| config.aliases.iter().flatten()).collect();
        let count = aliases.len();
        aliases.sort_unstable();
        aliases.dedup();
        assert_eq!(aliases.len(), count);
    }

    #[test]
    fn bash_is_found_and_its_code_is_one_argument() {
        let languages = find("");
        let bash = languages.get("sh").unwrap().language().unwrap();
        let argv = bash.run_code("echo a; echo b", &["x".into()]).unwrap();
        assert_eq!(argv[1..], ["-c", "echo a; echo b", "bash", "x"]);
        assert_eq!(bash.run_file("/workspace/a.sh", "", &["x".into()])[1..], ["/workspace/a.sh", "x"]);
        assert_eq!((bash.suffix.as_str(), bash.name.as_str()), ("sh", "bash"));
    }

    #[test]
    fn a_language_that_says_nothing_of_files_is_given_them_as_its_argument() {
        let text = "[mine]\ninterpreters = [\"bash\"]\nargs = [\"-c\", \"{code}\"]\n";
        let plain = find(text);
        let plain = plain.get("mine").unwrap().language().unwrap();
        assert_eq!((plain.run_file("f", "", &[])[1..].concat(), plain.suffix.as_str()), ("f".into(), ""));
        let custom = find(&format!("{text}run_file = [\"-e\", \"{{file}}\"]"));
        let custom = custom.get("mine").unwrap().language().unwrap();
        assert_eq!(custom.run_file("f", "", &["x".into()])[1..], ["-e", "f", "x"]);
        assert_eq!(custom.run_long("f", &[])[1..], ["-e", "f"]);
    }

    #[test]
    fn an_unknown_language_differs_from_a_missing_interpreter() {
        let languages =
            find("[rare]\ninterpreters = [\"no-such-program\"]\nargs = []\npackage = \"rare-tools\"");
        let rare = languages.get("rare").unwrap();
        assert_eq!((rare.language(), rare.package.as_deref()), (None, Some("rare-tools")));
        assert!(languages.get("cobol").unwrap_err().contains(&"bash"));
    }

    #[test]
    fn the_configuration_changes_what_it_names_and_leaves_the_rest() {
        let languages = find("[bash]\nmax_runtime = \"2s\"\naliases = [\"b\"]");
        let bash = languages.get("b").unwrap().language().unwrap();
        assert_eq!((bash.limits.wall_ms, bash.suffix.as_str()), (Some(2000), "sh"));
        let languages = find("[c]\ninterpreters = [\"bash\"]\nargs = [\"{code}\"]");
        let c = languages.get("c").unwrap().language().unwrap();
        assert!(!c.needs_folder() && c.run_code("x", &[]).is_some(), "its own way instead of the box's");
    }

    #[test]
    fn a_chosen_version_that_is_not_installed_names_its_own_package() {
        let languages =
            find("[python]\ninterpreters = [\"python3.99\"]\n[cpp]\ninterpreters = [\"clang++-99\"]");
        let remedy = |name| languages.get(name).unwrap().remedy();
        assert_eq!(remedy("python"), "apt-get install python3.99");
        assert_eq!(remedy("cpp"), "apt-get install clang-99");
        assert_eq!(remedy("ruby"), "apt-get install ruby");
    }

    #[test]
    fn another_way_is_taken_where_the_first_is_missing_or_too_old() {
        let text = "[mine]\ninterpreters = [\"no-such-program\"]\nargs = []\n\
                    [[mine.otherwise]]\ninterpreters = [\"bash\"]\nleast_version = \"999\"\n\
                    [[mine.otherwise]]\ninterpreters = [\"sh\"]\nneeds = [\"no-such-program\"]\n\
                    [[mine.otherwise]]\ninterpreters = [\"sh\"]\nneeds = [\"bash\"]\n";
        let languages = find(text);
        let mine = languages.get("mine").unwrap();
        assert!(!mine.is_settled());
        assert!(mine.language().unwrap().interpreter.ends_with("/sh"));
        assert!(mine.is_settled());
    }

    #[test]
    fn an_error_in_a_language_definition_is_named() {
        for (text, says) in [
            ("[x]\nargs = []", "languages.x.interpreters"),
            ("[x]\ninterpreters = [\"sh\"]", "languages.x: needs"),
            (
                "[x]\ninterpreters = [\"sh\"]\nargs = []\naliases = [\"bash\"]",
                "`bash` is already an alias of `bash`",
            ),
            ("[x]\ninterpreters = [\"sh\"]\nargs = []\naliases = [\"a/b\"]", "languages.x.aliases"),
            ("[python]\nmax_runtime = \"0s\"", "languages.python.max_runtime"),
        ] {
            let error = check(&configured(text)).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(toml::from_str::<LanguageConfig>("max_runtime = \"long\"").is_err());
        assert!(toml::from_str::<LanguageConfig>("limits = { pids = 0 }").is_err());
    }

    #[test]
    fn a_tool_outside_the_folders_that_a_session_sees_is_not_used() {
        assert_eq!(look_up("/proc/self/exe", &[]), None);
        let bind = Bind { host: "/bin".into(), inside: "/opt/tools".into(), optional: false };
        let found = look_up("/opt/tools/sh", &[bind]).unwrap();
        assert_eq!(found, ("/opt/tools/sh".to_owned(), PathBuf::from("/bin/sh")));
    }
}
