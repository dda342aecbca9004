//! Lists the packages of a session's environments from the metadata that installers write. Programs of the session can
//! write it too, so the number and the size of entries are limited.

use std::io::Read;

use headwater_contract::v1;
use headwater_workspace::{Kind, WorkspacePath};

use crate::files::open_workspace::OpenWorkspace;

/// The maximum number of packages in a list.
const MAX_PACKAGES: usize = 5_000;
/// How many bytes of a package's metadata are read.
const MAX_DESCRIPTION: u64 = 256 << 10;
/// The maximum length of a name or version, in characters.
const MAX_CHARS: usize = 200;

/// The path of a session's virtual environment.
const PYTHON: &str = ".venv";
/// The path of a session's Node modules.
const NODE: &str = "node_modules";

/// The environment of this ecosystem, and its packages.
pub(crate) fn list(open: &OpenWorkspace, ecosystem: v1::Ecosystem) -> v1::ListPackagesResponse {
    let (place, (version, packages)) = match ecosystem {
        v1::Ecosystem::Python => (PYTHON, python(open)),
        v1::Ecosystem::Node => (NODE, (None, node(open))),
    };
    let marker = match ecosystem {
        v1::Ecosystem::Python => ".venv/bin/python",
        v1::Ecosystem::Node => NODE,
    };
    let exists = path(open, marker).is_some_and(|path| open.workspace.find(&path).is_ok());
    let Some(mut packages) = packages.filter(|_| exists) else {
        let path = format!("{}/{place}", open.home);
        return v1::ListPackagesResponse { exists, path, version, packages: Vec::new(), cut: false };
    };
    let cut = packages.len() > MAX_PACKAGES;
    packages.truncate(MAX_PACKAGES);
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    v1::ListPackagesResponse { exists, path: format!("{}/{place}", open.home), version, packages, cut }
}

type Version = Option<String>;

fn python(open: &OpenWorkspace) -> (Version, Option<Vec<v1::Package>>) {
    let config = path(open, ".venv/pyvenv.cfg").and_then(|path| text(open, &path));
    let version = config.as_deref().and_then(|text| field(text, "version", '='));
    let Some(lib) = path(open, ".venv/lib") else {
        return (version, None);
    };
    let mut packages = Vec::new();
    for interpreter in folders(open, &lib).into_iter().take(8) {
        let Some(site) = interpreter.join(b"site-packages") else { continue };
        for folder in folders(open, &site) {
            let name = String::from_utf8_lossy(folder.name()).into_owned();
            let Some(stem) = name.strip_suffix(".dist-info") else { continue };
            if packages.len() > MAX_PACKAGES {
                break;
            }
            packages.push(distribution(open, &folder, stem));
        }
    }
    (version, Some(packages))
}

/// A package by its `METADATA`, or by the name of its folder: `requests-2.32.3.dist-info`.
fn distribution(open: &OpenWorkspace, folder: &WorkspacePath, stem: &str) -> v1::Package {
    let metadata = folder.join(b"METADATA").and_then(|path| text(open, &path)).unwrap_or_default();
    let head = metadata.split("\n\n").next().unwrap_or_default();
    let (name, version) = stem.rsplit_once('-').unwrap_or((stem, ""));
    v1::Package {
        name: field(head, "Name", ':').unwrap_or_else(|| short(name)),
        version: field(head, "Version", ':').unwrap_or_else(|| short(version)),
    }
}

fn node(open: &OpenWorkspace) -> Option<Vec<v1::Package>> {
    let modules = path(open, NODE)?;
    let mut packages = Vec::new();
    for folder in folders(open, &modules) {
        let scope = folder.name().starts_with(b"@").then(|| folders(open, &folder));
        for folder in scope.unwrap_or_else(|| vec![folder]) {
            if packages.len() > MAX_PACKAGES {
                break;
            }
            packages.extend(module(open, &folder));
        }
    }
    Some(packages)
}

/// A module by its `package.json`; a folder without one is not a package.
fn module(open: &OpenWorkspace, folder: &WorkspacePath) -> Option<v1::Package> {
    let manifest = text(open, &folder.join(b"package.json")?)?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    let value = |field: &str| manifest.get(field).and_then(serde_json::Value::as_str).map(short);
    Some(v1::Package { name: value("name")?, version: value("version").unwrap_or_default() })
}

fn path(open: &OpenWorkspace, text: &str) -> Option<WorkspacePath> {
    open.path(text.as_bytes()).ok()
}

/// The folders in a folder.
fn folders(open: &OpenWorkspace, folder: &WorkspacePath) -> Vec<WorkspacePath> {
    let Ok(walk) = open.workspace.walk(folder, 1, None) else {
        return Vec::new();
    };
    let folders = walk.filter(|step| step.entry.kind == Kind::Folder).map(|step| step.path);
    folders.take(4 * MAX_PACKAGES).collect()
}

/// The beginning of a regular file.
fn text(open: &OpenWorkspace, path: &WorkspacePath) -> Option<String> {
    let (file, _) = open.workspace.open_file(path).ok()?;
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(MAX_DESCRIPTION).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of the first line `name: value`.
fn field(text: &str, name: &str, separator: char) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then(|| short(value.trim()))
    });
    value.filter(|value| !value.is_empty())
}

/// Names come from the session: they are shortened, and control characters are removed.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_first_of_its_name_and_harmless() {
        let text = "Metadata-Version: 2.1\nName: tiny\u{1b}[2J\nName: other\nVersion:\n";
        assert_eq!(field(text, "Name", ':').as_deref(), Some("tiny[2J"));
        assert_eq!((field(text, "Version", ':'), field(text, "Summary", ':')), (None, None));
        assert_eq!(field("version = 3.11.2\n", "version", '=').as_deref(), Some("3.11.2"));
        assert_eq!(short(&"x".repeat(1000)).len(), MAX_CHARS);
    }
}
