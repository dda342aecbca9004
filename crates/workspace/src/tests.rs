//! Writing into a workspace while somebody inside works against it.

mod journals;
mod verbs;
mod walks;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, RenameFlags};
use tempfile::TempDir;

use super::*;

/// A workspace, and beside it a folder that nothing of it may reach.
struct Ground {
    top: TempDir,
}

impl Ground {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        for folder in ["workspace", "outside"] {
            fs::create_dir(top.path().join(folder)).unwrap();
        }
        fs::write(top.path().join("outside/canary"), "untouched").unwrap();
        Self { top }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    fn save(&self, path: &str, text: &str) -> Result<(), WorkspaceError> {
        let workspace = Workspace::open(&self.at("workspace"), None).unwrap();
        workspace.save(&WorkspacePath::parse(path, "/workspace").unwrap(), text.as_bytes())
    }

    /// What lies outside, by name and content.
    fn outside(&self) -> Vec<(String, String)> {
        let read = |entry: fs::DirEntry| {
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
        };
        fs::read_dir(self.at("outside")).unwrap().map(|entry| read(entry.unwrap())).collect()
    }

    fn outside_is_untouched(&self) -> bool {
        self.outside() == [("canary".to_owned(), "untouched".to_owned())]
    }
}

#[test]
fn a_file_is_written_with_its_folders_and_replaced() {
    let ground = Ground::new();
    for text in ["one", "another, longer", ""] {
        ground.save("/a/b/c.py", text).unwrap();
        assert_eq!(fs::read_to_string(ground.at("workspace/a/b/c.py")).unwrap(), text);
    }
    ground.save("top.py", "x").unwrap();
    let mode = |path: &str| fs::metadata(ground.at(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("workspace/a"), mode("workspace/a/b")), (0o755, 0o755));
    assert_eq!((mode("workspace/a/b/c.py"), mode("workspace/top.py")), (0o644, 0o644));
    assert_eq!(fs::read_dir(ground.at("workspace/a/b")).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn written_files_belong_to_the_session() {
    if !rustix::process::geteuid().is_root() {
        return; // an ordinary user has nobody to give it to: its sessions are its own
    }
    let ground = Ground::new();
    let workspace = Workspace::open(&ground.at("workspace"), Some(64_999)).unwrap();
    workspace.save(&WorkspacePath::parse("a/b.py", "/workspace").unwrap(), b"x").unwrap();
    for path in ["workspace/a", "workspace/a/b.py"] {
        let there = fs::metadata(ground.at(path)).unwrap();
        assert_eq!((there.uid(), there.gid()), (64_999, 64_999), "{path}");
    }
    assert_eq!(fs::metadata(ground.at("workspace")).unwrap().uid(), 0, "what was there keeps its owner");
}

#[test]
fn links_are_not_followed_wherever_they_are_in_the_path() {
    let ground = Ground::new();
    fs::create_dir(ground.at("workspace/real")).unwrap();
    for (link, to) in [
        ("folder", "../outside"),
        ("real/folder", "../../outside"),
        ("absolute", "/tmp"),
        ("inner", "real"), // not even within the workspace
        ("file", "../outside/canary"),
        ("dangling", "../outside/new"),
        ("magic", "/proc/self/cwd"),
        ("self", "self"),
    ] {
        symlink(to, ground.at("workspace").join(link)).unwrap();
    }
    for path in ["folder/x", "folder/canary", "real/folder/x", "absolute/x", "inner/x", "magic/x", "self/x"] {
        let error = ground.save(path, "written").unwrap_err();
        assert!(matches!(error, WorkspaceError::NoFolder { .. }), "{path}: {error}");
    }
    for path in ["file", "dangling", "magic", "self"] {
        let error = ground.save(path, "written").unwrap_err();
        assert!(matches!(error, WorkspaceError::NoFile { .. }), "{path}: {error}");
    }
    assert!(ground.outside_is_untouched(), "{:?}", ground.outside());
    // The control: a plain open of the path leaves the workspace.
    fs::write(ground.at("workspace/folder/x"), "written").unwrap();
    assert!(!ground.outside_is_untouched());
}

#[test]
fn a_file_that_is_not_regular_or_has_several_names_is_refused() {
    let ground = Ground::new();
    fs::create_dir(ground.at("workspace/folder")).unwrap();
    rustix::fs::mknodat(CWD, ground.at("workspace/fifo"), FileType::Fifo, FILE_MODE, 0).unwrap();
    fs::write(ground.at("workspace/plain"), "kept").unwrap();
    for path in ["folder", "fifo"] {
        assert!(matches!(ground.save(path, "x"), Err(WorkspaceError::NoFile { .. })), "{path}");
    }
    assert!(matches!(ground.save("plain/x", "x"), Err(WorkspaceError::NoFolder { .. })));
    fs::hard_link(ground.at("outside/canary"), ground.at("workspace/hard")).unwrap();
    assert!(matches!(ground.save("hard", "x"), Err(WorkspaceError::Linked { .. })));
    assert!(ground.outside_is_untouched());
    assert_eq!(fs::read_dir(ground.at("workspace")).unwrap().count(), 4, "nothing else is left");
}

/// Swaps a folder of the workspace for a link to the outside, or back, in one step.
fn swap(ground: &Ground) {
    let (folder, link) = (ground.at("workspace/d"), ground.at("link"));
    rustix::fs::renameat_with(CWD, folder, CWD, link, RenameFlags::EXCHANGE).unwrap();
}

fn swappable() -> Ground {
    let ground = Ground::new();
    fs::create_dir(ground.at("workspace/d")).unwrap();
    symlink(ground.at("outside"), ground.at("link")).unwrap();
    ground
}

#[test]
fn a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere() {
    const ROUNDS: usize = 2000;
    let ground = swappable();
    let done = AtomicBool::new(false);
    let (mut saved, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&ground);
            }
        });
        for round in 0..200 * ROUNDS {
            // Until both were met, however the threads take turns; that is soon.
            if round >= ROUNDS && saved > 0 && refused > 0 {
                break;
            }
            match ground.save(&format!("d/deep/f{}", round % 8), "written") {
                Ok(()) => saved += 1,
                Err(WorkspaceError::NoFolder { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(ground.outside_is_untouched(), "{:?}", ground.outside());
    assert!(saved > 0 && refused > 0, "it met the folder {saved} times and the link {refused} times");
}

#[test]
fn the_control_checking_first_and_opening_then_leads_outside() {
    let ground = swappable();
    let folder = ground.at("workspace/d");
    assert!(fs::symlink_metadata(&folder).unwrap().is_dir(), "it looks right");
    swap(&ground);
    fs::write(folder.join("f"), "written").unwrap();
    assert!(!ground.outside_is_untouched());
    assert!(ground.save("d/f", "written").is_err());
    swap(&ground);
    ground.save("d/f", "written").unwrap();
}
