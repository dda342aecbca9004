//! Finding out what the host offers, and taking it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{read, write};
use super::root::CgroupRoot;
use super::{Controllers, Folder, Version, mountinfo};

/// The leaf of version 2 that the worker itself moves to: a cgroup that gives controllers to others may hold no
/// process.
const WORKER_LEAF: &str = "headwater-worker";

/// How often the others in a cgroup are moved to the leaf: a shell may start programs meanwhile.
const MAX_MOVE_ROUNDS: u32 = 16;

/// The file system of version 2, as `statfs` names it.
const CGROUP2_MAGIC: rustix::fs::FsWord = 0x6367_7270;

/// What the host offers.
#[derive(Debug)]
pub enum Discovered {
    /// Sessions can have cgroups; [`CgroupRoot::controllers`] says what they count and [`CgroupRoot::missing`] what not.
    Ready(CgroupRoot),
    /// They cannot; resource limits of each process stand in.
    Nothing {
        /// Why each hierarchy cannot be used.
        reasons: Vec<Unusable>,
        /// The command or setting that mends it.
        fix: String,
    },
}

/// Why a hierarchy of cgroups cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It has no controller, so it was not made for limits.
    #[error("`{}` has no controller that limits", .0.display())]
    NoController(PathBuf),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// What mends a host on which this process may not make cgroups.
const FIX: &str = "start the worker where cgroups are delegated to it: \
                   `systemd-run --user --scope -p Delegate=yes headwater worker`, or as root";

impl CgroupRoot {
    /// Looks at the hierarchies that are mounted. Under version 2 this moves the calling process into a leaf of its
    /// own cgroup if that is what it takes to give controllers to sessions, and with it, if the cgroup was given to us,
    /// whatever else is in there: the shell that the worker was started from, for one.
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

/// Takes each controller from the first folder that gives it, and version 2 for ending processes where it is there.
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

/// Makes sure that folders can be made in it and, under version 2, that they get the controllers.
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
        .map_err(|errno| format!("cannot make cgroups in `{}`: {errno}", path.display()))
}

/// Lets the folders below have these controllers. That takes a cgroup without processes, unless it is the first of all.
/// With memory among them the kernel refuses otherwise; without, it does not, and has no use for the folders below.
fn delegate(path: &Path, wanted: Controllers) -> Result<(), String> {
    let line = wanted.names().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    let leaf = path.join(WORKER_LEAF);
    let emptied = if is_first(path) { Ok(()) } else { move_to_leaf(path, &leaf) };
    emptied.and_then(|()| write(path, "cgroup.subtree_control", &line)).map_err(|error| {
        // Back to where we were; another worker may be in the leaf, and then it stays.
        let _ = write(path, "cgroup.procs", "0").and_then(|()| fs::remove_dir(&leaf));
        format!("cannot give controllers to sessions: {error}")
    })
}

/// The first cgroup of all has no type.
fn is_first(path: &Path) -> bool {
    !path.join("cgroup.type").exists()
}

/// Moves this process to the leaf, and the others there too if the cgroup was given to us.
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
                // It may have gone by itself.
                let _ = write(leaf, "cgroup.procs", process);
            }
        }
    }
    let others = format!("other processes are in `{}`", path.display());
    Err(io::Error::new(io::ErrorKind::ResourceBusy, others))
}

/// Whether a cgroup is ours to arrange, others' processes in it included: it belongs to this ordinary user, systemd has
/// marked it as delegated, or it is the top of all that can be seen from here, as in a container. Root may write
/// to any, but a service's or a login's is its manager's.
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
