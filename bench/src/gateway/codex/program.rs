//! Finds Codex.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The environment variable that names the program.
const PROGRAM_VARIABLE: &str = "CODEX_BIN";

/// An installed Codex.
#[derive(Debug)]
pub struct Codex {
    /// The program: not the script of the npm package, whose interpreter would count.
    pub program: PathBuf,
    /// Its name and version.
    pub version: String,
}

impl Codex {
    /// The program that `CODEX_BIN` names, or else the one in `PATH`, or else the one that npm installed for the tests.
    pub fn find() -> Result<Option<Self>> {
        let named = env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
        let Some(found) = named.clone().or_else(installed) else { return Ok(None) };
        let program = native(&found).unwrap_or(found);
        match version(&program) {
            Ok(version) => Ok(Some(Self { program, version })),
            // The npm package has no program for some machines.
            Err(_) if named.is_none() => Ok(None),
            Err(error) => Err(error.context(format!("{PROGRAM_VARIABLE} is `{}`", program.display()))),
        }
    }
}

fn installed() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/js/node_modules/.bin");
    env::split_paths(&path).chain([of_tests]).map(|folder| folder.join("codex")).find(|file| file.is_file())
}

/// The program that the script of the npm package starts. It is in another package, beside or below the script's.
fn native(script: &Path) -> Option<PathBuf> {
    let script = script.canonicalize().ok()?;
    if script.extension() != Some(OsStr::new("js")) {
        return None;
    }
    let package = script.parent()?.parent()?;
    let scopes = [package.parent()?.to_owned(), package.join("node_modules/@openai")];
    let packages = scopes.iter().flat_map(|scope| entries(scope));
    packages
        .flat_map(|package| entries(&package.join("vendor")))
        .map(|target| target.join("bin/codex"))
        .find(|program| program.is_file())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn version(program: &Path) -> Result<String> {
    let mut command = Command::new(program);
    let output = command.arg("--version").stderr(Stdio::null()).output().context("it does not run")?;
    ensure!(output.status.success(), "`--version` ended with {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_program_of_the_npm_package_is_found_behind_its_script() {
        for other in ["@openai/codex-linux-x64", "@openai/codex/node_modules/@openai/codex-linux-x64"] {
            let folder = tempfile::tempdir().unwrap();
            let modules = folder.path().canonicalize().unwrap();
            let program = modules.join(other).join("vendor/x86_64-unknown-linux-musl/bin/codex");
            let script = modules.join("@openai/codex/bin/codex.js");
            for file in [&program, &script] {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            symlink(&script, modules.join("codex")).unwrap();
            assert_eq!(native(&modules.join("codex")), Some(program.clone()));
            assert_eq!(native(&program), None, "it is the program itself");
        }
    }
}
