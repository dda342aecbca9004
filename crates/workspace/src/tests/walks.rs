//! Walks and copies of trees.

use super::*;
use crate::copy::Room;
use crate::walk::{MAX_DEPTH, Walk};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse_any(text.as_bytes(), "/workspace").unwrap()
}

fn from_errno(walk: Walk) -> Vec<String> {
    walk.map(|step| step.path.to_string()).collect()
}

#[test]
fn a_walk_meets_everything_once_in_order_and_goes_on_after_any_path() {
    let ground = Ground::new();
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    for file in ["b/x/1", "b/x/2", "b/y", "a.txt", "a/z", "b.txt", "c"] {
        workspace.save(&path(file), b"").unwrap();
    }
    symlink("../outside", ground.at("workspace/link")).unwrap();
    let root = WorkspacePath::root();
    let all = from_errno(workspace.walk(&root, 9, None).unwrap());
    let expected =
        ["a", "a/z", "a.txt", "b", "b/x", "b/x/1", "b/x/2", "b/y", "b.txt", "c", "link"].map(str::to_owned);
    assert_eq!(all, expected);
    for (n, after) in all.iter().enumerate() {
        assert_eq!(
            from_errno(workspace.walk(&root, 9, Some(&path(after))).unwrap()),
            all[n + 1..],
            "{after}"
        );
    }
    // What it is to go on after may be gone by now, or never have been there.
    for (after, next) in [("a/zz", "a.txt"), ("b/x/10", "b/x/2"), ("bb", "c"), ("b/x/2/9", "b/y")] {
        assert_eq!(from_errno(workspace.walk(&root, 9, Some(&path(after))).unwrap())[0], next, "{after}");
    }
    assert_eq!(
        from_errno(workspace.walk(&root, 1, None).unwrap()),
        ["a", "a.txt", "b", "b.txt", "c", "link"]
    );
    assert_eq!(from_errno(workspace.walk(&path("b"), 1, None).unwrap()), ["b/x", "b/y"]);
    assert_eq!(from_errno(workspace.walk(&path("b"), 1, Some(&path("b/x"))).unwrap()), ["b/y"]);
    assert_eq!(from_errno(workspace.walk(&root, 2, Some(&path("b/x"))).unwrap())[0], "b/y");
    assert!(matches!(workspace.walk(&path("c"), 1, None), Err(WorkspaceError::NoFolder { .. })));
}

#[test]
fn a_walk_of_a_wide_folder_holds_some_names_at_a_time() {
    let ground = Ground::new();
    let count = 20_000;
    for n in 0..count {
        fs::File::create(ground.at(&format!("workspace/{n:05}"))).unwrap();
    }
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    let names = from_errno(workspace.walk(&WorkspacePath::root(), 1, None).unwrap());
    assert_eq!(names.len(), count);
    assert!(names.is_sorted());
    let after = from_errno(workspace.walk(&WorkspacePath::root(), 1, Some(&path("19990"))).unwrap());
    assert_eq!(after.len(), 9);
}

#[test]
fn a_walk_of_a_deep_folder_ends_and_says_that_it_was_cut() {
    let ground = Ground::new();
    let mut at = Workspace::open(&ground.at("workspace"), None).unwrap().root;
    for _ in 0..1000 {
        rustix::fs::mkdirat(&at, "d", FOLDER_MODE).unwrap();
        at = open_beneath(at.as_fd(), b"d", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    let mut walk = workspace.walk(&WorkspacePath::root(), usize::MAX, None).unwrap();
    let met = walk.by_ref().count();
    assert!(walk.is_incomplete() && met == MAX_DEPTH, "{met}");
    workspace.remove(&path("d"), true).unwrap();
    assert!(!ground.at("workspace/d").exists());
}

#[test]
fn a_tree_is_copied_whole_with_rights_and_links_or_not_at_all() {
    let ground = Ground::new();
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    for file in ["tree/a", "tree/d/b"] {
        workspace.save(&path(file), &vec![7; 100_000]).unwrap();
    }
    workspace.chmod(&path("tree/a"), 0o755).unwrap();
    workspace.chmod(&path("tree/d"), 0o500).unwrap();
    symlink("../../outside", ground.at("workspace/tree/link")).unwrap();
    let room = Room { bytes: 10 << 20, inodes: 100 };
    let copy = |to: &str, room| {
        let stage = StagingDir::new(ground.top.path()).unwrap();
        let tree = workspace.staged_tree(&stage, "tree").unwrap();
        workspace.copy_tree(&path("tree"), &path(to), &tree, room, &|| false)?;
        workspace.publish(&stage, "tree", &path(to), Overwrite::Never)
    };
    copy("new/copy", room).unwrap();
    assert_eq!(fs::read(ground.at("workspace/new/copy/d/b")).unwrap(), vec![7; 100_000]);
    let mode = |path: &str| fs::metadata(ground.at(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("workspace/new/copy/a"), mode("workspace/new/copy/d")), (0o755, 0o500));
    let link = fs::read_link(ground.at("workspace/new/copy/link")).unwrap();
    assert_eq!(link.to_str(), Some("../../outside"), "a link is copied as one");
    for (to, room) in [
        ("small", Room { bytes: 150_000, ..room }),
        ("few", Room { inodes: 3, ..room }),
        ("new/copy", room),
        ("tree/in/it", room),
        ("tree", room),
    ] {
        assert!(copy(to, room).is_err(), "{to}");
    }
    assert!(!ground.at("workspace/small").exists() && !ground.at("workspace/few").exists());
    assert_eq!(fs::read_dir(ground.at("staging")).unwrap().count(), 0, "nothing is left");
    assert!(ground.outside_is_untouched());
}
