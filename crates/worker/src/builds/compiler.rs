//! Compilers: finds them, and identifies them by their content.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::build::Compiled;
use headwater_protocol::settings::c_compiler;

use super::key::{Key, KeyBuilder};
use super::system::SystemFiles;
use crate::languages::debian;

/// The folders in which compilers are searched: every session sees them.
const FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// The programs that a compiler runs.
const HELPERS: [&str; 5] = ["cc1plus", "cc1", "collect2", "as", "ld"];
/// Folders in which new files may hide others of the same name.
const INCLUDE_ROOTS: [&str; 3] = ["/usr/local/include", "/usr/include", "/usr/include/c++"];

/// An installed compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compiler {
    /// Its path, in a session and on the host.
    pub(crate) path: String,
    /// A hash of the content of all its programs.
    pub(crate) identity: Key,
    pub(crate) is_clang: bool,
}

/// Finds compilers, and caches which programs they run.
#[derive(Debug, Default)]
pub(crate) struct Compilers {
    helpers: Mutex<HashMap<(PathBuf, Key), Vec<PathBuf>>>,
}

impl Compilers {
    /// The compiler with this name. Blocks: it may have to be run.
    pub(crate) fn find(&self, name: &str, files: &SystemFiles) -> Result<Compiler, Fault> {
        let missing = || {
            let fault = Fault::new(
                FaultKind::Invalid,
                format!("the compiler `{name}` is not installed on this server"),
            );
            fault.hint(match debian::package_of(name) {
                Some(package) => format!("apt-get install {package}"),
                None => "install it on the host, or choose another".to_owned(),
            })
        };
        let path = look_up(name).ok_or_else(missing)?;
        let unreadable = |error: std::io::Error| {
            Fault::new(FaultKind::Unavailable, format!("cannot read the compiler `{name}`: {error}"))
        };
        let own = files.hash(&path).map_err(unreadable)?;
        let mut builder = KeyBuilder::new("compiler");
        builder.part(path.as_os_str().as_encoded_bytes()).part(own.bytes());
        for helper in self.helpers(&path, own) {
            let key = files.hash(&helper).map_err(unreadable)?;
            builder.part(helper.as_os_str().as_encoded_bytes()).part(key.bytes());
        }
        for root in INCLUDE_ROOTS {
            let written = std::fs::metadata(root).and_then(|meta| meta.modified()).ok();
            builder.part(format!("{written:?}").as_bytes());
        }
        let is_clang = name.starts_with("clang");
        Ok(Compiler { path: path.to_string_lossy().into_owned(), identity: builder.key(), is_clang })
    }

    fn helpers(&self, path: &Path, own: Key) -> Vec<PathBuf> {
        let place = (path.to_owned(), own);
        let mut known = self.helpers.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry(place)
            .or_insert_with(|| HELPERS.iter().filter_map(|name| ask(path, name)).collect())
            .clone()
    }
}

/// The path of a program that a compiler runs.
fn ask(compiler: &Path, name: &str) -> Option<PathBuf> {
    let asked = Command::new(compiler)
        .env_clear()
        .env("PATH", FOLDERS.join(":"))
        .arg(format!("-print-prog-name={name}"))
        .output()
        .ok()?;
    let output = String::from_utf8(asked.stdout).ok()?;
    let path = Path::new(output.trim());
    if path.is_absolute() { Some(path.to_owned()).filter(|path| path.exists()) } else { look_up(name) }
}

fn look_up(name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
        return None;
    }
    let paths = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| path.is_file())
}

/// The requested compiler or the configured default, if the operator allows it.
pub(crate) fn choose(
    asked: Option<&str>,
    language: Compiled,
    preferred: &str,
    allowed: &[String],
) -> Result<String, Fault> {
    let Some(asked) = asked else {
        return Ok(match language {
            Compiled::Cpp => preferred.to_owned(),
            Compiled::C => c_compiler(preferred),
        });
    };
    if asked == preferred || allowed.iter().any(|name| name == asked) {
        return Ok(asked.to_owned());
    }
    let asked: String = asked.chars().take(64).collect();
    Err(Fault::new(FaultKind::Invalid, format!("the compiler `{asked}` is not allowed on this server"))
        .hint(format!("allowed compilers: {}", allowed.join(", "))))
}

/// The features of the host's processor that matter to code that is compiled for it alone.
pub(crate) fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    let matters = |line: &&str| {
        ["model", "flags", "vendor_id", "cpu family", "stepping", "cache size"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    first.lines().filter(matters).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_compilers_that_the_operator_allows_are_run() {
        let allowed = ["g++".to_owned(), "clang++".to_owned()];
        let choose = |asked, language| choose(asked, language, "g++-12", &allowed);
        assert_eq!(choose(None, Compiled::Cpp).as_deref(), Ok("g++-12"));
        assert_eq!(choose(None, Compiled::C).as_deref(), Ok("gcc-12"));
        assert_eq!(choose(Some("clang++"), Compiled::Cpp).as_deref(), Ok("clang++"));
        assert!(choose(Some("/bin/sh"), Compiled::Cpp).unwrap_err().hint.unwrap().contains("clang++"));
    }

    #[test]
    fn a_compiler_is_known_by_the_content_of_its_programs() {
        let (compilers, files) = (Compilers::default(), SystemFiles::default());
        let one = compilers.find("g++", &files).unwrap();
        assert_eq!(one, compilers.find("g++", &files).unwrap());
        assert!(!one.is_clang && one.path.ends_with("/g++"));
        assert_ne!(one.identity, compilers.find("gcc", &files).unwrap().identity);
        for name in ["no-such-compiler", "../bin/g++", "", "."] {
            assert!(compilers.find(name, &files).is_err());
        }
        let missing = compilers.find("g++-99", &files).unwrap_err();
        assert_eq!(
            (missing.kind, missing.hint.as_deref()),
            (FaultKind::Invalid, Some("apt-get install g++-99"))
        );
    }
}
