//! Which paths of a place may be changed.
//!
//! Some entries of a project make other programs run things, outside of the walls, as the person: git runs hooks and
//! commands from its configuration, editors and agents run what their settings name. They stay read-only, unless the
//! person names them as writable.

use std::path::{Path, PathBuf};

use headwater_protocol::{Place, PlaceMode};
use headwater_workspace::{Guard, GuardRule, WorkspacePath};

/// Entries of a writable folder that stay read-only.
///
/// All of `.git`, and not only `hooks` and `config`: a new file `commondir` in it would replace both.
pub(super) const PROTECTED: [&str; 10] = [
    ".git",
    ".headwater",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".mcp.json",
    ".vscode",
    ".zed",
];

/// Entries that stay read-only in a `.git` that the person named as writable, so that programs can commit.
const PROTECTED_IN_GIT: [&str; 2] = ["hooks", "config"];

/// Whether a path and everything below it may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) path: PathBuf,
    pub(super) writable: bool,
    /// Whether it only protects the path, which need not exist.
    pub(super) protects: bool,
}

/// The rules of a place behind walls, parents before their children, one for each path.
pub(super) fn all(place: &Place) -> Vec<Rule> {
    let folder = PathBuf::from(&place.folder);
    let mut named = vec![Rule {
        path: folder.clone(),
        writable: place.mode == PlaceMode::WorkspaceWrite,
        protects: false,
    }];
    let writable = place.writable.iter().map(PathBuf::from);
    named.extend(writable.map(|path| Rule { path, writable: true, protects: false }));
    let protected = named.iter().filter(|rule| rule.writable).flat_map(|rule| protected(&rule.path));
    let mut all: Vec<_> = protected.collect();
    all.extend(named);
    all.sort_by_key(|rule| {
        (rule.path.components().count(), rule.path.clone(), rule.protects, !rule.writable)
    });
    // What the person named wins over what is protected.
    all.dedup_by(|later, earlier| later.path == earlier.path);
    all
}

fn protected(folder: &Path) -> Vec<Rule> {
    let names: &[&str] = if folder.ends_with(".git") { &PROTECTED_IN_GIT } else { &PROTECTED };
    let rule = |name: &&str| Rule { path: folder.join(name), writable: false, protects: true };
    names.iter().map(rule).collect()
}

/// The same rules for calls on files, which are relative to the folder. A protected path is refused even if it does not
/// exist.
pub(super) fn guard(place: &Place) -> Guard {
    let relative = |rule: Rule| {
        let below = rule.path.strip_prefix(&place.folder).ok()?;
        let path = WorkspacePath::parse_any(below.as_os_str().as_encoded_bytes(), "/").ok()?;
        Some(GuardRule { path, writable: rule.writable })
    };
    Guard::new(all(place).into_iter().filter_map(relative).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(mode: PlaceMode, writable: &[&str]) -> Vec<(String, bool)> {
        let writable = writable.iter().map(|path| (*path).to_owned()).collect();
        let place = Place { folder: "/w/p".into(), mode, writable };
        let shown = |rule: Rule| (rule.path.to_string_lossy().into_owned(), rule.writable);
        all(&place).into_iter().map(shown).collect()
    }

    #[test]
    fn a_writable_folder_keeps_what_runs_outside_read_only() {
        let rules = rules(PlaceMode::WorkspaceWrite, &["/c"]);
        for folder in ["/c", "/w/p"] {
            assert!(rules.contains(&(folder.to_owned(), true)));
            for name in PROTECTED {
                assert!(rules.contains(&(format!("{folder}/{name}"), false)), "{folder}/{name}");
            }
        }
        assert_eq!(rules.len(), 2 + 2 * PROTECTED.len());
        assert_eq!(rules[0].0, "/c", "parents come first: {rules:?}");
    }

    #[test]
    fn a_read_only_folder_has_only_the_writable_paths() {
        let rules = rules(PlaceMode::ReadOnly, &["/w/p/out"]);
        assert_eq!(rules.first(), Some(&("/w/p".to_owned(), false)));
        assert!(
            rules.contains(&("/w/p/out".to_owned(), true))
                && rules.contains(&("/w/p/out/.git".to_owned(), false))
        );
        assert!(
            !rules.iter().any(|(path, _)| path == "/w/p/.git"),
            "the whole folder is read-only: {rules:?}"
        );
    }

    #[test]
    fn what_the_person_names_as_writable_is_writable() {
        let rules = rules(PlaceMode::WorkspaceWrite, &["/w/p/.git", "/w/p/.claude/notes", "/w/p"]);
        for (path, writable) in [
            ("/w/p", true),
            ("/w/p/.git", true),
            ("/w/p/.git/hooks", false),
            ("/w/p/.git/config", false),
            ("/w/p/.claude", false),
            ("/w/p/.claude/notes", true),
        ] {
            let found: Vec<_> = rules.iter().filter(|(at, _)| at == path).collect();
            assert_eq!(found, [&(path.to_owned(), writable)], "{path}");
        }
    }
}
