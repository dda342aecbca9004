//! What a build left in its own workspace, once its program has ended: told to whoever asked, and kept in the cache as
//! far as it depends on nothing but what its key names.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_contract::Fault;
use headwater_protocol::build::{BuildResult, BuildStatus, Diagnostic, SUCCESS, diagnostics_of_text};
use headwater_protocol::{Reason, Verdict};
use headwater_sandbox::wire::Bind;
use headwater_workspace::{Workspace, WorkspacePath};

use super::cache::{Cache, Entry, Kind, MAX_BLOB_BYTES, Told};
use super::driver::{left, made};
use super::inputs::OURS;
use super::plan::Plan;
use super::system::{SystemFiles, host_path};
use super::{depfile, gcc};

/// What is kept of one source's messages.
const MAX_TEXT_BYTES: u64 = 256 << 10;
/// What is told of all messages.
const MAX_STDERR_BYTES: usize = 256 << 10;
/// Ends a text that is not whole.
const MORE: &str = "\n[more is in the log of the execution]\n";
/// Of a list of files, and of messages for programs.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// Gathers what a build left.
pub(crate) struct Collecting<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) workspace: &'a Workspace,
    /// Where the build saw it.
    pub(crate) home: &'a str,
    pub(crate) binds: &'a [Bind],
    pub(crate) files: &'a SystemFiles,
    pub(crate) cache: &'a Cache,
    pub(crate) began_at_ms: u64,
}

/// What one source came to.
struct Left {
    told: Told,
    /// Whether it depends on nothing but what its key names.
    pure: bool,
}

impl Collecting<'_> {
    fn take(&self, path: &str, most: u64) -> Option<Vec<u8>> {
        let path = WorkspacePath::parse(path, self.home).ok()?;
        self.workspace.take_all(&path, most).ok().flatten()
    }

    /// The text of a file; of one that is too long its beginning, which says so.
    fn text(&self, path: &str, most: u64) -> String {
        let Ok(path) = WorkspacePath::parse(path, self.home) else { return String::new() };
        let Ok(Some(whole)) = self.workspace.take(&path) else { return String::new() };
        let mut bytes = Vec::new();
        let is_read = whole.file.take(most + 1).read_to_end(&mut bytes).is_ok();
        let is_cut = bytes.len() as u64 > most;
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let text = if is_read { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() };
        if is_cut { text + MORE } else { text }
    }

    /// What became of it; the binary goes to `target`. Blocks.
    pub(crate) fn collect(&self, verdict: &Verdict, target: &Workspace) -> BuildResult {
        let units: Vec<Left> = (0..self.plan.units.len()).map(|n| self.unit(n)).collect();
        let link = self.text(&format!("{OURS}/link.txt"), MAX_TEXT_BYTES);
        let status = status(verdict);
        let mut result = BuildResult::ended(status, "");
        let texts = units.iter().map(|unit| unit.told.text.as_str()).chain([link.as_str()]);
        (result.stderr, result.truncated) = cut(texts.collect());
        let linked = diagnostics_of_text(&link, &|file: &str| self.name(file));
        let said = units.iter().flat_map(|unit| unit.told.diagnostics.iter().cloned()).chain(linked);
        result.take_diagnostics(said);
        result.cached_objects = count(self.plan.units.iter().filter(|unit| unit.hit.is_some()).count());
        if status == BuildStatus::Success {
            match self.place(target) {
                Ok(()) => {
                    SUCCESS.clone_into(&mut result.stdout);
                    result.artifacts = vec![format!("/workspace/{}", self.plan.output)];
                    self.keep_whole(&units, &result);
                }
                Err(fault) => {
                    result.status = BuildStatus::Failed;
                    result.stderr.push_str(&told(&fault));
                }
            }
        } else if let Some(why) = &verdict.message {
            result.stderr.push_str(why);
        }
        result
    }

    /// One source: what was said, and into the cache with its object.
    fn unit(&self, n: usize) -> Left {
        let Some(unit) = self.plan.units.get(n) else {
            return Left { told: Told::default(), pure: false };
        };
        if let Some(told) = &unit.hit {
            return Left { told: told.clone(), pure: true };
        }
        let text = self.text(&left(n, "txt"), MAX_TEXT_BYTES);
        let diagnostics = if text.is_empty() { Vec::new() } else { self.diagnostics(n, &text) };
        let well = self.text(&left(n, "status"), 16).trim() == "0";
        let system = if well && unit.key.is_some() { self.system_files(n) } else { None };
        let is_plain = self.take(&left(n, "asm"), 16).is_none();
        let mut found =
            Left { pure: system.is_some() && is_plain, told: Told { system: Vec::new(), text, diagnostics } };
        found.told.system = system.unwrap_or_default();
        if let (Some(key), true) = (unit.key, found.pure)
            && let Some(blob) = self.take(&left(n, "o"), MAX_BLOB_BYTES)
        {
            self.cache.put(Kind::Object, key, &Entry { told: found.told.clone(), blob });
        }
        found
    }

    fn diagnostics(&self, n: usize, text: &str) -> Vec<Diagnostic> {
        let name = |file: &str| self.name(file);
        let exact = self.text(&left(n, "exact"), MAX_LIST_BYTES);
        if self.plan.is_clang {
            return diagnostics_of_text(if exact.is_empty() { text } else { &exact }, &name);
        }
        gcc::diagnostics(&exact, &name).unwrap_or_else(|| diagnostics_of_text(text, &name))
    }

    /// How a file is told: one of the workspace by its path there.
    fn name(&self, file: &str) -> String {
        match self.within(file) {
            Some(path) => format!("/workspace/{path}"),
            None => file.to_owned(),
        }
    }

    /// The path in the workspace of a file that a compiler names.
    fn within(&self, file: &str) -> Option<String> {
        let path = match file.strip_prefix(self.home) {
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

    /// The files of the system that a source read, by content; none if it read anything that its key does not name.
    fn system_files(&self, n: usize) -> Option<Vec<(String, super::key::Key)>> {
        let list = self.text(&left(n, "d"), MAX_LIST_BYTES);
        let unit = self.plan.units.get(n)?;
        let mut system = BTreeSet::new();
        for file in depfile::files(&list) {
            match self.within(&file) {
                Some(path) if unit.reads.binary_search(&path).is_ok() => {}
                Some(_) => return None,
                None => _ = system.insert(file),
            }
        }
        if list.is_empty() { None } else { self.hashes(system) }
    }

    fn hashes(&self, files: BTreeSet<String>) -> Option<Vec<(String, super::key::Key)>> {
        let hash = |file: String| {
            let path = host_path(&file, self.binds)?;
            // One that was changed while this was compiled may not be what was read.
            if self.is_new(&path) {
                return None;
            }
            Some((file, self.files.hash(&path).ok()?))
        };
        files.into_iter().map(hash).collect()
    }

    fn is_new(&self, path: &PathBuf) -> bool {
        let began = UNIX_EPOCH + Duration::from_millis(self.began_at_ms);
        let written = std::fs::metadata(path).and_then(|meta| meta.modified());
        written.unwrap_or(SystemTime::now()) >= began
    }

    fn place(&self, target: &Workspace) -> Result<(), Fault> {
        let lost = || {
            Fault::new(headwater_contract::FaultKind::Conflict, "the linker left no binary")
                .hint("see what it printed")
        };
        let source = WorkspacePath::parse(&made(), self.home)?;
        let mut made = self.workspace.take(&source)?.ok_or_else(lost)?;
        let output = WorkspacePath::parse(&self.plan.output, self.home)?;
        Ok(target.put(&output, &mut made.file, true)?)
    }

    /// Keeps the binary, if nothing in it is unaccounted for.
    fn keep_whole(&self, units: &[Left], result: &BuildResult) {
        let Some(key) = self.plan.key.filter(|_| units.iter().all(|unit| unit.pure)) else {
            return;
        };
        let list = self.text(&format!("{OURS}/link.d"), MAX_LIST_BYTES);
        let mut libraries = BTreeSet::new();
        for file in depfile::files(&list) {
            match self.within(&file) {
                Some(path) if path.starts_with(OURS) => {}
                Some(_) => return,
                // What the compiler wrote for the linker a moment ago.
                None if file.starts_with("/tmp/") => {}
                None => _ = libraries.insert(file),
            }
        }
        if list.is_empty() {
            return;
        }
        let Some(mut system) = self.hashes(libraries) else { return };
        system.extend(units.iter().flat_map(|unit| unit.told.system.iter().cloned()));
        system.sort();
        system.dedup();
        if let Some(blob) = self.take(&made(), MAX_BLOB_BYTES) {
            let (text, diagnostics) = (result.stderr.clone(), result.diagnostics.clone());
            self.cache.put(Kind::Binary, key, &Entry { told: Told { system, text, diagnostics }, blob });
        }
    }
}

fn status(verdict: &Verdict) -> BuildStatus {
    match (verdict.reason, verdict.code) {
        (Reason::Exited, Some(0)) => BuildStatus::Success,
        (Reason::TimedOut, _) => BuildStatus::TimedOut,
        (Reason::Cancelled, _) => BuildStatus::Cancelled,
        (Reason::Lost, _) => BuildStatus::Lost,
        _ => BuildStatus::Failed,
    }
}

/// What is told of all messages, and whether some are missing.
fn cut(mut text: String) -> (String, bool) {
    // A text of one source may have been cut before.
    let mut is_cut = text.contains(MORE);
    if text.len() > MAX_STDERR_BYTES + MORE.len() {
        let at = text.floor_char_boundary(MAX_STDERR_BYTES);
        text.truncate(at);
        text.push_str(MORE);
        is_cut = true;
    }
    (text, is_cut)
}

fn told(fault: &Fault) -> String {
    fault.hint.as_ref().map_or_else(|| fault.message.clone(), |hint| format!("{}: {hint}", fault.message))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
