//! Journals that are interrupted at every point, by a crash and by programs.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use super::*;

/// A workspace and the slots beside it.
struct Bench {
    ground: Ground,
    workspace: Workspace,
    slots: Workspace,
    bytes: StagedBytes,
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text, "/workspace").unwrap()
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let ground = Ground::new();
        fs::create_dir(ground.at("slots")).unwrap();
        for (name, text) in files {
            ground.save(name, text).unwrap();
        }
        let open = |name| Workspace::open(&ground.at(name), None).unwrap();
        let (workspace, slots) = (open("workspace"), open("slots"));
        let bytes = StagedBytes::create(&ground.at("slots")).unwrap();
        Self { ground, workspace, slots, bytes }
    }

    fn staged(&self) -> Staged<'_> {
        Staged { slots: &self.slots, bytes: Some(&self.bytes) }
    }

    /// What another worker finds.
    fn found(&self) -> StagedBytes {
        StagedBytes::open(&self.ground.at("slots")).unwrap().unwrap()
    }

    fn content(&mut self, text: &str) -> Span {
        let mut content = self.bytes.begin();
        for part in text.as_bytes().chunks(3) {
            self.bytes.add(&mut content, part).unwrap();
        }
        content
    }

    fn rewrite(&mut self, name: &str, text: &str) -> Step {
        let (file, there) = self.workspace.open_to_rewrite(&path(name)).unwrap();
        let old = self.bytes.keep(&file, there.size).unwrap();
        Step::Rewrite { path: path(name), content: self.content(text), old, was: FileIdentity::from(&there) }
    }

    fn stage(&self, slot: u32, text: &str) -> u64 {
        write_to(self.slots.create_slot(slot).unwrap(), text.as_bytes()).unwrap();
        self.slots.finish_slot(slot, 0o640).unwrap()
    }

    fn identity(&self, name: &str) -> FileIdentity {
        FileIdentity::from(&self.workspace.stat(&path(name)).unwrap())
    }

    fn inode(&self, name: &str) -> u64 {
        self.workspace.stat(&path(name)).unwrap().inode
    }

    /// Everything in the workspace: text, mode and number of hard links of files; folders are empty.
    fn state(&self) -> BTreeMap<String, (String, u32, u64)> {
        fn add(folder: &Path, top: &Path, all: &mut BTreeMap<String, (String, u32, u64)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let (path, meta) = (entry.path(), entry.metadata().unwrap());
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
                if meta.is_dir() {
                    all.insert(name + "/", (String::new(), 0, 0));
                    add(&path, top, all);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    all.insert(name, (text, meta.permissions().mode() & 0o777, meta.nlink()));
                }
            }
        }
        let mut all = BTreeMap::new();
        add(&self.ground.at("workspace"), &self.ground.at("workspace"), &mut all);
        all
    }
}

/// Every kind of step, and combinations that depend on each other.
fn every_kind() -> (Bench, Journal) {
    let mut bench = Bench::new(&[
        ("kept", "kept"),
        ("longer", "short"),
        ("shorter", "a long text"),
        ("replaced", "old"),
        ("removed", "removed"),
        ("moved", "moved"),
        ("from", "moved over another"),
        ("over", "replaced by a move"),
        ("becomes/old", "deep"),
        ("file", "becomes a folder"),
    ]);
    for (name, mode) in [("moved", 0o755), ("replaced", 0o600), ("over", 0o444)] {
        fs::set_permissions(bench.ground.at("workspace").join(name), fs::Permissions::from_mode(mode))
            .unwrap();
    }
    let steps = vec![
        Step::Take { path: path("removed"), slot: 0, was: bench.identity("removed") },
        Step::Take { path: path("file"), slot: 1, was: bench.identity("file") },
        Step::Take { path: path("moved"), slot: 2, was: bench.identity("moved") },
        Step::MakeFolder { path: path("new") },
        Step::MakeFolder { path: path("new/deep") },
        Step::Put { slot: 2, path: path("new/deep/moved"), inode: bench.inode("moved") },
        Step::Take { path: path("from"), slot: 3, was: bench.identity("from") },
        Step::Replace {
            slot: 3,
            path: path("over"),
            inode: bench.inode("from"),
            was: bench.identity("over"),
        },
        Step::Replace {
            slot: 4,
            path: path("replaced"),
            inode: bench.stage(4, "new"),
            was: bench.identity("replaced"),
        },
        Step::MakeFolder { path: path("file") },
        Step::Put { slot: 5, path: path("file/inside"), inode: bench.stage(5, "created") },
        bench.rewrite("longer", "a longer text"),
        Step::Create { path: path("new/bulk"), content: bench.content("created from bytes"), mode: 0o640 },
        bench.rewrite("shorter", "short"),
        Step::Create { path: path("empty"), content: bench.content(""), mode: 0o644 },
    ];
    (bench, Journal::new(steps))
}

/// Goes on this many times.
fn times(n: usize) -> impl Fn() -> bool {
    let left = Cell::new(n);
    move || {
        let goes_on = left.get() > 0;
        left.set(left.get().saturating_sub(1));
        goes_on
    }
}

#[test]
fn a_journal_carries_out_every_step() {
    let (bench, journal) = every_kind();
    journal.apply(&bench.workspace, bench.staged(), &|| true).unwrap();
    let file = |text: &str, mode| (text.to_owned(), mode, 1);
    let mut expected: BTreeMap<String, _> = [
        ("kept", file("kept", 0o644)),
        ("replaced", file("new", 0o640)),
        ("new/deep/moved", file("moved", 0o755)),
        ("over", file("moved over another", 0o644)),
        ("becomes/old", file("deep", 0o644)),
        ("file/inside", file("created", 0o640)),
        ("longer", file("a longer text", 0o644)),
        ("shorter", file("short", 0o644)),
        ("new/bulk", file("created from bytes", 0o640)),
        ("empty", file("", 0o644)),
    ]
    .map(|(name, file)| (name.to_owned(), file))
    .into();
    // Until the slots are removed, replaced files have a second name there.
    for folder in ["new/", "new/deep/", "becomes/", "file/"] {
        expected.insert(folder.to_owned(), (String::new(), 0, 0));
    }
    assert_eq!(bench.state(), expected);
}

#[test]
fn a_crash_before_any_step_leaves_what_undoing_restores() {
    let mut interrupted = 0;
    for stop in 0.. {
        let (bench, journal) = every_kind();
        let before = bench.state();
        if journal.apply(&bench.workspace, bench.staged(), &times(stop)).is_ok() {
            break;
        }
        interrupted += 1;
        // The next worker knows only what is on the disk.
        let journal = Journal::decode(&journal.encode().unwrap()).unwrap();
        let found = bench.found();
        journal.undo(&bench.workspace, Staged { slots: &bench.slots, bytes: Some(&found) }).unwrap();
        tree::remove(&bench.ground.at("slots")).unwrap();
        assert_eq!(bench.state(), before, "stopped before change {stop}");
        assert!(bench.ground.outside_is_untouched());
    }
    assert!(interrupted >= 23, "every step and each part of a replacement: {interrupted}");
}

#[test]
fn undoing_can_be_interrupted_at_every_point_and_begun_again() {
    let (bench, journal) = every_kind();
    journal.apply(&bench.workspace, bench.staged(), &|| true).unwrap();
    drop(bench);
    for applied in [3, 8, 11, 19, usize::MAX] {
        for stop in 0.. {
            let (bench, journal) = every_kind();
            let before = bench.state();
            let _ = journal.apply(&bench.workspace, bench.staged(), &times(applied));
            let is_done = journal.undo_while(&bench.workspace, bench.staged(), &times(stop)).is_ok();
            journal.undo(&bench.workspace, bench.staged()).unwrap();
            tree::remove(&bench.ground.at("slots")).unwrap();
            assert_eq!(bench.state(), before, "{applied} changes, undoing stopped after {stop}");
            if is_done {
                break;
            }
        }
    }
}

#[test]
fn a_file_that_a_program_changes_after_the_check_stops_the_journal() {
    for name in ["removed", "replaced", "from", "over", "longer", "shorter"] {
        let (bench, journal) = every_kind();
        fs::remove_file(bench.ground.at("workspace").join(name)).unwrap();
        fs::write(bench.ground.at("workspace").join(name), "by a program").unwrap();
        let before = bench.state();
        let error = journal.apply(&bench.workspace, bench.staged(), &|| true).unwrap_err();
        assert!(matches!(error, WorkspaceError::Changed { .. }), "{name}: {error}");
        journal.undo(&bench.workspace, bench.staged()).unwrap();
        tree::remove(&bench.ground.at("slots")).unwrap();
        assert_eq!(bench.state(), before, "{name}");
    }
}

#[test]
fn a_new_file_does_not_replace_one_that_a_program_created_meanwhile() {
    let bench = Bench::new(&[("a", "a")]);
    let inode = bench.stage(0, "new");
    let journal = Journal::new(vec![
        Step::Take { path: path("a"), slot: 1, was: bench.identity("a") },
        Step::Put { slot: 0, path: path("b"), inode },
    ]);
    fs::write(bench.ground.at("workspace/b"), "by a program").unwrap();
    let before = bench.state();
    let error = journal.apply(&bench.workspace, bench.staged(), &|| true).unwrap_err();
    assert!(matches!(error, WorkspaceError::Changed { .. }), "{error}");
    journal.undo(&bench.workspace, bench.staged()).unwrap();
    assert_eq!(bench.state(), before);
}

#[test]
fn undoing_leaves_what_programs_put_in_the_place_of_rewritten_and_created_files() {
    let (bench, journal) = every_kind();
    journal.apply(&bench.workspace, bench.staged(), &|| true).unwrap();
    let at = |name: &str| bench.ground.at("workspace").join(name);
    fs::write(at("new/bulk"), "changed by a program").unwrap();
    fs::rename(at("kept"), at("longer")).unwrap();
    fs::remove_file(at("shorter")).unwrap();
    journal.undo(&bench.workspace, bench.staged()).unwrap();
    let state = bench.state();
    assert_eq!(state["new/bulk"].0, "changed by a program");
    assert_eq!((state["longer"].0.as_str(), state.contains_key("shorter")), ("kept", false));
    assert!(!state.contains_key("empty"), "what was not touched is removed: {state:?}");
}

#[test]
fn a_restart_of_the_host_that_lost_the_marks_is_undone_too() {
    for stop in [16, 19, 21, usize::MAX] {
        let (bench, journal) = every_kind();
        let before = bench.state();
        let _ = journal.apply(&bench.workspace, bench.staged(), &times(stop));
        fs::write(bench.ground.at("slots/progress"), "").unwrap();
        let journal = journal.after_a_restart_of_the_host();
        journal.undo(&bench.workspace, bench.staged()).unwrap();
        tree::remove(&bench.ground.at("slots")).unwrap();
        assert_eq!(bench.state(), before, "stopped before change {stop}");
    }
}

#[test]
fn a_journal_follows_no_link() {
    let mut bench = Bench::new(&[("a", "a")]);
    symlink(bench.ground.at("outside"), bench.ground.at("workspace/link")).unwrap();
    let inode = bench.stage(0, "new");
    for target in ["link/new", "link/canary"] {
        let journal = Journal::new(vec![Step::Put { slot: 0, path: path(target), inode }]);
        assert!(journal.apply(&bench.workspace, bench.staged(), &|| true).is_err(), "{target}");
        journal.undo(&bench.workspace, bench.staged()).unwrap();
    }
    let content = bench.content("new");
    let journal = Journal::new(vec![Step::Create { path: path("link/new"), content, mode: 0o644 }]);
    assert!(journal.apply(&bench.workspace, bench.staged(), &|| true).is_err());
    symlink(bench.ground.at("outside/canary"), bench.ground.at("workspace/canary")).unwrap();
    let was = bench.identity("a");
    let old = content;
    let journal = Journal::new(vec![Step::Rewrite { path: path("canary"), content, old, was }]);
    assert!(journal.apply(&bench.workspace, bench.staged(), &|| true).is_err());
    let journal = journal.after_a_restart_of_the_host();
    journal.undo(&bench.workspace, bench.staged()).unwrap();
    let journal = Journal::new(vec![Step::MakeFolder { path: path("link/folder") }]);
    assert!(journal.apply(&bench.workspace, bench.staged(), &|| true).is_err());
    assert!(bench.ground.outside_is_untouched());
}

#[test]
fn slots_are_in_the_workspace_if_it_is_on_another_mount() {
    let bench = Bench::new(&[]);
    assert!(bench.workspace.shares_mount(&bench.slots).unwrap());
    let elsewhere = Workspace::open(Path::new("/proc"), None).unwrap();
    assert!(!bench.workspace.shares_mount(&elsewhere).unwrap());
    let name = Workspace::hidden_slots_name();
    assert!(is_hidden_name(name.as_bytes()));
    let slots = bench.workspace.create_hidden_slots(&name).unwrap();
    write_to(slots.create_slot(0).unwrap(), b"new").unwrap();
    let inode = slots.finish_slot(0, 0o644).unwrap();
    let journal = Journal::new(vec![Step::Put { slot: 0, path: path("b"), inode }]);
    journal.apply(&bench.workspace, Staged { slots: &slots, bytes: None }, &|| true).unwrap();
    bench.workspace.remove_hidden_slots(&name).unwrap();
    bench.workspace.remove_hidden_slots(&name).unwrap(); // a missing one is not an error
    assert_eq!(bench.state().into_keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn an_unknown_journal_is_refused() {
    let (_, journal) = every_kind();
    let mut bytes = journal.encode().unwrap();
    assert_eq!(Journal::decode(&bytes).unwrap(), journal);
    assert!(Journal::decode(&bytes[..bytes.len() - 1]).is_err());
    bytes[0] = 99;
    assert!(Journal::decode(&bytes).is_err());
    assert!(Journal::decode(b"").is_err());
}
