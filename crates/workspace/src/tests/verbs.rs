//! Every verb against everything that can lie in its way.

use std::os::unix::net::UnixListener;

use super::*;
use crate::copy::Room;

const ROOM: Room = Room { bytes: u64::MAX, inodes: u64::MAX };

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse_any(text.as_bytes(), "/workspace").unwrap()
}

type Verb = fn(&Workspace, &WorkspacePath, &Path) -> Result<Vec<u8>, WorkspaceError>;

fn read(workspace: &Workspace, path: &WorkspacePath) -> Result<Vec<u8>, WorkspaceError> {
    use std::io::Read;
    let (file, _) = workspace.open_file(path)?;
    let mut bytes = Vec::new();
    fs::File::from(file).read_to_end(&mut bytes).unwrap();
    Ok(bytes)
}

fn nothing<T>(done: Result<T, WorkspaceError>) -> Result<Vec<u8>, WorkspaceError> {
    done.map(|_| Vec::new())
}

/// Every operation on a path. Those that need a second path use the existing file `own`.
const VERBS: [(&str, Verb); 14] = [
    ("read", |w, p, _| read(w, p)),
    ("list", |w, p, _| nothing(w.walk(p, 9, None))),
    ("write", |w, p, _| nothing(w.save(p, b"written"))),
    ("create", |w, p, _| nothing(w.create(p)?.commit(&Expect::Nothing, None))),
    ("append", |w, p, _| {
        let draft = w.create(&path("draft"))?;
        draft.write(b"appended")?;
        nothing(w.write_into(p, draft.fd(), None, &Expect::Anything))
    }),
    ("at an offset", |w, p, _| {
        let draft = w.create(&path("draft"))?;
        draft.write(b"put")?;
        nothing(w.write_into(p, draft.fd(), Some(1), &Expect::Anything))
    }),
    ("make folder", |w, p, _| nothing(w.create_folder(p))),
    ("chmod", |w, p, _| nothing(w.chmod(p, 0o777))),
    ("copy from", |w, p, _| nothing(w.copy_file(p, &path("copy"), Overwrite::Never, ROOM, &|| false))),
    ("copy to", |w, p, _| nothing(w.copy_file(&path("own"), p, Overwrite::Replace, ROOM, &|| false))),
    ("copy tree from", |w, p, top| {
        let stage = StagingDir::new(top).unwrap();
        let tree = w.staged_tree(&stage, "tree").unwrap();
        nothing(w.copy_tree(p, &path("copied"), &tree, ROOM, &|| false))
    }),
    ("move from", |w, p, _| nothing(w.rename(p, &path("moved"), Overwrite::Never))),
    ("move to", |w, p, _| nothing(w.rename(&path("own"), p, Overwrite::Never))),
    ("remove", |w, p, _| nothing(w.remove(p, true))),
];

/// A workspace with everything in it that could lead outside, and a file for verbs that need two.
fn hostile() -> Ground {
    let ground = Ground::new();
    fs::create_dir(ground.at("workspace/real")).unwrap();
    for file in ["own", "plain"] {
        fs::write(ground.at("workspace").join(file), file).unwrap();
    }
    for (link, to) in [
        ("folder", "../outside"),
        ("real/folder", "../../outside"),
        ("absolute", "/"),
        ("inner", "real"),
        ("file", "../outside/canary"),
        ("dangling", "../outside/new"),
        ("magic", "/proc/self/cwd"),
        ("self", "self"),
    ] {
        symlink(to, ground.at("workspace").join(link)).unwrap();
    }
    ground
}

#[test]
fn no_verb_goes_through_a_link_wherever_it_is() {
    for (name, verb) in VERBS {
        let ground = hostile();
        let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
        for through in [
            "folder/canary",
            "folder/new",
            "real/folder/canary",
            "absolute/etc/passwd",
            "inner/x",
            "magic/x",
            "self/x",
            "file/x",
            "plain/x",
        ] {
            let error = verb(&workspace, &path(through), ground.top.path()).unwrap_err();
            assert!(matches!(error, WorkspaceError::NoFolder { .. }), "{name} {through}: {error}");
        }
        assert!(ground.outside_is_untouched(), "{name}: {:?}", ground.outside());
        assert_eq!(fs::read(ground.at("workspace/own")).unwrap(), b"own", "{name}");
    }
}

#[test]
fn a_link_is_never_opened_and_only_the_link_itself_is_moved_or_removed() {
    for (name, verb) in VERBS {
        for link in ["folder", "file", "dangling", "magic", "self"] {
            let ground = hostile();
            let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
            let done = verb(&workspace, &path(link), ground.top.path());
            let of_the_name = matches!(name, "move from" | "remove");
            assert_eq!(done.is_ok(), of_the_name, "{name} {link}: {done:?}");
            assert!(ground.outside_is_untouched(), "{name} {link}: {:?}", ground.outside());
            let still = fs::symlink_metadata(ground.at("workspace").join(link)).is_ok();
            assert_eq!(still, !of_the_name, "{name} {link}");
        }
    }
    // The control: following them leaves the workspace.
    let ground = hostile();
    fs::write(ground.at("workspace/file"), "changed").unwrap();
    assert!(!ground.outside_is_untouched());
}

#[test]
fn fifos_sockets_and_devices_are_listed_and_never_opened() {
    let ground = Ground::new();
    fs::write(ground.at("workspace/own"), "own").unwrap();
    let make = |name: &str, kind, device| {
        rustix::fs::mknodat(CWD, ground.at("workspace").join(name), kind, FILE_MODE, device)
    };
    make("fifo", FileType::Fifo, 0).unwrap();
    let _socket = UnixListener::bind(ground.at("workspace/socket")).unwrap();
    let mut names = vec!["fifo", "socket"];
    // Only root can make one; /dev/zero would be read without end.
    if make("device", FileType::CharacterDevice, rustix::fs::makedev(1, 5)).is_ok() {
        names.push("device");
    }
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    for name in names {
        assert_eq!(workspace.stat(&path(name)).unwrap().kind, Kind::Other);
        for (verb, run) in VERBS.iter().filter(|(verb, _)| !matches!(*verb, "move from" | "remove")) {
            assert!(run(&workspace, &path(name), ground.top.path()).is_err(), "{verb} {name}");
        }
    }
    // They are left out of a copy, and counted.
    let stage = StagingDir::new(ground.top.path()).unwrap();
    let tree = workspace.staged_tree(&stage, "tree").unwrap();
    fs::create_dir(ground.at("workspace/kinds")).unwrap();
    fs::rename(ground.at("workspace/fifo"), ground.at("workspace/kinds/fifo")).unwrap();
    fs::write(ground.at("workspace/kinds/file"), "x").unwrap();
    let copied = workspace.copy_tree(&path("kinds"), &path("to"), &tree, ROOM, &|| false).unwrap();
    assert_eq!((copied.inodes, copied.skipped), (2, 1));
}

#[test]
fn a_hard_link_to_what_is_anothers_is_neither_read_nor_changed() {
    let ground = Ground::new();
    fs::write(ground.at("workspace/own"), "own").unwrap();
    fs::hard_link(ground.at("outside/canary"), ground.at("workspace/hard")).unwrap();
    let euid = rustix::process::geteuid().as_raw();
    let workspace = Workspace::open(&ground.at("workspace"), Some(euid + 1)).unwrap();
    for (name, verb) in VERBS.iter().filter(|(name, _)| !matches!(*name, "move from" | "remove")) {
        assert!(verb(&workspace, &path("hard"), ground.top.path()).is_err(), "{name}");
        assert!(ground.outside_is_untouched(), "{name}");
    }
    // One of the session's own files that has two names is read, and not written through one of them.
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    assert_eq!(read(&workspace, &path("hard")).unwrap(), b"untouched");
    assert!(matches!(workspace.save(&path("hard"), b"x"), Err(WorkspaceError::Linked { .. })));
    assert!(ground.outside_is_untouched());
}

#[test]
fn a_folder_that_is_swapped_meanwhile_leads_no_verb_outside() {
    const ROUNDS: usize = 300;
    let ground = swappable();
    fs::write(ground.at("workspace/own"), "own").unwrap();
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    let done = AtomicBool::new(false);
    let (mut did, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&ground);
            }
        });
        for round in 0..100 * ROUNDS {
            if round >= ROUNDS && did > 0 && refused > 0 {
                break;
            }
            for (name, verb) in VERBS {
                let at = path(if name == "list" || name == "copy tree from" { "d" } else { "d/canary" });
                match verb(&workspace, &at, ground.top.path()) {
                    Ok(bytes) => {
                        assert_ne!(bytes, b"untouched", "{name} read the canary");
                        did += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
            for left in ["copy", "moved"] {
                let _ = workspace.remove(&path(left), true);
            }
            let _ = workspace.save(&path("own"), b"own");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(ground.outside_is_untouched(), "{:?}", ground.outside());
    let mode = fs::metadata(ground.at("outside/canary")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644, "its rights are as they were");
    assert!(did > 0 && refused > 0, "{did} were done and {refused} refused");
}

#[test]
fn a_file_is_written_whole_or_not_at_all_and_only_in_the_state_that_is_expected() {
    let ground = Ground::new();
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    let file = path("d/file");
    let first = workspace.create(&file).unwrap();
    first.write(b"first").unwrap();
    assert_eq!(fs::read_dir(ground.at("workspace")).unwrap().count(), 0, "nobody sees it yet");
    let entry = first.commit(&Expect::Nothing, Some(0o755)).unwrap();
    assert_eq!((entry.size, entry.mode), (5, 0o755));
    let write = |expect: &Expect| {
        let new = workspace.create(&file).unwrap();
        new.write(b"second").unwrap();
        new.commit(expect, None)
    };
    assert!(matches!(write(&Expect::Nothing), Err(WorkspaceError::Exists { .. })));
    let other = Expect::Tags(vec!["other".into()]);
    assert!(matches!(write(&other), Err(WorkspaceError::Changed { .. })));
    assert_eq!(fs::read(ground.at("workspace/d/file")).unwrap(), b"first");
    let same = Expect::Tags(vec!["other".into(), entry.etag()]);
    let second = write(&same).unwrap();
    assert_eq!((second.size, second.mode), (6, 0o755), "it keeps the rights that it had");
    assert!(matches!(write(&same), Err(WorkspaceError::Changed { .. })), "it is another one now");
    drop(workspace.create(&file).unwrap());
    let count = |folder: &str| fs::read_dir(ground.at(folder)).unwrap().count();
    assert_eq!((count("workspace"), count("workspace/d")), (1, 1), "nothing is left of it");
    let missing = workspace.create(&path("none")).unwrap().commit(&Expect::Something, None);
    assert!(matches!(missing, Err(WorkspaceError::Changed { .. })));
}

#[test]
fn odd_names_are_names_like_others() {
    let ground = Ground::new();
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    let long = [b'n'; 255];
    for name in [&b"\xff\xfe"[..], b"new\nline", b"\x1b[2J", b" ", b"-rf", b"*", b"...", b"%2e%2e", &long] {
        let at = WorkspacePath::parse_any(&[b"d/", name].concat(), "/workspace").unwrap();
        workspace.save(&at, name).unwrap();
        assert_eq!(read(&workspace, &at).unwrap(), name);
        assert!(workspace.walk(&path("d"), 1, None).unwrap().any(|step| step.path == at));
        workspace.rename(&at, &path("away"), Overwrite::Never).unwrap();
        workspace.remove(&path("away"), false).unwrap();
    }
}

#[test]
fn names_are_moved_in_one_step_and_nothing_is_overwritten_unasked() {
    let ground = Ground::new();
    let workspace = Workspace::open(&ground.at("workspace"), None).unwrap();
    for file in ["a", "b", "full/x"] {
        workspace.save(&path(file), file.as_bytes()).unwrap();
    }
    workspace.create_folder(&path("empty")).unwrap();
    let rename = |from: &str, to: &str, overwrite| workspace.rename(&path(from), &path(to), overwrite);
    for to in ["b", "full", "empty"] {
        assert!(matches!(rename("a", to, Overwrite::Never), Err(WorkspaceError::Exists { .. })), "{to}");
    }
    assert!(rename("a", "full", Overwrite::Replace).is_err());
    assert!(matches!(rename("empty", "full", Overwrite::Replace), Err(WorkspaceError::NotEmpty { .. })));
    assert!(matches!(rename("full", "full/in/it", Overwrite::Never), Err(WorkspaceError::Within { .. })));
    assert!(matches!(rename("full", "", Overwrite::Replace), Err(WorkspaceError::Root)));
    assert!(matches!(rename("", "x", Overwrite::Never), Err(WorkspaceError::Within { .. })));
    assert!(matches!(rename("none", "x", Overwrite::Never), Err(WorkspaceError::Missing { .. })));
    rename("a", "b", Overwrite::Replace).unwrap();
    assert_eq!(fs::read(ground.at("workspace/b")).unwrap(), b"a");
    rename("full", "deep/er/full", Overwrite::Never).unwrap();
    assert_eq!(fs::read(ground.at("workspace/deep/er/full/x")).unwrap(), b"full/x");
    assert!(matches!(workspace.remove(&path("deep"), false), Err(WorkspaceError::NotEmpty { .. })));
    assert!(matches!(workspace.remove(&path(""), true), Err(WorkspaceError::Root)));
    workspace.remove(&path("deep"), true).unwrap();
    assert!(!ground.at("workspace/deep").exists());
}
