//! Reads the results of a build from the workspace of its session, returns them to the caller, and caches those that
//! depend on nothing but their key.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_contract::Fault;
use headwater_protocol::build::{BuildResult, BuildStatus, Diagnostic, SUCCESS, diagnostics_of_text};
use headwater_protocol::{Reason, Verdict};
use headwater_sandbox::wire::Bind;
use headwater_workspace::{Workspace, WorkspacePath};

use super::cache::{Cache, CompileOutput, Entry, Kind, MAX_BLOB_BYTES};
use super::driver::{output_path, unit_file};
use super::inputs::{BUILD_DIR, path_below};
use super::plan::Plan;
use super::system::{SystemFiles, host_path};
use super::{depfile, gcc};

/// The most bytes of one source's messages.
const MAX_TEXT_BYTES: u64 = 256 << 10;
/// The most bytes of all messages.
const MAX_STDERR_BYTES: usize = 256 << 10;
/// Ends a truncated text.
const TRUNCATED_NOTE: &str = "\n[more is in the log of the execution]\n";
/// The most bytes of a list of files, and of messages for programs.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// Collects the results of a build.
pub(crate) struct ResultCollector<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) workspace: &'a Workspace,
    /// The path of the workspace for the build.
    pub(crate) home: &'a str,
    pub(crate) binds: &'a [Bind],
    pub(crate) files: &'a SystemFiles,
    pub(crate) cache: &'a Cache,
    pub(crate) began_at_ms: u64,
}

/// The text of a file.
#[derive(Debug, Default)]
struct Text {
    text: String,
    truncated: bool,
}

/// The result of one source.
struct UnitResult {
    output: CompileOutput,
    /// Whether it depends on nothing but its key.
    pure: bool,
}

impl ResultCollector<'_> {
    fn read(&self, path: &str, most: u64) -> Option<Vec<u8>> {
        let path = WorkspacePath::parse(path, self.home).ok()?;
        self.workspace.read_limited(&path, most).ok().flatten()
    }

    /// The text of a file, truncated if it is too long.
    fn text(&self, path: &str, most: u64) -> Text {
        let Ok(path) = WorkspacePath::parse(path, self.home) else { return Text::default() };
        let Ok(Some(whole)) = self.workspace.open_whole(&path) else { return Text::default() };
        let mut bytes = Vec::new();
        let is_read = whole.file.take(most + 1).read_to_end(&mut bytes).is_ok();
        let truncated = bytes.len() as u64 > most;
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let text = if is_read { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() };
        Text { text: if truncated { text + TRUNCATED_NOTE } else { text }, truncated }
    }

    /// The result of the build; writes the binary to `target`. Blocks.
    pub(crate) fn collect(&self, verdict: &Verdict, target: &Workspace) -> BuildResult {
        let units: Vec<UnitResult> = (0..self.plan.units.len()).map(|n| self.unit(n)).collect();
        let link = self.text(&format!("{BUILD_DIR}/link.txt"), MAX_TEXT_BYTES);
        let status = status(verdict);
        let mut result = BuildResult::ended(status, "");
        let texts = units.iter().map(|unit| unit.output.text.as_str()).chain([link.text.as_str()]);
        result.stderr = texts.collect();
        result.truncated = limit_length(&mut result.stderr)
            || link.truncated
            || units.iter().any(|unit| unit.output.truncated);
        let linked = diagnostics_of_text(&link.text, &|file: &str| self.name(file));
        let diagnostics = units.iter().flat_map(|unit| unit.output.diagnostics.iter().cloned()).chain(linked);
        result.take_diagnostics(diagnostics);
        result.cached_objects = count(self.plan.units.iter().filter(|unit| unit.hit.is_some()).count());
        if status == BuildStatus::Success {
            match self.deliver(target) {
                Ok(()) => {
                    SUCCESS.clone_into(&mut result.stdout);
                    result.artifacts = vec![format!("/workspace/{}", self.plan.output)];
                    self.cache_binary(&units, &result);
                }
                Err(fault) => {
                    result.status = BuildStatus::Failed;
                    result.stderr.push_str(&message_of(&fault));
                }
            }
        } else if let Some(why) = &verdict.message {
            result.stderr.push_str(why);
        }
        result
    }

    /// The result of one source; caches its object.
    fn unit(&self, n: usize) -> UnitResult {
        let Some(unit) = self.plan.units.get(n) else {
            return UnitResult { output: CompileOutput::default(), pure: false };
        };
        if let Some(output) = &unit.hit {
            return UnitResult { output: output.clone(), pure: true };
        }
        let Text { text, truncated } = self.text(&unit_file(n, "txt"), MAX_TEXT_BYTES);
        let diagnostics = if text.is_empty() { Vec::new() } else { self.diagnostics(n, &text) };
        let succeeded = self.text(&unit_file(n, "status"), 16).text.trim() == "0";
        let system = if succeeded && unit.key.is_some() { self.system_files(n) } else { None };
        let is_plain = self.read(&unit_file(n, "asm"), 16).is_none();
        let mut found = UnitResult {
            pure: system.is_some() && is_plain,
            output: CompileOutput { system: Vec::new(), text, truncated, diagnostics },
        };
        found.output.system = system.unwrap_or_default();
        if let (Some(key), true) = (unit.key, found.pure)
            && let Some(blob) = self.read(&unit_file(n, "o"), MAX_BLOB_BYTES)
        {
            self.cache.put(Kind::Object, key, &Entry { output: found.output.clone(), blob });
        }
        found
    }

    fn diagnostics(&self, n: usize, text: &str) -> Vec<Diagnostic> {
        let name = |file: &str| self.name(file);
        let exact = self.text(&unit_file(n, "exact"), MAX_LIST_BYTES).text;
        if self.plan.is_clang {
            return diagnostics_of_text(if exact.is_empty() { text } else { &exact }, &name);
        }
        gcc::diagnostics(&exact, &name).unwrap_or_else(|| diagnostics_of_text(text, &name))
    }

    /// The name of a file for the user: a file of the workspace by its path there.
    fn name(&self, file: &str) -> String {
        match path_below(self.home, file) {
            Some(path) => format!("/workspace/{path}"),
            None => file.to_owned(),
        }
    }

    /// The system files that a source read, with their hashes; `None` if it read a file that its key does not include.
    fn system_files(&self, n: usize) -> Option<Vec<(String, super::key::Key)>> {
        let list = self.text(&unit_file(n, "d"), MAX_LIST_BYTES).text;
        let unit = self.plan.units.get(n)?;
        let mut system = BTreeSet::new();
        for file in depfile::files(&list) {
            match path_below(self.home, &file) {
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
            // A file that was changed during the build may not be the one that was read.
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

    fn deliver(&self, target: &Workspace) -> Result<(), Fault> {
        let lost = || {
            Fault::new(headwater_contract::FaultKind::Conflict, "the linker wrote no binary")
                .hint("see the messages of the linker")
        };
        let source = WorkspacePath::parse(&output_path(), self.home)?;
        let mut binary = self.workspace.open_whole(&source)?.ok_or_else(lost)?;
        let output = WorkspacePath::parse(&self.plan.output, self.home)?;
        Ok(target.write_from(&output, &mut binary.file, true)?)
    }

    /// Caches the binary, if everything in it is known.
    fn cache_binary(&self, units: &[UnitResult], result: &BuildResult) {
        let Some(key) = self.plan.key.filter(|_| units.iter().all(|unit| unit.pure)) else {
            return;
        };
        let list = self.text(&format!("{BUILD_DIR}/link.d"), MAX_LIST_BYTES).text;
        let mut libraries = BTreeSet::new();
        for file in depfile::files(&list) {
            match path_below(self.home, &file) {
                Some(path) if path.starts_with(BUILD_DIR) => {}
                Some(_) => return,
                // Temporary files that the compiler wrote for the linker.
                None if file.starts_with("/tmp/") => {}
                None => _ = libraries.insert(file),
            }
        }
        if list.is_empty() {
            return;
        }
        let Some(mut system) = self.hashes(libraries) else { return };
        system.extend(units.iter().flat_map(|unit| unit.output.system.iter().cloned()));
        system.sort();
        system.dedup();
        if let Some(blob) = self.read(&output_path(), MAX_BLOB_BYTES) {
            let (text, diagnostics) = (result.stderr.clone(), result.diagnostics.clone());
            self.cache.put(
                Kind::Binary,
                key,
                &Entry {
                    output: CompileOutput { system, text, truncated: result.truncated, diagnostics },
                    blob,
                },
            );
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

/// Limits the length of all messages; returns whether some are missing.
fn limit_length(text: &mut String) -> bool {
    let is_too_long = text.len() > MAX_STDERR_BYTES + TRUNCATED_NOTE.len();
    if is_too_long {
        text.truncate(text.floor_char_boundary(MAX_STDERR_BYTES));
        text.push_str(TRUNCATED_NOTE);
    }
    is_too_long
}

fn message_of(fault: &Fault) -> String {
    fault.hint.as_ref().map_or_else(|| fault.message.clone(), |hint| format!("{}: {hint}", fault.message))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
