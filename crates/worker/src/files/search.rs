//! Looking through a workspace: for names by a glob, for lines by a regular expression.
//!
//! The walk, and every file that is read, comes from the workspace's own helper: the walkers that come with the libraries open
//! paths themselves, which programs of the session could turn meanwhile.

mod ignored;
mod lines;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::{Kind, MAX_DEPTH, Step, Workspace, WorkspacePath};

use self::ignored::Ignored;
use self::lines::Lines;

/// Patterns are at most this long, ...
const MAX_PATTERN_BYTES: usize = 1000;
/// ... and so large when they are understood.
const MAX_REGEX_BYTES: usize = 4 << 20;
/// Things that are looked at.
const MAX_ENTRIES: u64 = 2_000_000;
/// Matches of one search.
const MAX_MATCHES: u64 = 10_000;
/// The longest that a search takes.
const MAX_TIME: Duration = Duration::from_mins(1);

/// Why a search ends before everything was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Limit,
    Time,
    Entries,
    /// Nobody waits for it any more.
    Gone,
}

/// A search.
#[derive(Debug)]
pub(crate) struct Search {
    top: WorkspacePath,
    name: Option<GlobMatcher>,
    /// The glob is for whole paths.
    by_path: bool,
    content: Option<RegexMatcher>,
    hidden: bool,
    gitignore: bool,
    limit: u64,
    timeout: Duration,
}

impl Search {
    /// Understands what is looked for.
    pub(crate) fn new(request: &v1::SearchRequest, top: WorkspacePath) -> Result<Self, Fault> {
        let invalid = |message: String, hint: &str| Fault::new(FaultKind::Invalid, message).hint(hint);
        let patterns = [&request.name, &request.content];
        if patterns.iter().all(|pattern| pattern.is_none()) {
            return Err(invalid("nothing to look for".into(), "give `name`, `content` or both"));
        }
        if patterns.into_iter().flatten().any(|pattern| pattern.len() > MAX_PATTERN_BYTES) {
            return Err(invalid(format!("a pattern has at most {MAX_PATTERN_BYTES} bytes"), "look for less"));
        }
        let name = request.name.as_deref().map(|glob| {
            let built = GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(request.ignore_case)
                .backslash_escape(true)
                .build();
            built.map_err(|error| {
                invalid(error.to_string(), "a glob is `*.py` or `src/**/test_*`, for example")
            })
        });
        let content = request.content.as_deref().map(|pattern| {
            let built = RegexMatcherBuilder::new()
                .case_insensitive(request.ignore_case)
                .line_terminator(Some(b'\n'))
                .size_limit(MAX_REGEX_BYTES)
                .dfa_size_limit(MAX_REGEX_BYTES)
                .build(pattern);
            built.map_err(|error| {
                invalid(format!("`content`: {error}"), "it is a regular expression for one line")
            })
        });
        Ok(Self {
            top,
            by_path: request.name.as_ref().is_some_and(|glob| glob.contains('/')),
            name: name.transpose()?.map(|glob| glob.compile_matcher()),
            content: content.transpose()?,
            hidden: request.hidden,
            gitignore: request.gitignore,
            limit: request.limit.clamp(1, MAX_MATCHES),
            timeout: Duration::from_millis(request.timeout_ms).min(MAX_TIME),
        })
    }

    /// Searches; `tell` answers whether somebody still listens, and so does `listens`.
    pub(crate) fn run(
        &self,
        workspace: &Workspace,
        tell: impl FnMut(v1::SearchMatch) -> bool,
        listens: impl Fn() -> bool,
    ) -> Result<v1::SearchSummary, Fault> {
        let deadline = Instant::now() + self.timeout;
        let stop = Cell::new(None);
        let watch = Watch { deadline, listens: &listens, stop: &stop };
        let mut run = Run { search: self, workspace, tell, watch, summary: v1::SearchSummary::default() };
        run.walk()?;
        let stopped = match stop.get() {
            None => "",
            Some(Stop::Limit) => "limit",
            Some(Stop::Time) => "time",
            Some(Stop::Entries) => "entries",
            Some(Stop::Gone) => "gone",
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

/// Whether the search is to go on.
struct Watch<'a> {
    deadline: Instant,
    listens: &'a dyn Fn() -> bool,
    stop: &'a Cell<Option<Stop>>,
}

impl Watch<'_> {
    fn goes_on(&self) -> bool {
        if self.stop.get().is_none() {
            if Instant::now() >= self.deadline {
                self.stop.set(Some(Stop::Time));
            } else if !(self.listens)() {
                self.stop.set(Some(Stop::Gone));
            }
        }
        self.stop.get().is_none()
    }
}

struct Run<'a, T> {
    search: &'a Search,
    workspace: &'a Workspace,
    tell: T,
    watch: Watch<'a>,
    summary: v1::SearchSummary,
}

impl<T: FnMut(v1::SearchMatch) -> bool> Run<'_, T> {
    fn walk(&mut self) -> Result<(), Fault> {
        let mut walk = self.workspace.walk(&self.search.top, MAX_DEPTH, None)?;
        let mut ignored = Ignored::new(self.workspace, &self.search.top, self.search.gitignore);
        let mut entries = 0;
        while let Some(step) = walk.next() {
            entries += 1;
            if entries > MAX_ENTRIES {
                self.watch.stop.set(Some(Stop::Entries));
            }
            if !self.watch.goes_on() {
                return Ok(());
            }
            let is_folder = step.entry.kind == Kind::Folder;
            let hides = !self.search.hidden && step.path.name().starts_with(b".");
            if hides || ignored.is_ignored(&step.path, is_folder) {
                if is_folder {
                    walk.leave_out(&step.path);
                }
                continue;
            }
            if self.search.names(&step.path) {
                self.look(&step);
            }
        }
        Ok(())
    }

    fn look(&mut self, step: &Step) {
        match &self.search.content {
            None => {
                let found = v1::SearchMatch {
                    path: step.path.bytes().into(),
                    kind: super::node_kind(step.entry.kind).into(),
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
                let watch = Watch { ..self.watch };
                let mut lines = Lines::new(&matcher, step.path.bytes().into(), |found| self.found(found));
                let read = lines.search(Checked { inner: File::from(file), watch });
                if !read {
                    self.summary.skipped += 1;
                }
            }
        }
    }

    /// Tells of a match; answers whether to go on.
    fn found(&mut self, found: v1::SearchMatch) -> bool {
        if self.summary.matches >= self.search.limit {
            self.watch.stop.set(Some(Stop::Limit));
            return false;
        }
        self.summary.matches += 1;
        if !(self.tell)(found) {
            self.watch.stop.set(Some(Stop::Gone));
        }
        self.watch.goes_on()
    }
}

/// A file that is read only as long as the search is to go on.
struct Checked<'a> {
    inner: File,
    watch: Watch<'a>,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.watch.goes_on() {
            return Err(io::Error::other("the search has ended"));
        }
        self.inner.read(buffer)
    }
}
