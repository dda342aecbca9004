//! Searches a workspace: names by a glob, lines by a regular expression.
//!
//! The walk and the files come from the crate `workspace`: walkers of libraries open paths themselves, which programs of
//! the session could replace by links meanwhile.

mod budget;
mod ignored;
mod lines;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fs::File;
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::{Kind, MAX_DEPTH, WalkEntry, Workspace, WorkspacePath};

use self::budget::{Budget, CancellableReader, Stop};
use self::ignored::Ignored;
use self::lines::Lines;

/// The longest pattern.
const MAX_PATTERN_BYTES: usize = 1000;
/// The largest compiled pattern.
const MAX_REGEX_BYTES: usize = 4 << 20;
/// The most entries of a search.
const MAX_ENTRIES: u64 = 2_000_000;
/// The most files of a search by age, which are all listed first.
const MAX_SORTED_FILES: usize = 200_000;
/// The most matches of a search.
const MAX_MATCHES: u64 = 10_000;
/// The longest time of a search.
const MAX_SEARCH_TIME: Duration = Duration::from_mins(1);

/// A parsed search request.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the request")]
pub(crate) struct Search {
    top: WorkspacePath,
    name: Option<GlobMatcher>,
    /// Whether the glob applies to whole paths.
    by_path: bool,
    content: Option<RegexMatcher>,
    hidden: bool,
    gitignore: bool,
    newest_first: bool,
    first_match_only: bool,
    limit: u64,
    timeout: Duration,
}

impl Search {
    /// Parses the request.
    pub(crate) fn new(request: &v1::SearchRequest, top: WorkspacePath) -> Result<Self, Fault> {
        let invalid = |message: String, hint: &str| Fault::new(FaultKind::Invalid, message).hint(hint);
        let patterns = [&request.name, &request.content];
        if patterns.iter().all(|pattern| pattern.is_none()) {
            return Err(invalid("nothing to search for".into(), "give `name`, `content` or both"));
        }
        if patterns.into_iter().flatten().any(|pattern| pattern.len() > MAX_PATTERN_BYTES) {
            return Err(invalid(
                format!("a pattern has at most {MAX_PATTERN_BYTES} bytes"),
                "use a shorter pattern",
            ));
        }
        let name = request.name.as_deref().map(|glob| {
            let built = GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(request.ignore_case)
                .backslash_escape(true)
                .build();
            built.map_err(|error| invalid(error.to_string(), "for example `*.py` or `src/**/test_*`"))
        });
        let content = request.content.as_deref().map(|pattern| {
            let built = RegexMatcherBuilder::new()
                .case_insensitive(request.ignore_case)
                .line_terminator(Some(b'\n'))
                .size_limit(MAX_REGEX_BYTES)
                .dfa_size_limit(MAX_REGEX_BYTES)
                .build(pattern);
            built.map_err(|error| {
                invalid(
                    format!("`content`: {error}"),
                    "`content` must be a regular expression that matches within one line",
                )
            })
        });
        Ok(Self {
            top,
            by_path: request.name.as_ref().is_some_and(|glob| glob.contains('/')),
            name: name.transpose()?.map(|glob| glob.compile_matcher()),
            content: content.transpose()?,
            hidden: request.hidden,
            gitignore: request.gitignore,
            newest_first: request.newest_first,
            first_match_only: request.first_match_only,
            limit: request.limit.clamp(1, MAX_MATCHES),
            timeout: Duration::from_millis(request.timeout_ms).min(MAX_SEARCH_TIME),
        })
    }

    /// Searches; `tell` and `listens` return whether the caller is still connected.
    pub(crate) fn run(
        &self,
        workspace: &Workspace,
        tell: impl FnMut(v1::SearchMatch) -> bool,
        listens: impl Fn() -> bool,
    ) -> Result<v1::SearchSummary, Fault> {
        let deadline = Instant::now() + self.timeout;
        let stop = Cell::new(None);
        let budget = Budget { deadline, listens: &listens, stop: &stop };
        let mut run = Run { search: self, workspace, tell, budget, summary: v1::SearchSummary::default() };
        run.start()?;
        let stopped = match stop.get() {
            None => "",
            Some(Stop::Limit) => "limit",
            Some(Stop::Time) => "time",
            Some(Stop::Entries) => "entries",
            Some(Stop::Cancelled) => "gone",
        };
        Ok(v1::SearchSummary { stopped: stopped.to_owned(), ..run.summary })
    }

    fn names(&self, path: &WorkspacePath) -> bool {
        let Some(glob) = &self.name else { return true };
        if self.by_path {
            let names = path.names().get(self.top.names().len()..).unwrap_or_default();
            return glob.is_match(as_path(&names.join(&b'/')));
        }
        glob.is_match(as_path(path.name()))
    }
}

fn as_path(bytes: &[u8]) -> &std::path::Path {
    std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

struct Run<'a, T> {
    search: &'a Search,
    workspace: &'a Workspace,
    tell: T,
    budget: Budget<'a>,
    summary: v1::SearchSummary,
}

impl<T: FnMut(v1::SearchMatch) -> bool> Run<'_, T> {
    /// Searches the folder, or the one file that was named.
    fn start(&mut self) -> Result<(), Fault> {
        let top = &self.search.top;
        let entry = self.workspace.stat(top)?;
        if entry.kind == Kind::File {
            self.visit(&WalkEntry { path: top.clone(), entry });
            return Ok(());
        }
        let mut files = Vec::new();
        self.walk(&mut files)?;
        if !self.search.newest_first {
            return Ok(());
        }
        // The files that were listed are searched even if there are more.
        let cut = self.budget.stop.get() == Some(Stop::Entries);
        if cut {
            self.budget.stop.set(None);
        }
        // Stable: files of the same time stay in the order of their paths.
        files.sort_by_key(|(modified_ns, _)| std::cmp::Reverse(*modified_ns));
        for (_, step) in files {
            if !self.budget.goes_on() {
                break;
            }
            self.visit(&step);
        }
        if cut && self.budget.stop.get().is_none() {
            self.budget.stop.set(Some(Stop::Entries));
        }
        Ok(())
    }

    /// Visits the entries, or lists them for later if the newest come first.
    fn walk(&mut self, files: &mut Vec<(i128, WalkEntry)>) -> Result<(), Fault> {
        let mut walk = self.workspace.walk(&self.search.top, MAX_DEPTH, None)?;
        let mut ignored = Ignored::new(self.workspace, &self.search.top, self.search.gitignore);
        let mut entries = 0;
        while let Some(step) = walk.next() {
            entries += 1;
            if entries > MAX_ENTRIES {
                self.budget.stop.set(Some(Stop::Entries));
            }
            if !self.budget.goes_on() {
                return Ok(());
            }
            let is_folder = step.entry.kind == Kind::Folder;
            let hides = !self.search.hidden && step.path.name().starts_with(b".");
            if hides || ignored.is_ignored(&step.path, is_folder) {
                if is_folder {
                    walk.skip_folder(&step.path);
                }
                continue;
            }
            if !self.search.names(&step.path) {
                continue;
            }
            if !self.search.newest_first {
                self.visit(&step);
            } else if files.len() < MAX_SORTED_FILES {
                files.push((step.entry.modified_ns, step));
            } else {
                self.budget.stop.set(Some(Stop::Entries));
            }
        }
        Ok(())
    }

    fn visit(&mut self, step: &WalkEntry) {
        match &self.search.content {
            None => {
                let found = v1::SearchMatch {
                    path: step.path.bytes().into(),
                    kind: super::file_kind(step.entry.kind).into(),
                    ..v1::SearchMatch::default()
                };
                self.found(found);
            }
            Some(_) if step.entry.kind != Kind::File => {}
            Some(matcher) => {
                let Ok((file, _)) = self.workspace.open_file(&step.path) else {
                    self.summary.skipped += 1;
                    return;
                };
                self.summary.files += 1;
                let matcher = matcher.clone();
                let budget = Budget { ..self.budget };
                let only_first = self.search.first_match_only;
                let mut lines =
                    Lines::new(&matcher, step.path.bytes().into(), |found| self.found(found) && !only_first);
                let read = lines.search(CancellableReader { inner: File::from(file), budget });
                if !read {
                    self.summary.skipped += 1;
                }
            }
        }
    }

    /// Reports a match; returns whether to continue.
    fn found(&mut self, found: v1::SearchMatch) -> bool {
        if self.summary.matches >= self.search.limit {
            self.budget.stop.set(Some(Stop::Limit));
            return false;
        }
        self.summary.matches += 1;
        if !(self.tell)(found) {
            self.budget.stop.set(Some(Stop::Cancelled));
        }
        self.budget.goes_on()
    }
}
