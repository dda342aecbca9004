//! The root that a session's programs see.
//!
//! 1. While the host is in sight, take detached copies of what will be shown of it.
//! 2. Pivot into an empty tmpfs and let go of the host: from here on no path can lead to it.
//! 3. Furnish the new root with the copies; make it read-only.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags};

use super::dev::Devices;
use super::etc::Etc;
use super::failure::{OrWall, Wall};
use super::mounts::{self, PLAIN, READ_ONLY};
use super::proc;
use crate::wire::{Bind, Setup, WallFailure};

/// Where the workspace is inside.
const WORKSPACE: &str = "/workspace";

/// Folders of the system; links on hosts that keep everything in `/usr`.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// No bind may lie here: the first is the guest's own, whose links would lead us astray; the others are ours.
const OFF_LIMITS: [&str; 4] = [WORKSPACE, "/proc", "/dev", "/"];

/// Where a copy of the host will be seen.
struct Shown {
    path: PathBuf,
    what: What,
}

enum What {
    Tree { tree: OwnedFd, folder: bool },
    Link(PathBuf),
}

/// Builds the root and makes it the caller's; the working directory is then the workspace.
pub(super) fn build(setup: &Setup) -> Result<(), WallFailure> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .or_wall(Wall::Mounts, "make all mounts private")?;
    let system = system()?;
    let binds =
        setup.binds.iter().filter_map(|bind| extra(bind).transpose()).collect::<Result<Vec<_>, _>>()?;
    let workspace = mounts::copy(setup.workspace.as_str(), PLAIN)
        .or_wall(Wall::Mounts, format_args!("bind the workspace `{}`", setup.workspace))?;
    let (devices, etc, proc) = (Devices::take()?, Etc::take()?, proc::new()?);

    let root = pivot()?;

    for path in ["/home", "/run", "/var", WORKSPACE] {
        make_dir(path)?;
    }
    system.into_iter().try_for_each(Shown::furnish)?;
    etc.furnish()?;
    devices.furnish(setup)?;
    proc::furnish(&proc)?;
    furnish_tmpfs("/tmp", setup)?;
    make_link("/var/tmp", "/tmp")?;
    make_link("/var/run", "/run")?;
    binds.into_iter().try_for_each(Shown::furnish)?;
    mounts::attach(&workspace, WORKSPACE).or_wall(Wall::Mounts, "attach the workspace")?;
    mounts::restrict(root.as_fd(), READ_ONLY, false).or_wall(Wall::Mounts, "make the root read-only")?;
    rustix::process::chdir(WORKSPACE).or_wall(Wall::Mounts, "enter the workspace")
}

/// `/usr`, and the system folders beside it or the links to it.
fn system() -> Result<Vec<Shown>, WallFailure> {
    let mut shown = vec![Shown::host("/usr", "/usr")?];
    for path in SYSTEM {
        if let Ok(target) = std::fs::read_link(path) {
            shown.push(Shown { path: path.into(), what: What::Link(target) });
        } else if Path::new(path).is_dir() {
            shown.push(Shown::host(path, path)?);
        }
    }
    Ok(shown)
}

/// A bind from the configuration.
fn extra(bind: &Bind) -> Result<Option<Shown>, WallFailure> {
    let inside = Path::new(&bind.inside);
    let within = |place: &&str| {
        if **place == *"/" { inside == Path::new("/") } else { inside.starts_with(place) }
    };
    let plain =
        inside.is_absolute() && inside.components().all(|part| part != std::path::Component::ParentDir);
    if !plain || OFF_LIMITS.iter().any(within) {
        return Err(Wall::Mounts.refused(format_args!("nothing can be bound at `{}`", bind.inside)));
    }
    if bind.optional && !Path::new(&bind.host).exists() {
        return Ok(None);
    }
    Shown::host(&bind.host, &bind.inside).map(Some)
}

/// Makes an empty tmpfs the root and lets go of the host.
fn pivot() -> Result<OwnedFd, WallFailure> {
    // Small, since only names and a few files of ours are in it, and read-only in the end.
    let options = [(c"size", "1m"), (c"nr_inodes", "1024"), (c"mode", "0755")];
    let root = mounts::new(c"tmpfs", &options, PLAIN).or_wall(Wall::Mounts, "make the root")?;
    // Over the host's root: no folder of the host has to exist, and none is hidden from what is still to be taken.
    mounts::attach(&root, "/").or_wall(Wall::Mounts, "attach the root")?;
    rustix::process::fchdir(&root).or_wall(Wall::Mounts, "enter the root")?;
    rustix::process::pivot_root(".", ".").or_wall(Wall::Mounts, "pivot_root")?;
    // The host's root now lies over ours at the same place.
    rustix::mount::unmount(".", UnmountFlags::DETACH).or_wall(Wall::Mounts, "let go of the host's root")?;
    rustix::process::chdir("/").or_wall(Wall::Mounts, "enter the root")?;
    Ok(root)
}

/// A tmpfs that everybody inside may write to, of the size that the session was given.
pub(super) fn furnish_tmpfs(path: &str, setup: &Setup) -> Result<(), WallFailure> {
    let (size, inodes) = (setup.tmp_bytes.to_string(), setup.tmp_inodes.to_string());
    let options = [(c"size", size.as_str()), (c"nr_inodes", inodes.as_str()), (c"mode", "1777")];
    make_dir(path)?;
    mounts::new(c"tmpfs", &options, PLAIN)
        .and_then(|tree| mounts::attach(&tree, path))
        .or_wall(Wall::Mounts, format_args!("make `{path}`"))
}

impl Shown {
    /// A read-only copy of a path of the host.
    fn host(host: &str, inside: &str) -> Result<Self, WallFailure> {
        let what = || format!("bind `{host}`");
        let tree = mounts::copy(host, READ_ONLY).or_wall(Wall::Mounts, what())?;
        let mode = rustix::fs::fstat(&tree).or_wall(Wall::Mounts, what())?.st_mode;
        let folder = rustix::fs::FileType::from_raw_mode(mode).is_dir();
        Ok(Self { path: inside.into(), what: What::Tree { tree, folder } })
    }

    fn furnish(self) -> Result<(), WallFailure> {
        let Some(path) = self.path.to_str() else {
            return Err(Wall::Mounts.refused("a path is not UTF-8"));
        };
        match self.what {
            What::Link(target) => make_link(path, target),
            What::Tree { tree, folder } => {
                make_place(&self.path, folder)?;
                mounts::attach(&tree, path).or_wall(Wall::Mounts, format_args!("attach `{path}`"))
            }
        }
    }
}

/// Makes the folder or the file that something is mounted on, and the folders above it.
fn make_place(path: &Path, folder: bool) -> Result<(), WallFailure> {
    let made = match path.parent() {
        _ if path.exists() => return Ok(()),
        _ if folder => std::fs::create_dir_all(path),
        Some(parent) => std::fs::create_dir_all(parent).and_then(|()| std::fs::write(path, "")),
        None => Ok(()),
    };
    made.map_err(|error| errno(&error)).or_wall(Wall::Mounts, format_args!("make `{}`", path.display()))
}

/// Makes a folder of the new root.
pub(super) fn make_dir(path: &str) -> Result<(), WallFailure> {
    rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)).or_wall(Wall::Mounts, format_args!("make `{path}`"))
}

/// Makes a file of the new root.
pub(super) fn make_file(path: &str, text: &str) -> Result<(), WallFailure> {
    std::fs::write(path, text)
        .map_err(|error| errno(&error))
        .or_wall(Wall::Mounts, format_args!("write `{path}`"))
}

/// Makes a symbolic link of the new root.
pub(super) fn make_link(path: &str, target: impl AsRef<Path>) -> Result<(), WallFailure> {
    rustix::fs::symlink(target.as_ref(), path).or_wall(Wall::Mounts, format_args!("link `{path}`"))
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(match error.kind() {
        ErrorKind::InvalidInput => Errno::INVAL,
        _ => Errno::IO,
    })
}
