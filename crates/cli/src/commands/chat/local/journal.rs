//! The log of a conversation in a file: a line for each append, with all its entries as a JSON array. So an append is there
//! whole or not at all: a line that a `kill -9` has cut off is removed when the file is opened next.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use headwater_agent::{Decide, Journal, JournalError};
use headwater_protocol::conversation::{Conversation, ConversationId, LogEntry};
use headwater_protocol::now_ms;
use tokio::sync::watch;

use crate::error::{CommandError, ErrorKind};

/// A log, and the conversation that it makes.
#[derive(Debug)]
pub struct FileJournal {
    id: ConversationId,
    conversation: Arc<RwLock<Conversation>>,
    /// One append at a time.
    written: Mutex<Written>,
    last: watch::Sender<u64>,
}

#[derive(Debug)]
struct Written {
    file: File,
    /// The length of what is valid.
    length: u64,
    entries: Vec<LogEntry>,
}

impl FileJournal {
    /// Opens a log, or begins one. Nobody else can open it until this one is gone.
    pub fn open(id: ConversationId, path: &Path) -> Result<Self, CommandError> {
        let failed = |error: std::io::Error| {
            CommandError::internal(format!("the log `{}` cannot be opened: {error}", path.display()))
        };
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        let mut file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(&id)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let (entries, length) = whole_lines(&text).map_err(|line| {
            CommandError::internal(format!("line {line} of `{}` is not a part of a log", path.display()))
        })?;
        if length < text.len() as u64 {
            file.set_len(length).map_err(failed)?;
            file.seek(SeekFrom::End(0)).map_err(failed)?;
        }
        let conversation = Conversation::of(&entries);
        let last = watch::Sender::new(conversation.last_seq);
        let written = Mutex::new(Written { file, length, entries });
        Ok(Self { id, conversation: Arc::new(RwLock::new(conversation)), written, last })
    }

    /// The entries after this one.
    pub fn after(&self, seq: u64) -> Vec<LogEntry> {
        let written = self.written();
        let from = written.entries.partition_point(|entry| entry.seq <= seq);
        written.entries.get(from..).unwrap_or_default().to_vec()
    }

    /// Reads the conversation as it is.
    pub fn read<T>(&self, reader: impl FnOnce(&Conversation) -> T) -> T {
        reader(&self.conversation.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, decide: Decide) -> Result<Vec<LogEntry>, JournalError> {
        let mut written = self.written();
        let (events, first) = self.read(|now| (decide(now), now.last_seq + 1));
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let at_ms = now_ms();
        let entry = |(seq, event)| LogEntry { seq, at_ms, event };
        let entries: Vec<LogEntry> = (first..).zip(events).map(entry).collect();
        let mut line = serde_json::to_vec(&entries).map_err(|error| JournalError(error.to_string()))?;
        line.push(b'\n');
        written.append(&line).map_err(|error| JournalError(error.to_string()))?;
        written.entries.extend(entries.iter().cloned());
        {
            let mut now = self.conversation.write().unwrap_or_else(PoisonError::into_inner);
            for entry in &entries {
                now.apply(entry);
            }
        }
        drop(written);
        self.last.send_replace(first + entries.len() as u64 - 1);
        Ok(entries)
    }
}

impl Written {
    /// Writes a line; if it does not fit on the disk, nothing of it stays.
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

fn in_use(id: &ConversationId) -> CommandError {
    CommandError::new(
        ErrorKind::Refused,
        format!("the conversation {id} is open in another `headwater chat`"),
    )
    .hint("leave it there first, or begin another one")
}

/// The entries of all lines that end, and the length of these lines; or the number of a line that is not valid.
fn whole_lines(text: &[u8]) -> Result<(Vec<LogEntry>, u64), usize> {
    let length = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut all = Vec::new();
    for (at, line) in
        text[..length].split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
    {
        let entries: Vec<LogEntry> = serde_json::from_slice(line).map_err(|_| at + 1)?;
        all.extend(entries);
    }
    Ok((all, length as u64))
}

#[async_trait]
impl Journal for FileJournal {
    fn id(&self) -> &ConversationId {
        &self.id
    }

    async fn update(&self, decide: Decide) -> Result<Vec<LogEntry>, JournalError> {
        self.append_now(decide)
    }

    fn conversation(&self) -> &Arc<RwLock<Conversation>> {
        &self.conversation
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::conversation::{ConversationEvent, TitleSource};

    use super::*;

    fn titled(title: &str) -> ConversationEvent {
        ConversationEvent::TitleChanged { title: title.to_owned(), source: TitleSource::Person }
    }

    /// Opens a log that was closed. A program that another test starts at that moment has the lock until its exec.
    fn reopened(path: &Path) -> FileJournal {
        for _ in 0..1000 {
            match FileJournal::open("c".parse().unwrap(), path) {
                Err(error) if error.message.contains("open in another") => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                opened => return opened.unwrap(),
            }
        }
        panic!("the log stays open");
    }

    #[tokio::test]
    async fn an_append_that_was_cut_off_is_gone_and_the_log_goes_on_after_the_last_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let open = || FileJournal::open("c".parse().unwrap(), &path);
        let journal = open().unwrap();
        journal.append(vec![titled("one")]).await.unwrap();
        let whole = std::fs::read(&path).unwrap();
        journal.append(vec![titled("two"), titled("three")]).await.unwrap();
        assert!(open().unwrap_err().message.contains("open in another"));
        drop(journal);
        let text = std::fs::read(&path).unwrap();
        for cut in whole.len()..text.len() {
            std::fs::write(&path, &text[..cut]).unwrap();
            let journal = reopened(&path);
            assert_eq!(journal.after(0).len(), 1, "all of it or nothing: {cut}");
            journal.append(vec![titled("next")]).await.unwrap();
            drop(journal);
            let again = reopened(&path);
            assert_eq!(
                (again.after(1)[0].seq, again.read(|now| now.title.clone())),
                (2, Some("next".into()))
            );
        }
    }

    #[test]
    fn a_file_that_is_no_log_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "[]\nhello\n").unwrap();
        let error = FileJournal::open("c".parse().unwrap(), &path).unwrap_err();
        assert!(error.message.contains("line 2"), "{error:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[]\nhello\n");
    }
}
