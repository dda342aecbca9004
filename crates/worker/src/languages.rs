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
    /// Arguments that run code; `{code}` stands for it. The code's own arguments follow.
    pub args: Vec<String>,
    /// How names of its files end, without the dot.
    #[serde(default)]
    pub suffix: String,
    /// Arguments that run a file; `{file}` stands for its path. Its own arguments follow.
    #[serde(default = "just_the_file")]
    pub run_file: Vec<String>,
    /// Likewise for code that is too long to be an argument and is in a file for that reason only: it should not notice.
    #[serde(default)]
    pub run_long: Option<Vec<String>>,
}

fn just_the_file() -> Vec<String> {
    vec![FILE.to_owned()]
}

/// A language that can be run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language {
    /// As asked for.
    pub name: String,
    /// As seen inside a session.
    pub interpreter: String,
    /// How names of its files end, without the dot; maybe empty.
    pub suffix: String,
    args: Vec<String>,
    run_file: Vec<String>,
    run_long: Vec<String>,
}

impl Language {
    fn new(name: String, interpreter: String, config: LanguageConfig) -> Self {
        let LanguageConfig { args, suffix, run_file, run_long, .. } = config;
        let run_long = run_long.unwrap_or_else(|| run_file.clone());
        Self { name, interpreter, suffix, args, run_file, run_long }
    }

    /// The program and arguments that run this code.
    pub fn run_code(&self, code: &str, args: &[String]) -> Vec<String> {
        self.argv(&self.args, CODE, code, args)
    }

    /// Those that run this file, whose path is as seen inside a session.
    pub fn run_file(&self, file: &str, args: &[String]) -> Vec<String> {
        self.argv(&self.run_file, FILE, file, args)
    }

    /// Those that run the code in this file as if it had been an argument.
    pub fn run_long(&self, file: &str, args: &[String]) -> Vec<String> {
        self.argv(&self.run_long, FILE, file, args)
    }

    fn argv(&self, pattern: &[String], place: &str, value: &str, args: &[String]) -> Vec<String> {
        let fill = |arg: &String| if arg == place { value.to_owned() } else { arg.clone() };
        let first = std::iter::once(self.interpreter.clone());
        first.chain(pattern.iter().map(fill)).chain(args.iter().cloned()).collect()
    }
}

const CODE: &str = "{code}";
const FILE: &str = "{file}";

/// Runs the file that is its first argument as `python -c` runs code: modules are looked for in the working directory,
/// `sys.argv` is the same, and no name is there that the code did not make.
const PYTHON_LONG: &str =
    "exec(compile(open(__import__('sys').argv[1],'rb').read(),__import__('sys').argv.pop(1),'exec'))";

/// Likewise as `node -e` does.
const NODE_LONG: &str = "require('vm').runInThisContext(require('fs').readFileSync(process.argv[1],'utf8'),\
    {filename:process.argv[1],importModuleDynamically:require('vm').constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER})";

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
            (name.clone(), found.map(|interpreter| Language::new(name, interpreter, config)))
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
    let list = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let entry = |name: &str, interpreters: &[&str], suffix: &str, [args, file, long]: [&[&str]; 3]| {
        let config = LanguageConfig {
            interpreters: list(interpreters),
            args: list(args),
            suffix: suffix.to_owned(),
            run_file: list(file),
            run_long: Some(list(long)),
        };
        (name.to_owned(), config)
    };
    // The code's arguments are to be found where they are in a file's program: `$1`, `sys.argv[1]`, `process.argv[2]`.
    // For that bash and node need a name in place of the file's.
    // Python holds back what it prints to a pipe until it ends or has 8 KiB (`-u`: it does not): somebody watches.
    BTreeMap::from([
        entry("bash", &["bash"], "sh", [&["-c", CODE, "bash"], &[FILE], &[FILE]]),
        entry(
            "python",
            &["python3", "python"],
            "py",
            [&["-u", "-c", CODE], &["-u", FILE], &["-u", "-c", PYTHON_LONG, FILE]],
        ),
        entry(
            "node",
            &["node", "nodejs"],
            "js",
            [&["-e", CODE, "--", "[eval]"], &[FILE], &["-e", NODE_LONG, "--", FILE]],
        ),
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
        assert_eq!(
            bash.run_code("echo a; echo b", &["x".into()])[1..],
            ["-c", "echo a; echo b", "bash", "x"]
        );
        assert_eq!(bash.run_file("/workspace/a.sh", &["x".into()])[1..], ["/workspace/a.sh", "x"]);
        assert_eq!(bash.suffix, "sh");
    }

    #[test]
    fn a_language_that_says_nothing_of_files_is_given_them_as_its_argument() {
        let text = "interpreters = [\"bash\"]\nargs = [\"-c\", \"{code}\"]";
        let config = || toml::from_str::<LanguageConfig>(text).unwrap();
        let find = |config| Languages::find(&BTreeMap::from([("mine".to_owned(), config)]), &[]);
        let plain = find(config());
        let plain = plain.get("mine").unwrap().unwrap();
        assert_eq!((plain.run_file("f", &[])[1..].concat(), plain.suffix.as_str()), ("f".into(), ""));
        let told = find(LanguageConfig { run_file: vec!["-e".into(), FILE.into()], ..config() });
        let told = told.get("mine").unwrap().unwrap();
        assert_eq!(told.run_file("f", &["x".into()])[1..], ["-e", "f", "x"]);
        assert_eq!(told.run_long("f", &[])[1..], ["-e", "f"]);
    }

    #[test]
    fn an_unknown_language_is_told_from_one_whose_interpreter_is_missing() {
        let config = toml::from_str("interpreters = [\"no-such-program\"]\nargs = []").unwrap();
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
