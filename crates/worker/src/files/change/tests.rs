//! Changes that are killed at every point, and changes that are refused.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};

use headwater_workspace::{Expect, WorkspacePath, staging_root, write_to};
use tempfile::TempDir;

use super::draft::{Change, ChangeKind, NewContent};
use super::plan::Planner;
use super::*;
use crate::files::snapshots;
use crate::layout;

/// The folder of a session with a workspace.
struct Session(TempDir);

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text, "/workspace").unwrap()
}

impl Session {
    fn new(files: &[(&str, &str)]) -> Self {
        let session = Self(tempfile::tempdir().unwrap());
        fs::create_dir(layout::workspace(session.0.path())).unwrap();
        for (name, text) in files {
            session.workspace().save(&path(name), text.as_bytes()).unwrap();
        }
        session
    }

    fn workspace(&self) -> Workspace {
        Workspace::open(&layout::workspace(self.0.path()), None).unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        layout::workspace(self.0.path()).join(name)
    }

    fn stage(&self, inside: bool) -> Stage {
        let dir = StagingDir::new(self.0.path()).unwrap();
        if inside {
            return Stage::inside(&self.workspace(), dir).unwrap();
        }
        let slots = self.workspace().staged_tree(&dir, SLOTS_NAME).unwrap();
        Stage { dir: Some(dir), slots, bytes: None, hidden: None }
    }

    fn etag(&self, name: &str) -> Expect {
        Expect::Tags(vec![self.workspace().stat(&path(name)).unwrap().etag()])
    }

    /// Everything in the workspace, with texts and modes.
    fn state(&self) -> BTreeMap<PathBuf, (String, u32)> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.at("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let (path, meta) = (entry.path(), entry.metadata().unwrap());
                let text = if meta.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
                all.insert(path.clone(), (text, meta.permissions().mode()));
                if meta.is_dir() {
                    folders.push(path);
                }
            }
        }
        all
    }
}

fn change(name: &str, expect: Expect, kind: ChangeKind) -> Change {
    Change { path: path(name), expect, kind, mode: None }
}

/// A content in a slot.
const fn slot(slot: u32) -> NewContent {
    NewContent { slot, span: None }
}

/// Where the new contents of a test are staged.
#[derive(Debug, Clone, Copy)]
enum Contents {
    InSlots,
    InOneFile,
}

/// Where the slots are (in the workspace or beside it), and where the contents are.
const EVERY_STAGE: [(bool, Contents); 4] = [
    (false, Contents::InSlots),
    (true, Contents::InSlots),
    (false, Contents::InOneFile),
    (true, Contents::InOneFile),
];

fn content(stage: &mut Stage, contents: Contents, number: u32, text: &str) -> NewContent {
    match contents {
        Contents::InSlots => {
            write_to(stage.slots.create_slot(number).unwrap(), text.as_bytes()).unwrap();
            slot(number)
        }
        Contents::InOneFile => {
            let bytes = stage.bytes_mut().unwrap();
            let mut span = bytes.begin();
            bytes.add(&mut span, text.as_bytes()).unwrap();
            NewContent { slot: number, span: Some(span) }
        }
    }
}

/// A change of every kind.
fn every_kind(session: &Session, stage: &mut Stage, contents: Contents) -> Vec<Change> {
    let mut content = |number, text| content(stage, contents, number, text);
    let moved =
        |to: &str, slot, content| ChangeKind::Move { to: path(to), expect: Expect::Nothing, slot, content };
    vec![
        change("b", session.etag("b"), ChangeKind::Remove(2)),
        change("a", session.etag("a"), ChangeKind::Write(content(0, "new a"))),
        change("x/y/z", Expect::Nothing, ChangeKind::Write(content(1, "created"))),
        change("c", session.etag("c"), moved("x/c2", 3, Some(content(4, "moved and changed")))),
        change("d", session.etag("d"), moved("e/f/d", 6, None)),
        change("b/now", Expect::Nothing, ChangeKind::Write(content(5, "below a removed file"))),
    ]
}

const FILES: [(&str, &str); 5] = [("a", "a"), ("b", "b"), ("c", "c"), ("d", "d"), ("kept/k", "k")];

fn planned(session: &Session, stage: &mut Stage, changes: &[Change]) -> Result<Planned, Fault> {
    Planner::new(&session.workspace(), stage, changes)?.plan(changes)
}

fn session() -> Session {
    let session = Session::new(&FILES);
    fs::set_permissions(session.at("a"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(session.at("c"), fs::Permissions::from_mode(0o600)).unwrap();
    session
}

#[test]
fn a_change_of_every_kind_is_made_and_keeps_the_modes() {
    for (inside, contents) in EVERY_STAGE {
        let session = session();
        let mut stage = session.stage(inside);
        let changes = every_kind(&session, &mut stage, contents);
        let Planned { journal, created, grown } = planned(&session, &mut stage, &changes).unwrap();
        assert_eq!(created, [false, false, true, true, true, true]);
        assert_eq!(grown, 6, "five folders and two files are new, one file is removed");
        let response = v1::ChangeFilesResponse { created };
        carry_out(&session.workspace(), stage, &journal, &response, None, &|| true).unwrap();
        let read = |name: &str| fs::read_to_string(session.at(name)).unwrap();
        let mode = |name: &str| fs::metadata(session.at(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((read("a").as_str(), mode("a")), ("new a", 0o755));
        assert_eq!((read("x/c2").as_str(), mode("x/c2")), ("moved and changed", 0o600));
        assert_eq!((read("e/f/d").as_str(), read("x/y/z").as_str(), mode("x/y/z")), ("d", "created", 0o644));
        assert_eq!(read("b/now"), "below a removed file");
        assert!(!session.at("c").exists() && !session.at("d").exists());
        assert_eq!(fs::read_dir(staging_root(session.0.path())).unwrap().count(), 0);
        let names: Vec<_> =
            session.state().into_keys().filter(|name| !name.starts_with(session.at("kept"))).collect();
        assert_eq!(names.len(), 10, "nothing hidden is left: {names:?}");
    }
}

#[test]
fn a_worker_that_is_killed_at_any_point_leaves_the_old_state_to_the_next_one() {
    for (inside, contents) in EVERY_STAGE {
        let mut interrupted = 0;
        for stop in 0_usize.. {
            let session = session();
            let before = session.state();
            let mut stage = session.stage(inside);
            let changes = every_kind(&session, &mut stage, contents);
            let Planned { journal, created, .. } = planned(&session, &mut stage, &changes).unwrap();
            begin(&stage, &journal, &v1::ChangeFilesResponse { created }, None).unwrap();
            let left = Cell::new(stop);
            let goes_on = || {
                let goes_on = left.get() > 0;
                left.set(left.get().saturating_sub(1));
                goes_on
            };
            let is_done = journal.apply(&session.workspace(), stage.staged(), &goes_on).is_ok();
            stage.keep(); // killed: nothing is cleaned up
            snapshots::recover_in(session.0.path(), None, &|| Ok(session.workspace()));
            assert_eq!(session.state(), before, "killed before change {stop}");
            assert_eq!(fs::read_dir(staging_root(session.0.path())).unwrap().count(), 0);
            interrupted += 1;
            if is_done {
                break; // all steps were done, but not completed
            }
        }
        assert!(interrupted > 12, "{interrupted}");
    }
}

#[test]
fn a_worker_that_is_killed_before_the_journal_or_after_the_end_leaves_one_of_the_two_states() {
    for (inside, contents) in EVERY_STAGE {
        let session = session();
        let before = session.state();
        let mut stage = session.stage(inside);
        every_kind(&session, &mut stage, contents);
        fs::write(stage.path().join(JOURNAL_NAME), "incomplete").unwrap();
        stage.keep();
        snapshots::recover_in(session.0.path(), None, &|| Ok(session.workspace()));
        assert_eq!(session.state(), before, "the mark was missing");

        let mut stage = session.stage(inside);
        let changes = every_kind(&session, &mut stage, contents);
        let Planned { journal, created, .. } = planned(&session, &mut stage, &changes).unwrap();
        begin(&stage, &journal, &v1::ChangeFilesResponse { created }, None).unwrap();
        journal.apply(&session.workspace(), stage.staged(), &|| true).unwrap();
        complete(stage.path(), None).unwrap();
        stage.keep();
        snapshots::recover_in(session.0.path(), None, &|| Ok(session.workspace()));
        assert_eq!(fs::read_to_string(session.at("a")).unwrap(), "new a");
        assert!(session.at("x/y/z").exists() && !session.at("c").exists());
        assert!(!session.state().keys().any(|path| path.to_string_lossy().contains(".headwater")));
    }
}

#[test]
fn a_change_that_fails_in_the_middle_is_undone_at_once() {
    for contents in [Contents::InSlots, Contents::InOneFile] {
        fails_in_the_middle(contents);
    }
}

fn fails_in_the_middle(contents: Contents) {
    let session = session();
    let mut stage = session.stage(false);
    let changes = every_kind(&session, &mut stage, contents);
    let Planned { journal, .. } = planned(&session, &mut stage, &changes).unwrap();
    fs::create_dir(session.at("x")).unwrap();
    fs::write(session.at("x/c2"), "by a program").unwrap();
    let before = session.state();
    let response = v1::ChangeFilesResponse::default();
    let fault = carry_out(&session.workspace(), stage, &journal, &response, None, &|| true).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Mismatch);
    assert_eq!(session.state(), before);
}

#[test]
fn an_expectation_that_is_not_met_plans_nothing() {
    let session = session();
    let old = session.etag("a");
    fs::write(session.at("a"), "by a program").unwrap();
    let refused = |changes: Vec<Change>| {
        let mut stage = session.stage(false);
        for slot in 0..2 {
            stage.slots.create_slot(slot).unwrap();
        }
        planned(&session, &mut stage, &changes).map(|_| ()).unwrap_err().kind
    };
    let other = || change("c", session.etag("c"), ChangeKind::Write(slot(1)));
    let write = |name, expect| change(name, expect, ChangeKind::Write(slot(0)));
    assert_eq!(refused(vec![other(), write("a", old.clone())]), FaultKind::Mismatch);
    assert_eq!(refused(vec![other(), change("a", old.clone(), ChangeKind::Remove(0))]), FaultKind::Mismatch);
    let moved = |expect| ChangeKind::Move { to: path("b"), expect, slot: 0, content: None };
    assert_eq!(refused(vec![change("a", old, moved(Expect::Anything))]), FaultKind::Mismatch);
    assert_eq!(refused(vec![change("c", Expect::Anything, moved(Expect::Nothing))]), FaultKind::Conflict);
    assert_eq!(refused(vec![write("a", Expect::Nothing)]), FaultKind::Conflict);
    assert_eq!(refused(vec![write("nothing", Expect::Something)]), FaultKind::Mismatch);
    assert_eq!(
        refused(vec![change("nothing", Expect::Anything, ChangeKind::Remove(0))]),
        FaultKind::NotFound
    );
    assert_eq!(refused(vec![write("kept", Expect::Anything)]), FaultKind::Conflict, "a folder");
    assert_eq!(refused(vec![write("a/x", Expect::Anything)]), FaultKind::Conflict, "below a file");
    assert_eq!(refused(vec![other(), write("c", Expect::Anything)]), FaultKind::Invalid, "twice");
    symlink("/etc", session.at("link")).unwrap();
    for name in ["link", "link/passwd", "link/new"] {
        assert_eq!(refused(vec![write(name, Expect::Anything)]), FaultKind::Conflict, "{name}");
    }
    fs::hard_link(session.at("c"), session.at("c2")).unwrap();
    assert_eq!(refused(vec![write("c", Expect::Anything)]), FaultKind::Conflict, "two hard links");
}

#[test]
fn many_contents_are_written_into_files_that_stay_the_same_and_need_no_slot() {
    let session = session();
    let mut stage = session.stage(false);
    let inode = |name: &str| session.workspace().stat(&path(name)).unwrap().inode;
    let (before, other_mode) = (inode("a"), 0o600);
    let mut changes = vec![
        change(
            "a",
            session.etag("a"),
            ChangeKind::Write(content(&mut stage, Contents::InOneFile, 0, "new a")),
        ),
        change(
            "c",
            session.etag("c"),
            ChangeKind::Write(content(&mut stage, Contents::InOneFile, 1, "new c")),
        ),
        change("new", Expect::Nothing, ChangeKind::Write(content(&mut stage, Contents::InOneFile, 2, "new"))),
    ];
    changes[1].mode = Some(0o640);
    let Planned { journal, .. } = planned(&session, &mut stage, &changes).unwrap();
    let slots = fs::read_dir(stage.path().join(SLOTS_NAME)).unwrap().count();
    assert_eq!(slots, 1, "only the file with another mode than {other_mode:o} is replaced");
    let response = v1::ChangeFilesResponse::default();
    carry_out(&session.workspace(), stage, &journal, &response, None, &|| true).unwrap();
    assert_eq!(inode("a"), before);
    let files = session.state();
    let file = |name: &str| files[&session.at(name)].clone();
    assert_eq!(file("a"), ("new a".to_owned(), 0o100_755));
    assert_eq!(file("c"), ("new c".to_owned(), 0o100_640));
    assert_eq!(file("new"), ("new".to_owned(), 0o100_644));
}

#[test]
fn only_the_newest_responses_are_kept_and_ids_are_plain() {
    let folder = tempfile::tempdir().unwrap();
    let kept = |id: &str| response_file(folder.path(), id);
    assert!(kept("").unwrap().is_none());
    for id in ["../x", "a/b", "a.b", "ü", &"x".repeat(65)] {
        assert_eq!(kept(id).unwrap_err().kind, FaultKind::Invalid, "{id}");
    }
    create_private_folder(&responses_dir(folder.path())).unwrap();
    for number in 0..MAX_KEPT_RESPONSES as u64 + 5 {
        let file = kept(&format!("change-{number}")).unwrap().unwrap();
        fs::write(&file, "[true,false]").unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(number);
        File::options().write(true).open(&file).unwrap().set_modified(at).unwrap();
    }
    forget_old_responses(folder.path());
    assert_eq!(fs::read_dir(responses_dir(folder.path())).unwrap().count(), MAX_KEPT_RESPONSES);
    assert!(read_response(&kept("change-0").unwrap().unwrap()).is_none());
    let newest = kept(&format!("change-{}", MAX_KEPT_RESPONSES + 4)).unwrap().unwrap();
    assert_eq!(read_response(&newest).unwrap().created, [true, false]);
}
