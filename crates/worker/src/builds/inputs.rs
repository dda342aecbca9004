//! The inputs of a build, copied from the workspace once: programs of the session may change the files at any time, so
//! these copies are hashed and compiled.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::{Workspace, WorkspacePath};

use super::flags::Flags;
use super::key::Key;
use super::scan::{Scanned, scan};

/// The total size of the inputs of a build.
pub(crate) const MAX_INPUT_BYTES: u64 = 64 << 20;
/// The most inputs of a build.
const MAX_INPUTS: usize = 20_000;
/// The folder for results in the workspace of a build.
pub(crate) const BUILD_DIR: &str = ".headwater-build";
/// The most cached scans.
const MAX_SCANS: usize = 8192;

/// A copy of a file.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: Key,
}

/// A source and what it reads.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) source: String,
    /// The files, including the source itself.
    pub(crate) reads: BTreeSet<String>,
    /// Whether the result contains the time of the build.
    pub(crate) timed: bool,
}

/// All inputs of a build, by path.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) files: BTreeMap<String, Input>,
    pub(crate) units: Vec<Unit>,
    /// Whether the whole workspace was copied, because the inputs cannot be determined beforehand.
    pub(crate) whole: bool,
}

/// The scans of files, by the hash of their content.
#[derive(Debug, Default)]
pub(crate) struct Scans(Mutex<HashMap<Key, Arc<Scanned>>>);

impl Scans {
    fn of(&self, input: &Input) -> Arc<Scanned> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scanned) = known.get(&input.hash) {
            return Arc::clone(scanned);
        }
        drop(known);
        let scanned = Arc::new(scan(&input.bytes));
        known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_SCANS {
            known.clear();
        }
        known.insert(input.hash, Arc::clone(&scanned));
        scanned
    }
}

/// Collects the inputs of a build from a workspace.
pub(crate) struct InputCollector<'a> {
    pub(crate) workspace: &'a Workspace,
    /// The path of the workspace for programs of the session.
    pub(crate) home: &'a str,
    pub(crate) scans: &'a Scans,
    pub(crate) flags: &'a Flags,
    /// The path of the binary, which is not an input.
    pub(crate) output: &'a str,
    inputs: Inputs,
    absent: BTreeSet<String>,
    bytes: u64,
}

impl<'a> InputCollector<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        home: &'a str,
        scans: &'a Scans,
        flags: &'a Flags,
        output: &'a str,
    ) -> Self {
        let (inputs, absent) = (Inputs::default(), BTreeSet::new());
        Self { workspace, home, scans, flags, output, inputs, absent, bytes: 0 }
    }

    /// Collects all files that these sources read. Blocks.
    pub(crate) fn collect(mut self, sources: &[String]) -> Result<Inputs, Fault> {
        let mut computed = !self.flags.plain;
        for source in sources {
            if !self.has(source)? {
                return Err(Fault::new(
                    FaultKind::NotFound,
                    format!("the file `{source}` does not exist in the workspace"),
                )
                .hint("write it first; links are not followed"));
            }
            let (unit, unknown) = self.unit(source)?;
            computed |= unknown;
            self.inputs.units.push(unit);
        }
        if computed {
            self.collect_everything()?;
        }
        Ok(self.inputs)
    }

    fn unit(&mut self, source: &str) -> Result<(Unit, bool), Fault> {
        let mut unit = Unit { source: source.to_owned(), ..Unit::default() };
        let (mut computed, mut left) = (false, vec![source.to_owned()]);
        for file in &self.flags.forced.clone() {
            left.extend(self.find(file, true, file)?); // relative to the working directory
        }
        while let Some(path) = left.pop() {
            if !unit.reads.insert(path.clone()) {
                continue;
            }
            let Some(input) = self.inputs.files.get(&path) else { continue };
            let scanned = self.scans.of(input);
            computed |= scanned.computed;
            unit.timed |= scanned.timed;
            for name in &scanned.quoted {
                left.extend(self.find(&Self::beside(name, &path), true, name)?);
            }
            for name in &scanned.angled {
                left.extend(self.find("", false, name)?);
            }
        }
        Ok((unit, computed))
    }

    /// The path of a name in the folder of a file.
    fn beside(name: &str, file: &str) -> String {
        match file.rsplit_once('/') {
            Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
            _ => name.to_owned(),
        }
    }

    /// All files that an include may refer to. Not only the first: `include_next` continues after it.
    fn find(&mut self, beside: &str, quoted: bool, name: &str) -> Result<Vec<String>, Fault> {
        let flags = self.flags;
        let folders = flags.quote_folders.iter().filter(|_| quoted).chain(&flags.folders);
        let mut paths: Vec<String> = folders.map(|folder| format!("{folder}/{name}")).collect();
        if quoted {
            paths.push(beside.to_owned());
        }
        if name.starts_with('/') {
            paths = vec![name.to_owned()];
        }
        let mut found = Vec::new();
        for path in paths {
            if let Some(path) = path_below(self.home, &path).filter(|path| !path.is_empty())
                && self.has(&path)?
            {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Copies a file, unless it was copied before. False if it does not exist.
    fn has(&mut self, path: &str) -> Result<bool, Fault> {
        if self.inputs.files.contains_key(path) {
            return Ok(true);
        }
        if self.absent.contains(path) || self.skip(path) {
            return Ok(false);
        }
        let Ok(path_in_workspace) = WorkspacePath::parse(path, self.home) else {
            return Ok(false);
        };
        let left = MAX_INPUT_BYTES - self.bytes;
        let Some(whole) = self.workspace.open_whole(&path_in_workspace)? else {
            self.absent.insert(path.to_owned());
            return Ok(false);
        };
        if whole.bytes > left || self.inputs.files.len() >= MAX_INPUTS {
            return Err(too_large());
        }
        let bytes = self.workspace.read_limited(&path_in_workspace, left)?.ok_or_else(too_large)?;
        self.bytes += bytes.len() as u64;
        let hash = Key::of(&bytes);
        self.inputs.files.insert(path.to_owned(), Input { bytes, hash });
        Ok(true)
    }

    fn skip(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        first == BUILD_DIR || first == ".git" || path == self.output
    }

    fn collect_everything(&mut self) -> Result<(), Fault> {
        let skip = |path: &str| self.skip(path);
        let all = self.workspace.all_files(MAX_INPUTS, &skip)?.ok_or_else(too_large)?;
        for path in all {
            self.has(&path)?;
        }
        let everything: BTreeSet<_> = self.inputs.files.keys().cloned().collect();
        for unit in &mut self.inputs.units {
            unit.reads.clone_from(&everything);
        }
        self.inputs.whole = true;
        Ok(())
    }
}

fn too_large() -> Fault {
    let message = format!(
        "the build reads more than {} MiB or {MAX_INPUTS} files of the workspace",
        MAX_INPUT_BYTES >> 20
    );
    Fault::new(FaultKind::Invalid, message).hint(
        "flags that are out of the ordinary, inline assembly and computed includes make the whole workspace an input: \
         remove what is not needed, or build with `make` or `cmake` in the session",
    )
}

/// The path in the workspace of a file that a compiler names, without `..`; empty for the workspace itself, `None` if
/// the file is outside. Programs of the session see the workspace at `home`.
pub(crate) fn path_below(home: &str, file: &str) -> Option<String> {
    let path = match file.strip_prefix(home) {
        Some(rest) if rest.starts_with('/') => rest,
        _ if file.starts_with('/') => return None,
        _ => file,
    };
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests;
