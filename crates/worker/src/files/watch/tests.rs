//! Tests of watches: the changes that are reported while files are created, changed, moved and removed.

use std::fs;
use std::os::unix::fs::symlink;

use headwater_contract::v1::{Change, ChangeType};
use headwater_workspace::{Expect, Workspace, WorkspacePath};
use tempfile::TempDir;

use crate::files::watch::inotify::InotifyWatch;

fn watch(folder: &TempDir, path: &str, recursive: bool) -> InotifyWatch {
    let workspace = Workspace::open(folder.path(), None).unwrap();
    let mut notes =
        InotifyWatch::begin(workspace, WorkspacePath::parse_any(path.as_bytes(), "/").unwrap(), recursive)
            .unwrap();
    let ready = notes.take(10);
    assert_eq!(ready[0].r#type(), ChangeType::Ready);
    notes
}

fn reported(notes: &mut InotifyWatch) -> Vec<(ChangeType, String, String)> {
    while !notes.read() {}
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let changes = |change: &Change| (change.r#type(), text(&change.path), text(&change.from));
    notes.take(usize::MAX).iter().map(changes).collect()
}

fn is(change: ChangeType, path: &str, from: &str) -> (ChangeType, String, String) {
    (change, path.to_owned(), from.to_owned())
}

#[test]
fn changes_are_reported_with_their_paths_even_in_new_or_moved_folders() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("old/deep")).unwrap();
    fs::write(at("file"), "x").unwrap();
    let mut notes = watch(&folder, "", true);
    fs::write(at("file"), "y").unwrap();
    fs::write(at("old/deep/f"), "x").unwrap();
    assert_eq!(
        reported(&mut notes),
        [is(ChangeType::Modified, "file", ""), is(ChangeType::Created, "old/deep/f", "")]
    );
    fs::create_dir_all(at("new/inner")).unwrap();
    fs::write(at("new/inner/f"), "x").unwrap();
    let changes = reported(&mut notes);
    for path in ["new", "new/inner", "new/inner/f"] {
        let count =
            changes.iter().filter(|change| change.1 == path && change.0 == ChangeType::Created).count();
        assert_eq!(count, 1, "{path}: {changes:?}");
    }
    fs::rename(at("new"), at("young")).unwrap();
    assert_eq!(reported(&mut notes), [is(ChangeType::Moved, "young", "new")]);
    fs::write(at("young/inner/g"), "x").unwrap();
    assert_eq!(reported(&mut notes), [is(ChangeType::Created, "young/inner/g", "")]);
    let outside = tempfile::tempdir().unwrap();
    fs::rename(at("young"), outside.path().join("gone")).unwrap();
    fs::remove_file(at("file")).unwrap();
    assert_eq!(
        reported(&mut notes),
        [is(ChangeType::Removed, "young", ""), is(ChangeType::Removed, "file", "")]
    );
    fs::write(outside.path().join("gone/inner/h"), "x").unwrap();
    assert_eq!(reported(&mut notes), [], "a folder outside the workspace is still watched");
}

#[test]
fn one_file_or_one_folder_can_be_watched() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/f"), "x").unwrap();
    let (mut file, mut flat) = (watch(&folder, "d/f", true), watch(&folder, "", false));
    fs::write(at("d/other"), "x").unwrap();
    fs::write(at("new"), "x").unwrap();
    fs::rename(at("new"), at("d/f")).unwrap();
    assert_eq!(reported(&mut file), [is(ChangeType::Created, "d/f", "")]);
    fs::write(at("kept"), "x").unwrap();
    // A file that is created and removed between two reports is not reported, and subfolders are not watched.
    assert_eq!(reported(&mut flat), [is(ChangeType::Created, "kept", "")]);
}

#[test]
fn a_file_that_the_server_writes_is_created_once_and_then_modified() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    let workspace = Workspace::open(folder.path(), None).unwrap();
    let write = |path: &str, text: &str| {
        let path = WorkspacePath::parse_any(path.as_bytes(), "/").unwrap();
        let file = workspace.create(&path).unwrap();
        file.write(text.as_bytes()).unwrap();
        file.commit(&Expect::Anything, None).unwrap();
    };
    let (mut all, mut below) = (watch(&folder, "", true), watch(&folder, "d", false));
    for path in ["f", "d/f"] {
        write(path, "one");
        assert_eq!(reported(&mut all), [is(ChangeType::Created, path, "")]);
        write(path, "two");
        assert_eq!(reported(&mut all), [is(ChangeType::Modified, path, "")]);
    }
    assert_eq!(reported(&mut below), [is(ChangeType::Created, "d/f", "")], "merged, and nothing of `f`");
    let mut file = watch(&folder, "d/f", false);
    write("d/f", "three");
    assert_eq!(reported(&mut file), [is(ChangeType::Modified, "d/f", "")]);
    fs::write(folder.path().join("#123"), "a name that looks like an inode").unwrap();
    assert_eq!(reported(&mut all)[1..], [is(ChangeType::Created, "#123", "")]);
}

#[test]
fn a_link_leads_no_watch_outside() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(outside.path(), folder.path().join("link")).unwrap();
    let workspace = || Workspace::open(folder.path(), None).unwrap();
    let path = |text: &str| WorkspacePath::parse_any(text.as_bytes(), "/").unwrap();
    let mut notes = watch(&folder, "", true);
    fs::write(outside.path().join("secret"), "x").unwrap();
    symlink(outside.path(), folder.path().join("later")).unwrap();
    fs::write(outside.path().join("secret2"), "x").unwrap();
    assert_eq!(reported(&mut notes), [is(ChangeType::Created, "later", "")]);
    assert!(InotifyWatch::begin(workspace(), path("link/secret"), true).is_err());
    // The link itself can be watched: as a name in its folder.
    let mut link = InotifyWatch::begin(workspace(), path("link"), true).unwrap();
    link.take(10);
    fs::write(outside.path().join("secret3"), "x").unwrap();
    assert_eq!(reported(&mut link), []);
}

#[test]
fn a_flood_of_changes_is_reported_as_an_overflow() {
    let folder = tempfile::tempdir().unwrap();
    let mut notes = watch(&folder, "", true);
    for n in 0..5000 {
        fs::write(folder.path().join(format!("f{n}")), "").unwrap();
    }
    let changes = reported(&mut notes);
    assert_eq!(changes[..2], [is(ChangeType::Overflow, "", ""), is(ChangeType::Rescan, "", "")]);
    fs::create_dir(folder.path().join("after")).unwrap();
    fs::write(folder.path().join("after/f"), "").unwrap();
    while !notes.read() {}
    let after = notes.take(usize::MAX);
    assert!(after.iter().any(|change| &change.path[..] == b"after/f"), "{after:?}");
}
