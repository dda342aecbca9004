//! Packages of a session: checks requests and creates the shell scripts that carry them out. Every word from
//! a client is checked and quoted: none can be an option, a URL or a second command.

use headwater_protocol::shell_quote;

use crate::workspace_path::{self, MAX_PATH_BYTES};

/// The maximum number of packages in one request.
const MAX_PACKAGES: usize = 200;
/// The maximum length of a package's name, with its version, in bytes.
const MAX_NAME: usize = 256;

/// Requested changes of a session's packages.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct PackageChanges {
    /// Packages with optional versions, or paths of the workspace.
    pub(crate) install: Vec<String>,
    /// Names of packages.
    pub(crate) uninstall: Vec<String>,
    /// A file that lists packages: `requirements.txt`; for node it is always `package.json`, whatever the
    /// value.
    pub(crate) listed_in: Option<String>,
    /// Do not contact package registries.
    pub(crate) is_offline: bool,
}

/// The package manager: pip or npm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Python,
    Node,
}

impl PackageChanges {
    /// Checks all words and returns them in the form that the tools accept.
    pub(crate) fn checked(self, kind: Kind) -> Result<Self, String> {
        let Self { install, uninstall, listed_in, is_offline } = self;
        if install.is_empty() && uninstall.is_empty() && listed_in.is_none() {
            return Err("the request is empty: name packages in `install` or `uninstall`".to_owned());
        }
        if install.len() + uninstall.len() > MAX_PACKAGES {
            return Err(format!("a request may name at most {MAX_PACKAGES} packages"));
        }
        let each = |words: Vec<String>, check: fn(Kind, &str) -> Option<String>, what: &str| {
            let checked = words.iter().map(|word| {
                let shown: String = word.chars().take(64).collect();
                let invalid = || format!("`{what}`: `{}` is not a valid package", shown.escape_debug());
                check(kind, word).ok_or_else(invalid)
            });
            checked.collect::<Result<Vec<_>, _>>()
        };
        let listed_in = listed_in.map(|path| in_workspace(&path)).transpose();
        Ok(Self {
            install: each(install, requirement, "install")?,
            uninstall: each(
                uninstall,
                |kind, word| is_name(kind, word).then(|| word.to_owned()),
                "uninstall",
            )?,
            listed_in: listed_in.map_err(|why| format!("`requirements` {why}"))?,
            is_offline,
        })
    }

    /// Whether the changes need a package registry.
    pub(crate) fn needs_network(&self) -> bool {
        !self.is_offline
            && (self.listed_in.is_some() || self.install.iter().any(|word| !word.starts_with("./")))
    }
}

/// Returns a path relative to the workspace: `/src/a`, `/workspace/src/a` and `src/a` are the same.
pub(crate) fn in_workspace(path: &str) -> Result<String, &'static str> {
    let names: Vec<_> = workspace_path::names(path).collect();
    if names.is_empty() || path.ends_with('/') {
        return Err("does not name a file");
    }
    if path.len() > MAX_PATH_BYTES {
        return Err("is longer than 4096 bytes");
    }
    if names.contains(&"..") {
        return Err("contains `..`");
    }
    if path.chars().any(char::is_control) {
        return Err("contains a control character");
    }
    Ok(format!("./{}", names.join("/")))
}

/// Checks a package to install and returns it in the form that the tool accepts.
fn requirement(kind: Kind, word: &str) -> Option<String> {
    if word.starts_with("./") || word.starts_with("/workspace/") {
        return in_workspace(word).ok();
    }
    let is_valid = match kind {
        Kind::Python => {
            let end = word.find(['[', '=', '<', '>', '~', '!']).unwrap_or(word.len());
            let (name, rest) = word.split_at(end);
            let (extras, version) = match rest.strip_prefix('[') {
                Some(rest) => rest.split_once(']')?,
                None => ("", rest),
            };
            is_name(kind, name) && is_made_of(extras, ",._-") && is_version(version, "<>=~!")
        }
        Kind::Node => {
            let at = word.get(1..).and_then(|rest| rest.find('@')).map_or(word.len(), |at| at + 1);
            let (name, version) = word.split_at(at);
            is_name(kind, name) && (version.is_empty() || version.len() > 1) && is_version(version, "@")
        }
    };
    (is_valid && word.len() <= MAX_NAME).then(|| word.to_owned())
}

/// Whether a text is empty, or a version that begins with one of the characters of `first`.
fn is_version(text: &str, first: &str) -> bool {
    text.is_empty() || text.starts_with(|c| first.contains(c)) && is_made_of(text, "@<>=~!^*,.+_-|")
}

fn is_made_of(text: &str, others: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

fn is_name(kind: Kind, word: &str) -> bool {
    let is_plain =
        |text: &str| text.starts_with(|c: char| c.is_ascii_alphanumeric()) && is_made_of(text, "._-~");
    let name = match (kind, word.strip_prefix('@').and_then(|word| word.split_once('/'))) {
        (Kind::Node, Some((scope, name))) if is_plain(scope) => name,
        _ => word,
    };
    is_plain(name) && word.len() <= MAX_NAME
}

fn all_quoted(words: &[String]) -> String {
    words.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ")
}

/// Takes a lock on the workspace: two concurrent changes could leave an environment half changed. The first
/// `pip install` of a shell takes the same one.
const LOCK: &str = "set -e\nif command -v flock >/dev/null; then exec 9<.; flock 9; fi\n";

/// Creates the session's virtual environment with this interpreter, if it does not exist.
pub(crate) fn make_environment(python: &str) -> String {
    format!("{LOCK}[ -x .venv/bin/python ] || {} -m venv .venv\n", shell_quote(python))
}

/// Changes the packages of the session's virtual environment, which is created first if it does not exist.
pub(crate) fn change_python(python: &str, changes: &PackageChanges) -> String {
    let pip = ".venv/bin/python -m pip --disable-pip-version-check --no-input";
    let mut lines = vec![make_environment(python)];
    if !changes.uninstall.is_empty() {
        lines.push(format!("{pip} uninstall -y -- {}\n", all_quoted(&changes.uninstall)));
    }
    if !changes.install.is_empty() || changes.listed_in.is_some() {
        let offline = if changes.is_offline { " --no-index" } else { "" };
        let listed = changes.listed_in.as_ref().map(|file| format!(" -r {}", shell_quote(file)));
        let listed = listed.unwrap_or_default();
        let words = all_quoted(&changes.install);
        lines.push(format!("{pip} install --no-cache-dir{offline}{listed} -- {words}\n"));
    }
    lines.concat()
}

/// Changes the session's node modules.
pub(crate) fn change_node(changes: &PackageChanges) -> String {
    let npm = "npm --no-audit --no-fund --no-update-notifier --cache=/tmp/headwater-npm";
    let offline = if changes.is_offline { " --offline" } else { "" };
    let mut lines = vec![LOCK.to_owned()];
    if !changes.uninstall.is_empty() {
        lines.push(format!("{npm} uninstall -- {}\n", all_quoted(&changes.uninstall)));
    }
    if changes.listed_in.is_some() {
        lines.push(format!("{npm} install{offline}\n"));
    }
    if !changes.install.is_empty() {
        lines.push(format!("{npm} install{offline} -- {}\n", all_quoted(&changes.install)));
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(kind: Kind, word: &str) -> Result<PackageChanges, String> {
        PackageChanges { install: vec![word.to_owned()], ..PackageChanges::default() }.checked(kind)
    }

    #[test]
    fn packages_and_paths_are_taken_and_nothing_that_a_tool_could_take_for_more() {
        for word in ["requests", "requests==2.32.3", "a[b,c]>=1.0,<2", "zope.interface~=5", "./a b.whl"] {
            assert!(install(Kind::Python, word).is_ok(), "{word}");
        }
        for word in ["left-pad", "left-pad@1.3.0", "@scope/name@^1.2.0", "a@latest", "/workspace/p.tgz"] {
            assert!(install(Kind::Node, word).is_ok(), "{word}");
        }
        let bad = [
            "",
            "-r",
            "--index-url=http://x",
            "a b",
            "a;b",
            "a$(b)",
            "http://x/y.whl",
            "git+https://x",
            "a @ http://x",
            "../a.whl",
            "./../a.whl",
            "a\nb",
            "/etc/passwd",
            "a[",
            "a[b",
            "é",
            "./a\u{1b}",
            "a==1;os",
            "file:x",
        ];
        for word in bad {
            assert!(install(Kind::Python, word).is_err(), "{word}");
            assert!(install(Kind::Node, word).is_err(), "{word}");
        }
        for word in ["user/repo", "@scope", "@/a", "a@", "a@http://x", "@-a/b", "a@b/c", "@a/b/c"] {
            assert!(install(Kind::Node, word).is_err(), "{word}");
        }
        assert!(install(Kind::Python, &"a".repeat(257)).is_err());
        let many =
            PackageChanges { install: vec!["a".into(); MAX_PACKAGES + 1], ..PackageChanges::default() };
        assert!(many.checked(Kind::Python).is_err());
        assert!(PackageChanges::default().checked(Kind::Python).is_err());
        let gone = PackageChanges { uninstall: vec!["./a.whl".into()], ..PackageChanges::default() };
        assert!(gone.checked(Kind::Python).is_err());
    }

    #[test]
    fn only_paths_and_what_says_so_need_no_network() {
        assert!(install(Kind::Python, "requests").unwrap().needs_network());
        assert!(!install(Kind::Python, "/workspace/a.whl").unwrap().needs_network());
        let listed =
            PackageChanges { listed_in: Some("requirements.txt".into()), ..PackageChanges::default() };
        let listed = listed.checked(Kind::Python).unwrap();
        assert!(listed.needs_network());
        assert!(!PackageChanges { is_offline: true, ..listed }.needs_network());
        let gone = PackageChanges { uninstall: vec!["a".into()], ..PackageChanges::default() };
        assert!(!gone.checked(Kind::Python).unwrap().needs_network());
    }

    #[test]
    fn words_are_quoted_and_come_after_the_options() {
        let changes = PackageChanges { is_offline: true, ..install(Kind::Python, "./it's.whl").unwrap() };
        let script = change_python("/usr/bin/python3", &changes);
        assert!(script.ends_with("install --no-cache-dir --no-index -- './it'\\''s.whl'\n"), "{script}");
        assert!(script.contains("'/usr/bin/python3' -m venv .venv"), "{script}");
        let script = change_node(&install(Kind::Node, "a@1").unwrap());
        assert!(script.ends_with(" install -- 'a@1'\n"), "{script}");
    }

    #[test]
    fn paths_lie_in_the_workspace() {
        for path in ["/workspace/build/main", "/build/main", "build/main", "./build//main"] {
            assert_eq!(in_workspace(path).as_deref(), Ok("./build/main"));
        }
        for path in ["", "/", "/workspace", "/workspace/", "a/", "../a", "a/../../b", "a\0b"] {
            assert!(in_workspace(path).is_err(), "{path}");
        }
    }
}
