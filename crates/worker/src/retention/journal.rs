//! The journal of removed logs (`DIR/removed.jsonl`): when and why each was removed.
//!
//! A removal is recorded before the files are removed. So after a crash the next worker completes it, and later readers
//! get the reason instead of "does not exist". The newest entries are kept.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use headwater_protocol::{Execution, ExecutionId, Seq, Verdict, now_ms};
use serde::{Deserialize, Serialize};

use super::policy::Why;

/// Entries that are kept: about 8 MB of file and of memory.
const MAX_ENTRIES: usize = 20_000;

/// One removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The number of the removal, which increases.
    pub(crate) number: u64,
    pub(crate) id: ExecutionId,
    /// The name of the reason.
    pub(crate) reason: String,
    /// The time in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The verdict of the execution: a gateway that was not running may not have stored it.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) started_at_ms: u64,
    pub(crate) last_seq: Seq,
}

impl Entry {
    /// A removal now. The journal assigns the number.
    pub(super) fn new(execution: &Execution, why: Why) -> Self {
        Self {
            number: 0,
            id: execution.id,
            reason: why.name().to_owned(),
            at_ms: now_ms(),
            verdict: execution.state.verdict().cloned(),
            started_at_ms: execution.started_at_ms,
            last_seq: execution.last_seq,
        }
    }
}

/// The removals that are remembered, in memory and in a file.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Option<File>,
    entries: VecDeque<Entry>,
    numbers: HashMap<ExecutionId, u64>,
    /// Lines in the file, including entries that are no longer kept.
    lines: usize,
    last: u64,
}

impl Journal {
    /// Reads the journal. An incomplete last line belongs to a removal that had not begun.
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join("removed.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut journal = Self {
            path,
            file: None,
            entries: VecDeque::new(),
            numbers: HashMap::new(),
            lines: text.lines().count(),
            last: 0,
        };
        for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            journal.remember(entry);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            journal.rewrite();
        }
        journal
    }

    fn remember(&mut self, entry: Entry) {
        self.last = self.last.max(entry.number);
        self.numbers.insert(entry.id, entry.number);
        self.entries.push_back(entry);
        if self.entries.len() > MAX_ENTRIES
            && let Some(oldest) = self.entries.pop_front()
        {
            self.numbers.remove(&oldest.id);
        }
    }

    /// Records removals before they happen. On a full disk they are recorded in memory only: the removal frees space.
    pub(crate) fn add(&mut self, removed: impl IntoIterator<Item = Entry>) {
        let mut text = Vec::new();
        for entry in removed {
            let entry = Entry { number: self.last + 1, ..entry };
            // Serialising strings and numbers to memory does not fail.
            if serde_json::to_writer(&mut text, &entry).is_ok() {
                text.push(b'\n');
            }
            self.lines += 1;
            self.remember(entry);
        }
        if let Err(error) = self.append(&text) {
            tracing::warn!(%error, "cannot record removed logs in `removed.jsonl`");
            self.file = None;
        }
        if self.lines > 2 * MAX_ENTRIES {
            self.rewrite();
        }
    }

    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(options().append(true).open(&self.path)?),
        };
        file.write_all(text)
    }

    /// Rewrites the file with the entries that are kept.
    fn rewrite(&mut self) {
        let fresh = self.path.with_extension("jsonl.new");
        let written = (|| {
            let mut text = Vec::new();
            for entry in &self.entries {
                serde_json::to_writer(&mut text, entry)?;
                text.push(b'\n');
            }
            options().write(true).truncate(true).open(&fresh)?.write_all(&text)?;
            fs::rename(&fresh, &self.path)
        })();
        match written {
            Ok(()) => (self.file, self.lines) = (None, self.entries.len()),
            Err(error) => tracing::warn!(%error, "cannot rewrite `removed.jsonl`"),
        }
    }

    /// The removal of this log, if it was removed.
    pub(crate) fn of(&self, id: ExecutionId) -> Option<&Entry> {
        self.place(*self.numbers.get(&id)?).and_then(|place| self.entries.get(place))
    }

    /// The index of a number: entries are ordered by their numbers.
    fn place(&self, number: u64) -> Option<usize> {
        self.entries.binary_search_by_key(&number, |entry| entry.number).ok()
    }

    /// Up to `limit` removals after a number.
    pub(crate) fn after(&self, number: u64, limit: usize) -> Vec<Entry> {
        let from = self.entries.partition_point(|entry| entry.number <= number);
        self.entries.iter().skip(from).take(limit).cloned().collect()
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: ExecutionId) -> Entry {
        let (reason, verdict, last_seq) = ("age".to_owned(), None, Seq(1));
        Entry { number: 0, id, reason, at_ms: 7, verdict, started_at_ms: 1, last_seq }
    }

    #[test]
    fn noted_removals_are_known_to_the_next_worker_and_a_torn_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let ids = [ExecutionId::random(), ExecutionId::random()];
        Journal::open(folder.path()).add(ids.map(entry));
        let path = folder.path().join("removed.jsonl");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"number\":3,\"id\":");
        fs::write(&path, text).unwrap();
        let mut journal = Journal::open(folder.path());
        let reason = |journal: &Journal, id| journal.of(id).map(|entry| (entry.number, entry.at_ms));
        assert_eq!((reason(&journal, ids[0]), reason(&journal, ids[1])), (Some((1, 7)), Some((2, 7))));
        let third = ExecutionId::random();
        journal.add([entry(third)]);
        let journal = Journal::open(folder.path());
        assert_eq!(journal.after(1, 10).iter().map(|entry| entry.id).collect::<Vec<_>>(), [ids[1], third]);
        assert_eq!(journal.after(0, 1).len(), 1);
    }

    #[test]
    fn the_journal_keeps_the_newest_and_its_file_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path());
        let first = ExecutionId::random();
        journal.add([entry(first)]);
        for _ in 0..5 {
            journal.add((0..MAX_ENTRIES / 2).map(|_| entry(ExecutionId::random())));
        }
        assert!(journal.of(first).is_none() && journal.entries.len() == MAX_ENTRIES);
        let lines = fs::read_to_string(folder.path().join("removed.jsonl")).unwrap().lines().count();
        assert!(lines <= 2 * MAX_ENTRIES, "{lines}");
        assert_eq!(Journal::open(folder.path()).last, journal.last);
    }
}
