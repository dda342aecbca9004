//! What a build reads of a workspace, taken out of it once: programs of the session may change the files at any time, so
//! what is hashed, what is compiled and what is remembered are these copies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::{Workspace, WorkspacePath};

use super::flags::Flags;
use super::key::Key;
use super::scan::{Scanned, scan};

/// Bytes of all inputs of a build.
pub(crate) const MAX_INPUT_BYTES: u64 = 64 << 20;
/// Their number.
const MAX_INPUTS: usize = 20_000;
/// The folder in a build's own workspace that is ours.
pub(crate) const OURS: &str = ".headwater-build";
/// Scans remembered at once.
const SCANS: usize = 8192;

/// A file as it was when it was taken.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: Key,
}

/// A source and what it reads.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) source: String,
    /// Itself among them.
    pub(crate) reads: BTreeSet<String>,
    /// The time of the build is part of what is made.
    pub(crate) timed: bool,
}

/// All that a build reads, by path.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) files: BTreeMap<String, Input>,
    pub(crate) units: Vec<Unit>,
    /// The whole workspace was taken, because what is read cannot be told beforehand.
    pub(crate) whole: bool,
}

/// What was found in files, by their content.
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
        if known.len() >= SCANS {
            known.clear();
        }
        known.insert(input.hash, Arc::clone(&scanned));
        scanned
    }
}

/// Takes a build's inputs out of a workspace.
pub(crate) struct Taking<'a> {
    pub(crate) workspace: &'a Workspace,
    /// Where programs of the session see it.
    pub(crate) home: &'a str,
    pub(crate) scans: &'a Scans,
    pub(crate) flags: &'a Flags,
    /// Where the binary goes: it is no input.
    pub(crate) output: &'a str,
    inputs: Inputs,
    absent: BTreeSet<String>,
    bytes: u64,
}

impl<'a> Taking<'a> {
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

    /// All that these sources read. Blocks.
    pub(crate) fn take(mut self, sources: &[String]) -> Result<Inputs, Fault> {
        let mut computed = !self.flags.plain;
        for source in sources {
            if !self.has(source)? {
                return Err(Fault::new(
                    FaultKind::NotFound,
                    format!("there is no file `{source}` in the workspace"),
                )
                .hint("write it first; links are not followed"));
            }
            let (unit, unknown) = self.unit(source)?;
            computed |= unknown;
            self.inputs.units.push(unit);
        }
        if computed {
            self.take_everything()?;
        }
        Ok(self.inputs)
    }

    fn unit(&mut self, source: &str) -> Result<(Unit, bool), Fault> {
        let mut unit = Unit { source: source.to_owned(), ..Unit::default() };
        let (mut computed, mut left) = (false, vec![source.to_owned()]);
        for file in &self.flags.forced.clone() {
            left.extend(self.find(file, true, file)?); // from the working directory on
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

    /// The path of a name beside a file.
    fn beside(name: &str, file: &str) -> String {
        match file.rsplit_once('/') {
            Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
            _ => name.to_owned(),
        }
    }

    /// All files that an include may mean. More than the first: `include_next` goes on after it.
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
            if let Some(path) = self.within(&path)
                && self.has(&path)?
            {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// The path in the workspace of what a compiler in it would look for there.
    fn within(&self, path: &str) -> Option<String> {
        let path = match path.strip_prefix('/') {
            None => path,
            Some(_) => path.strip_prefix(self.home).filter(|rest| rest.starts_with('/'))?,
        };
        let mut names: Vec<&str> = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()?),
                name => names.push(name),
            }
        }
        (!names.is_empty()).then(|| names.join("/"))
    }

    /// Takes a file, unless it is there already. False if there is none.
    fn has(&mut self, path: &str) -> Result<bool, Fault> {
        if self.inputs.files.contains_key(path) {
            return Ok(true);
        }
        if self.absent.contains(path) || self.skip(path) {
            return Ok(false);
        }
        let Ok(place) = WorkspacePath::parse(path, self.home) else {
            return Ok(false);
        };
        let left = MAX_INPUT_BYTES - self.bytes;
        let Some(whole) = self.workspace.take(&place)? else {
            self.absent.insert(path.to_owned());
            return Ok(false);
        };
        if whole.bytes > left || self.inputs.files.len() >= MAX_INPUTS {
            return Err(too_much());
        }
        let bytes = self.workspace.take_all(&place, left)?.ok_or_else(too_much)?;
        self.bytes += bytes.len() as u64;
        let hash = Key::of(&bytes);
        self.inputs.files.insert(path.to_owned(), Input { bytes, hash });
        Ok(true)
    }

    fn skip(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        first == OURS || first == ".git" || path == self.output
    }

    fn take_everything(&mut self) -> Result<(), Fault> {
        let skip = |path: &str| self.skip(path);
        let all = self.workspace.all_files(MAX_INPUTS, &skip)?.ok_or_else(too_much)?;
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

fn too_much() -> Fault {
    let message = format!(
        "the build reads more than {} MiB or {MAX_INPUTS} files of the workspace",
        MAX_INPUT_BYTES >> 20
    );
    Fault::new(FaultKind::Invalid, message).hint(
        "flags that are out of the ordinary, inline assembly and computed includes make the whole workspace an input: \
         remove what is not needed, or build with `make` or `cmake` in the session",
    )
}

#[cfg(test)]
#[path = "inputs_tests.rs"]
mod tests;
