//! Finding out what the host offers, and taking it.

use std::path::Path;

use super::files::{read, write};
use super::root::CgroupRoot;
use super::{Controllers, Folder, Version, mounted};

/// The leaf of version 2 that the worker itself moves to: a cgroup that gives controllers to others may hold no
/// process.
const WORKER_LEAF: &str = "headwater-worker";

/// What the host offers.
#[derive(Debug)]
pub enum Discovered {
    /// Sessions can have cgroups; [`CgroupRoot::controllers`] says what they count and [`CgroupRoot::missing`] what not.
    Ready(CgroupRoot),
    /// They cannot; resource limits of each process stand in.
    Nothing {
        /// Why.
        reason: String,
        /// The command or setting that mends it.
        fix: String,
    },
}

/// What mends a host on which this process may not make cgroups.
const FIX: &str = "start the worker where cgroups are delegated to it: \
                   `systemd-run --user --scope -p Delegate=yes headwater worker`, or as root";

impl CgroupRoot {
    /// Looks at the hierarchies that are mounted. Under version 2 this moves the calling process into a leaf of its
    /// own cgroup if that is what it takes to give controllers to sessions.
    pub fn discover() -> Discovered {
        let texts = read(Path::new("/proc/self"), "mountinfo")
            .and_then(|mounts| Ok((mounts, read(Path::new("/proc/self"), "cgroup")?)));
        match texts {
            Ok((mounts, own)) => choose(mounted::own_folders(&mounts, &own)),
            Err(error) => Discovered::Nothing { reason: error.to_string(), fix: "mount /proc".to_owned() },
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
            reasons.push("no cgroup hierarchy is mounted".to_owned());
        }
        return Discovered::Nothing { reason: reasons.join("; "), fix: FIX.to_owned() };
    }
    Discovered::Ready(CgroupRoot::new(folders, reasons))
}

/// Makes sure that folders can be made in it and, under version 2, that they get the controllers.
fn prepare(folder: &mut Folder) -> Result<(), String> {
    if folder.version == Version::Two {
        if folder.path.ends_with(WORKER_LEAF) {
            folder.path.pop();
        }
        may_write(&folder.path)?;
        let there = read(&folder.path, "cgroup.controllers").map_err(|error| error.to_string())?;
        let wanted = Controllers::parse(&there, ' ');
        if wanted.any() {
            give(&folder.path, wanted)?;
        }
        folder.controllers = wanted;
        return Ok(());
    }
    if !folder.controllers.any() {
        return Err(format!("`{}` has no controller that limits", folder.path.display()));
    }
    may_write(&folder.path)
}

fn may_write(path: &Path) -> Result<(), String> {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
        .map_err(|errno| format!("cannot make cgroups in `{}`: {errno}", path.display()))
}

/// Lets the folders below have these controllers.
fn give(path: &Path, wanted: Controllers) -> Result<(), String> {
    let line = wanted.names().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    let control = "cgroup.subtree_control";
    if write(path, control, &line).is_ok() {
        return Ok(());
    }
    let leaf = path.join(WORKER_LEAF);
    let moved = match std::fs::create_dir(&leaf) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => write(&leaf, "cgroup.procs", "0"),
    };
    moved.and_then(|()| write(path, control, &line)).map_err(|error| {
        format!("cannot give controllers to sessions: {error} (other processes in that cgroup?)")
    })
}
