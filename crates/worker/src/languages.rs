//! Languages: how source text becomes a program to run.
//!
//! A registry that the configuration can extend. Interpreters are looked for in the folders that a session sees, and
//! are called themselves, never through a version manager's shim.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A language as an operator writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageConfig {
    /// The interpreters to look for, best first: absolute paths, or names in the system folders.
    pub interpreters: Vec<String>,
    /// Arguments before the code; `{code}` stands for it.
    pub args: Vec<String>,
}

/// A language that can be run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language {
    /// As asked for.
    pub name: String,
    /// As seen inside a session.
    pub interpreter: String,
    args: Vec<String>,
}

impl Language {
    /// The program and arguments that run this code.
    pub fn argv(&self, code: &str) -> Vec<String> {
        let args = self.args.iter().map(|arg| if arg == CODE { code.to_owned() } else { arg.clone() });
        std::iter::once(self.interpreter.clone()).chain(args).collect()
    }
}

const CODE: &str = "{code}";

/// Folders that every session sees.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"];

/// The languages of this worker.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    known: BTreeMap<String, Option<Language>>,
}

impl Languages {
    /// Looks for the interpreters of the languages in the box and of those that the configuration adds. `visible` are
    /// the host folders that sessions see besides the system's.
    pub fn find(extra: &BTreeMap<String, LanguageConfig>, visible: &[PathBuf]) -> Self {
        let mut all = in_the_box();
        all.extend(extra.iter().map(|(name, config)| (name.clone(), config.clone())));
        let known = all.into_iter().map(|(name, config)| {
            let found = config.interpreters.iter().find_map(|name| look_up(name, visible));
            let language =
                found.map(|interpreter| Language { name: name.clone(), interpreter, args: config.args });
            (name, language)
        });
        Self { known: known.collect() }
    }

    /// The language of this name; `Err` tells which names would have done, `Ok(None)` that its interpreter is missing.
    pub fn get(&self, name: &str) -> Result<Option<&Language>, Vec<&str>> {
        match self.known.get(name) {
            Some(language) => Ok(language.as_ref()),
            None => Err(self.known.keys().map(String::as_str).collect()),
        }
    }

    /// Those that can be run.
    pub fn present(&self) -> impl Iterator<Item = &Language> {
        self.known.values().flatten()
    }

    /// Those whose interpreter is missing.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.known.iter().filter(|(_, language)| language.is_none()).map(|(name, _)| name.as_str())
    }
}

fn in_the_box() -> BTreeMap<String, LanguageConfig> {
    let entry = |name: &str, interpreters: &[&str], args: &[&str]| {
        let config = LanguageConfig {
            interpreters: interpreters.iter().map(ToString::to_string).collect(),
            args: args.iter().map(ToString::to_string).collect(),
        };
        (name.to_owned(), config)
    };
    BTreeMap::from([
        entry("bash", &["bash"], &["-c", CODE]),
        entry("python", &["python3", "python"], &["-c", CODE]),
        entry("node", &["node", "nodejs"], &["-e", CODE]),
    ])
}

fn look_up(name: &str, visible: &[PathBuf]) -> Option<String> {
    if name.starts_with('/') {
        let seen = SYSTEM_FOLDERS.iter().map(Path::new).chain(visible.iter().map(PathBuf::as_path));
        return seen
            .into_iter()
            .any(|folder| Path::new(name).starts_with(folder) && is_program(name.as_ref()))
            .then(|| name.to_owned());
    }
    SYSTEM_FOLDERS.iter().map(|folder| format!("{folder}/{name}")).find(|path| is_program(path.as_ref()))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_is_found_and_its_code_is_one_argument() {
        let languages = Languages::find(&BTreeMap::new(), &[]);
        let bash = languages.get("bash").unwrap().unwrap();
        assert_eq!(bash.argv("echo a; echo b")[1..], ["-c", "echo a; echo b"]);
    }

    #[test]
    fn an_unknown_language_is_told_from_one_whose_interpreter_is_missing() {
        let config = LanguageConfig { interpreters: vec!["no-such-program".into()], args: vec![] };
        let languages = Languages::find(&BTreeMap::from([("rare".to_owned(), config)]), &[]);
        assert_eq!(languages.get("rare"), Ok(None));
        assert!(languages.get("cobol").unwrap_err().contains(&"bash"));
        assert_eq!(languages.missing().filter(|name| *name == "rare").count(), 1);
    }

    #[test]
    fn an_interpreter_outside_the_folders_that_a_session_sees_is_not_used() {
        assert_eq!(look_up("/proc/self/exe", &[]), None);
    }
}
