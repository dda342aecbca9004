//! Changes that wait to be sent, in order; changes of one path in short succession are merged.

use std::collections::{HashMap, VecDeque};

use headwater_contract::v1::{Change, ChangeType, FileKind};

/// The maximum number of pending changes. If there are more, they are dropped and an overflow is reported.
const MAX_PENDING_CHANGES: usize = 4096;

/// Pending changes.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The changes; `None` for one that was undone.
    waiting: VecDeque<Option<Change>>,
    /// The number of the last change of each path.
    last: HashMap<Vec<u8>, usize>,
    /// The number of the first change in `waiting`.
    first: usize,
    /// How many changes in `waiting` are not undone.
    live: usize,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// An entry was created, changed or removed.
    pub(crate) fn add(&mut self, change: ChangeType, path: &[u8], kind: FileKind) {
        use ChangeType::{Created, Modified, Removed};
        let before = self.last.get(path).copied();
        let slot = before.and_then(|n| self.waiting.get_mut(n.checked_sub(self.first)?));
        let Some(slot) = slot else { return self.push(change, path, kind, &[]) };
        let was = slot.as_ref().map(Change::r#type);
        let now = match (was, change) {
            (Some(Created), Modified) => Some(Created),
            (Some(Created), Removed) => None,
            (Some(Removed), Created) | (Some(Modified), Modified) => Some(Modified),
            (Some(Modified), Removed) => Some(Removed),
            _ => return self.push(change, path, kind, &[]),
        };
        if let Some(now) = now {
            if let Some(change) = slot {
                change.set_type(now);
                change.set_kind(kind);
            }
            return;
        }
        *slot = None;
        self.live -= 1;
        self.last.remove(path);
        if self.live == 0 {
            *self = Self::default();
        }
    }

    /// An entry was moved. Later changes of either path are not merged with earlier ones.
    pub(crate) fn moved(&mut self, from: &[u8], to: &[u8], kind: FileKind) {
        self.last.clear(); // also for the content of a folder
        self.push(ChangeType::Moved, to, kind, from);
        self.last.remove(to);
    }

    /// A change that concerns everything, or a folder.
    pub(crate) fn announce(&mut self, change: ChangeType, path: &[u8]) {
        self.push(change, path, FileKind::Folder, &[]);
        self.last.remove(path);
    }

    fn push(&mut self, change: ChangeType, path: &[u8], kind: FileKind, from: &[u8]) {
        // Undone changes use memory, too, until their turn to be sent.
        if self.live >= MAX_PENDING_CHANGES || self.waiting.len() >= 4 * MAX_PENDING_CHANGES {
            return self.overflow();
        }
        self.last.insert(path.to_vec(), self.first + self.waiting.len());
        let (path, from) = (path.to_vec().into(), from.to_vec().into());
        self.waiting.push_back(Some(Change { r#type: change.into(), path, kind: kind.into(), from }));
        self.live += 1;
    }

    /// Drops all pending changes and asks the reader to list the folder again.
    pub(crate) fn overflow(&mut self) {
        *self = Self::default();
        self.push(ChangeType::Overflow, &[], FileKind::Folder, &[]);
        self.push(ChangeType::Rescan, &[], FileKind::Folder, &[]);
        self.last.clear();
    }

    /// Takes the first changes.
    pub(crate) fn take(&mut self, at_most: usize) -> Vec<Change> {
        let mut taken = Vec::new();
        while taken.len() < at_most {
            let Some(change) = self.waiting.pop_front() else { break };
            self.first += 1;
            taken.extend(change);
        }
        self.live -= taken.len();
        if self.live == 0 {
            *self = Self::default();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pending: &mut Pending) -> Vec<(ChangeType, String)> {
        let text = |change: &Change| String::from_utf8(change.path.to_vec()).unwrap();
        pending.take(usize::MAX).iter().map(|change| (change.r#type(), text(change))).collect()
    }

    #[test]
    fn quick_changes_of_one_path_are_one_change() {
        use ChangeType::{Created, Modified, Moved, Removed};
        let mut pending = Pending::default();
        for (change, path) in [
            (Created, "new"),
            (Modified, "new"),
            (Modified, "new"),
            (Created, "short-lived"),
            (Modified, "short-lived"),
            (Removed, "short-lived"),
            (Modified, "old"),
            (Modified, "old"),
            (Removed, "replaced"),
            (Created, "replaced"),
            (Modified, "replaced"),
            (Modified, "gone"),
            (Removed, "gone"),
        ] {
            pending.add(change, path.as_bytes(), FileKind::File);
        }
        pending.moved(b"old", b"young", FileKind::File);
        pending.add(Modified, b"young", FileKind::File);
        pending.add(Created, b"old", FileKind::File);
        let expected = [
            (Created, "new"),
            (Modified, "old"),
            (Modified, "replaced"),
            (Removed, "gone"),
            (Moved, "young"),
            (Modified, "young"),
            (Created, "old"),
        ];
        assert_eq!(taken(&mut pending), expected.map(|(change, path)| (change, path.to_owned())));
        assert!(pending.is_empty());
    }

    #[test]
    fn more_than_can_be_kept_is_said_to_be_missing() {
        let mut pending = Pending::default();
        for n in 0..=MAX_PENDING_CHANGES {
            pending.add(ChangeType::Created, format!("f{n}").as_bytes(), FileKind::File);
        }
        let first = taken(&mut pending);
        assert_eq!(first, [(ChangeType::Overflow, String::new()), (ChangeType::Rescan, String::new())]);
        pending.add(ChangeType::Created, b"after", FileKind::File);
        assert!(!pending.is_empty());
    }

    #[test]
    fn taken_changes_are_final() {
        let mut pending = Pending::default();
        pending.add(ChangeType::Created, b"a", FileKind::File);
        pending.add(ChangeType::Created, b"b", FileKind::File);
        assert_eq!(pending.take(1).len(), 1);
        pending.add(ChangeType::Modified, b"a", FileKind::File);
        pending.add(ChangeType::Modified, b"b", FileKind::File);
        let expected = [(ChangeType::Created, "b".to_owned()), (ChangeType::Modified, "a".to_owned())];
        assert_eq!(taken(&mut pending), expected);
    }
}
