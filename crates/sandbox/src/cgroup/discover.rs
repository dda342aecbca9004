//! Finding out which cgroups the host offers, and preparing them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{read, write};
use super::root::CgroupRoot;
use super::{Controllers, Folder, Version, mountinfo};

/// The version 2 leaf that the worker itself moves to: a cgroup that delegates controllers must not contain
/// processes.
const WORKER_LEAF: &str = "headwater-worker";

/// How often other processes in a cgroup are moved to the leaf: a shell may start programs meanwhile.
const MAX_MOVE_ROUNDS: u32 = 16;

/// The magic number of the version 2 file system, from `statfs`.
const CGROUP2_MAGIC: rustix::fs::FsWord = 0x6367_7270;

/// Whether sessions can have cgroups.
#[derive(Debug)]
pub enum Discovered {
    /// They can; [`CgroupRoot::controllers`] says what they count and [`CgroupRoot::missing`] what they do
    /// not.
    Ready(CgroupRoot),
    /// They cannot; resource limits of each process are used instead.
    Nothing {
        /// Why each hierarchy cannot be used.
        reasons: Vec<Unusable>,
        /// The command or setting that fixes it.
        fix: String,
    },
}

/// Why a cgroup hierarchy cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It has no controllers, so it is not meant for limits.
    #[error("`{}` has no controller that limits", .0.display())]
    NoController(PathBuf),
    /// Any other reason.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// The fix on a host where this process may not create cgroups.
const FIX: &str = "start the worker where cgroups are delegated to it: \
                   `systemd-run --user --scope -p Delegate=yes headwater worker`, or as root";

impl CgroupRoot {
    /// Inspects the mounted hierarchies. Under version 2 this moves the calling process into a leaf of its
    /// own cgroup if that is necessary to delegate controllers to sessions. If the cgroup was delegated to
    /// us, the other processes in it move as well, such as the shell that the worker was started from.
    pub fn discover() -> Discovered {
        let texts = read(Path::new("/proc/self"), "mountinfo")
            .and_then(|mounts| Ok((mounts, read(Path::new("/proc/self"), "cgroup")?)));
        match texts {
            Ok((mounts, own)) => choose(mountinfo::own_folders(&mounts, &own)),
            Err(error) => {
                Discovered::Nothing { reasons: vec![error.to_string().into()], fix: "mount /proc".to_owned() }
            }
        }
    }
}

/// Takes each controller from the first folder that has it, and version 2 for killing processes if it is
/// mounted.
fn choose(candidates: Vec<Folder>) -> Discovered {
    let mut reasons = Vec::new();
    let mut folders: Vec<Folder> = Vec::new();
    for mut folder in candidates {
        if let Err(reason) = prepare(&mut folder) {
            reasons.push(reason);
            continue;
        }
        let known = folders.iter().fold(Controllers::default(), |all, f| all.union(f.controllers));
        let adds = known.union(folder.controllers) != known;
        if adds || folder.version == Version::Two {
            folders.push(folder);
        }
    }
    if folders.is_empty() {
        if reasons.is_empty() {
            reasons.push(Unusable::Other("no cgroup hierarchy is mounted".to_owned()));
        }
        return Discovered::Nothing { reasons, fix: FIX.to_owned() };
    }
    Discovered::Ready(CgroupRoot::new(folders, reasons))
}

/// Makes sure that folders can be created in it and, under version 2, that they get the controllers.
fn prepare(folder: &mut Folder) -> Result<(), Unusable> {
    if folder.version == Version::Two {
        if folder.path.ends_with(WORKER_LEAF) {
            folder.path.pop();
        }
        may_write(&folder.path)?;
        let there = read(&folder.path, "cgroup.controllers").map_err(|error| error.to_string())?;
        let wanted = Controllers::parse(&there, ' ');
        if wanted.any() {
            delegate(&folder.path, wanted)?;
        }
        folder.controllers = wanted;
        return Ok(());
    }
    if !folder.controllers.any() {
        return Err(Unusable::NoController(folder.path.clone()));
    }
    Ok(may_write(&folder.path)?)
}

fn may_write(path: &Path) -> Result<(), String> {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
        .map_err(|errno| format!("cannot create cgroups in `{}`: {errno}", path.display()))
}

/// Delegates these controllers to the folders below. Except at the root, that requires a cgroup without
/// processes. With memory among them the kernel refuses otherwise; without memory it does not, but the
/// folders below are then useless.
fn delegate(path: &Path, wanted: Controllers) -> Result<(), String> {
    let line = wanted.names().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    let leaf = path.join(WORKER_LEAF);
    let emptied = if is_first(path) { Ok(()) } else { move_to_leaf(path, &leaf) };
    emptied.and_then(|()| write(path, "cgroup.subtree_control", &line)).map_err(|error| {
        // Undo the move; another worker may be in the leaf, and then it stays.
        let _ = write(path, "cgroup.procs", "0").and_then(|()| fs::remove_dir(&leaf));
        format!("cannot delegate controllers to sessions: {error}")
    })
}

/// Whether this is the root cgroup, which has no type.
fn is_first(path: &Path) -> bool {
    !path.join("cgroup.type").exists()
}

/// Moves this process to the leaf, and the other processes too if the cgroup was delegated to us.
fn move_to_leaf(path: &Path, leaf: &Path) -> io::Result<()> {
    for _ in 0..MAX_MOVE_ROUNDS {
        let there = read(path, "cgroup.procs")?;
        if there.is_empty() {
            return Ok(());
        }
        match fs::create_dir(leaf) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => write(leaf, "cgroup.procs", "0")?,
        }
        if is_delegated(path) {
            for process in there.lines() {
                // The process may have exited.
                let _ = write(leaf, "cgroup.procs", process);
            }
        }
    }
    let others = format!("other processes are in `{}`", path.display());
    Err(io::Error::new(io::ErrorKind::ResourceBusy, others))
}

/// Whether a cgroup and its processes are ours to move: it belongs to this ordinary user, systemd has marked
/// it as delegated, or it is the topmost visible one, as in a container. Root may write to any cgroup, but
/// that of a service or a login belongs to its manager.
fn is_delegated(path: &Path) -> bool {
    let user = rustix::process::geteuid();
    let owned = rustix::fs::stat(path).is_ok_and(|found| found.st_uid == user.as_raw());
    let marked = |name: &str| {
        let mut value = [0; 1];
        rustix::fs::getxattr(path, name, &mut value[..]).is_ok_and(|length| length == 1 && value == *b"1")
    };
    let top = || {
        let above = rustix::fs::statfs(path.join(".."));
        above.is_ok_and(|above| above.f_type != CGROUP2_MAGIC) && !is_first(path)
    };
    (owned && !user.is_root()) || marked("user.delegate") || marked("trusted.delegate") || top()
}
